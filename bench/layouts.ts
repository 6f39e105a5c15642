/** Compares the two layouts: a log for each retry interval, or one log with several runners.
 * The same mail goes through both, a share of it deferred at each attempt; all retries of a slice
 * are part of it. src/lane/README.md has the answer. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AskedProcess } from './asked-process.js'
import type { BenchArguments } from './bench.js'
import type { Answer, Order, Slice } from './layouts/life-process.js'
import { spreadOf, type Row } from './output.js'

const producerCount = 100
const mebibyte = 1024 * 1024
const intervalsMs: readonly number[] = [1000, 2000, 4000]
const checkpointIntervalMs = 1000
const layouts = ['lanes', 'single'] as const

interface Pace {
  readonly percents: readonly number[]
  readonly rounds: number
  readonly sliceMs: number
}

/** A slice is longer than all intervals together, so that retries and new mail run
 * beside each other. */
const full: Pace = { percents: [10, 30, 90], rounds: 5, sliceMs: 10_000 }
const short: Pace = { percents: [30], rounds: 1, sliceMs: 500 }

interface Entrant {
  readonly layout: (typeof layouts)[number]
  readonly deferredPercent: number
  readonly process: AskedProcess<Order, Answer>
  readonly slices: Slice[]
}

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const pace = smoke ? short : full
  const rows: Row[] = []
  for (const deferredPercent of pace.percents) {
    const entrants: Entrant[] = []
    for (const layout of layouts) {
      const own = join(directory, `${layout}-${deferredPercent}`)
      mkdirSync(own)
      const process = new AskedProcess<Order, Answer>(new URL('./layouts/life-process.js', import.meta.url))
      await process.ask({
        kind: 'open',
        directory: own,
        checkpointIntervalMs,
        layout,
        deferredPercent,
        intervalsMs,
      })
      // The first one makes segments that later ones use again.
      await process.ask(sliceOf(pace))
      entrants.push({ layout, deferredPercent, process, slices: [] })
    }
    for (let round = 0; round < pace.rounds; round++)
      for (const { process, slices } of round % 2 === 0 ? entrants : entrants.toReversed()) {
        const answer = await process.ask(sliceOf(pace))
        if (answer.kind === 'slice') slices.push(answer.slice)
      }
    for (const entrant of entrants) {
      rows.push(rowOf(entrant))
      await entrant.process.kill()
    }
  }
  output.table('100 producers, 1 KiB, retries after 1, 2 and 4 s', rows)
  output.note('messages/s: while mail was submitted. All else: until the last retry was done.')
}

const sliceOf = ({ sliceMs }: Pace): Order => ({
  kind: 'slice',
  producerCount,
  durationMs: sliceMs,
  delayMs: 0,
  ratePerSecond: Infinity,
  drains: true,
})

function rowOf({ layout, deferredPercent, slices }: Entrant): Row {
  const of = (quantity: (slice: Slice) => number): Row[string] => spreadOf(slices.map(quantity))
  return {
    layout,
    'deferred %': deferredPercent,
    'messages/s': of(({ messageCount, durationMs }) => (messageCount / durationMs) * 1000),
    'p99 ms': of(({ p99Ms }) => p99Ms),
    'attempts/message': of(({ attemptCount, messageCount }) => attemptCount / messageCount),
    'CPU µs/message': of(({ cpuMs, messageCount }) => (cpuMs * 1000) / messageCount),
    'journal bytes/message': of(({ journalBytes, messageCount }) => journalBytes / messageCount),
    'device bytes/message': of(({ deviceBytes, messageCount }) => deviceBytes / messageCount),
    'logs MiB at most': of(({ logBytesMost }) => logBytesMost / mebibyte),
  }
}
