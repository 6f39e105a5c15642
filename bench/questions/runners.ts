/** The cost of garbage to a runner with a long interval, and the cost of seeks between several
 * logs. Both layouts on this disk, and on one whose syncs take 5 ms longer; and with an interval of
 * a minute, in which much is appended between a message and its retry. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AskedProcess } from '../asked-process.js'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row } from '../output.js'
import { slowSync } from '../disk/slow-sync.js'
import type { Answer, Order, Slice } from '../layouts/life-process.js'

export const runnersTitle = 'a tenth deferred, retries after 1, 2 and 4 s: both layouts'
export const minutesTitle = 'a tenth of 2000 messages/s deferred, retries after a minute: both layouts'

const full = { rounds: 2, sliceMs: 5000, intervalsMs: [1000, 2000, 4000] }
const short = { rounds: 1, sliceMs: 200, intervalsMs: [200, 400, 800] }
const fullMinutes = { sliceMs: 30_000, intervalsMs: [60_000] }
const shortMinutes = { sliceMs: 200, intervalsMs: [500] }
const layouts = ['lanes', 'single'] as const

interface Entrant {
  readonly layout: string
  readonly slowerMs: number
  readonly child: AskedProcess<Order, Answer>
  readonly slices: Slice[]
}

export async function measureRunners({ output, directory, smoke }: BenchArguments): Promise<void> {
  const { rounds, sliceMs, intervalsMs } = smoke ? short : full
  const entrants: Entrant[] = []
  for (const slowerMs of [0, 5])
    for (const layout of layouts) {
      const environment = slowerMs === 0 ? {} : slowSync(directory, slowerMs)
      const child = await opened(
        join(directory, `runners-${layout}-${slowerMs}`),
        layout,
        intervalsMs,
        environment,
      )
      entrants.push({ layout, slowerMs, child, slices: [] })
    }
  for (let round = 0; round <= rounds; round++)
    for (const { child, slices } of entrants) {
      const answer = await child.ask({
        kind: 'slice',
        producerCount: 100,
        durationMs: sliceMs,
        delayMs: 0,
        ratePerSecond: Infinity,
        drains: true,
      })
      // The first one makes segments that later ones use again.
      if (answer.kind === 'slice' && round > 0) slices.push(answer.slice)
    }
  output.table(runnersTitle, entrants.map(rowOf))
  for (const { child } of entrants) await child.kill()
}

/** One after the other: what the device was given is counted for all. */
export async function measureMinutes({ output, directory, smoke }: BenchArguments): Promise<void> {
  const { sliceMs, intervalsMs } = smoke ? shortMinutes : fullMinutes
  const rows: Row[] = []
  for (const layout of layouts) {
    const child = await opened(join(directory, `minutes-${layout}`), layout, intervalsMs)
    const answer = await child.ask({
      kind: 'slice',
      producerCount: 20,
      durationMs: sliceMs,
      delayMs: 0,
      ratePerSecond: 2000,
      drains: true,
    })
    await child.kill()
    if (answer.kind === 'slice') rows.push(rowOf({ layout, slowerMs: 0, child, slices: [answer.slice] }))
  }
  output.table(minutesTitle, rows)
}

async function opened(
  directory: string,
  layout: (typeof layouts)[number],
  intervalsMs: readonly number[],
  environment: NodeJS.ProcessEnv = {},
): Promise<AskedProcess<Order, Answer>> {
  mkdirSync(directory)
  const child = new AskedProcess<Order, Answer>(
    new URL('../layouts/life-process.js', import.meta.url),
    environment,
  )
  const open = { directory, checkpointIntervalMs: 2000, deferredPercent: 10, intervalsMs, layout }
  await child.ask({ kind: 'open', ...open })
  return child
}

function rowOf({ layout, slowerMs, slices }: Entrant): Row {
  const of = (quantity: (slice: Slice) => number): Row[string] => spreadOf(slices.map(quantity))
  return {
    layout,
    'syncs slower by ms': slowerMs,
    'messages/s': of(({ messageCount, durationMs }) => (messageCount / durationMs) * 1000),
    'p99 ms': of(({ p99Ms }) => p99Ms),
    'bytes read/message': of(({ readBytes, messageCount }) => readBytes / messageCount),
    'device bytes/message': of(({ deviceBytes, messageCount }) => deviceBytes / messageCount),
    'device writes/1000 messages': of(
      ({ deviceWriteCount, messageCount }) => (deviceWriteCount / messageCount) * 1000,
    ),
  }
}
