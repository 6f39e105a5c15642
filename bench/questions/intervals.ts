/** The price of restart positions, by how often they are recorded. The post says: "The more often,
 * the less wasted work at a restart, and the more overhead." */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AskedProcess } from '../asked-process.js'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row } from '../output.js'
import type { Answer, Opened, Order, Slice } from '../layouts/life-process.js'

export const intervalsTitle =
  'time between checkpoints: 2000 messages/s, a tenth of them deferred, then SIGKILL'

const full = { intervalsMs: [100, 250, 500, 1000, 2000, 5000, 10_000], rounds: 3, sliceMs: 4000 }
const short = { intervalsMs: [250, 1000], rounds: 1, sliceMs: 300 }
const ratePerSecond = 2000
const producerCount = 20

interface Life {
  readonly slice: Slice
  readonly opened: Opened
}

export async function measureIntervals({ output, directory, smoke }: BenchArguments): Promise<void> {
  const pace = smoke ? short : full
  const lives = new Map<number, Life[]>(pace.intervalsMs.map((intervalMs) => [intervalMs, []]))
  for (let round = 0; round < pace.rounds; round++)
    for (const intervalMs of pace.intervalsMs) {
      const own = join(directory, `interval-${intervalMs}-${round}`)
      mkdirSync(own)
      // Kills come at different distances from a checkpoint.
      const sliceMs = pace.sliceMs + (round * intervalMs) / pace.rounds
      lives.get(intervalMs)!.push(await lifeOf(own, intervalMs, sliceMs))
    }
  output.table(
    intervalsTitle,
    [...lives].map(([intervalMs, of]) => rowOf(intervalMs, of)),
  )
}

async function lifeOf(directory: string, checkpointIntervalMs: number, durationMs: number): Promise<Life> {
  const open = {
    kind: 'open',
    directory,
    checkpointIntervalMs,
    deferredPercent: 10,
    intervalsMs: [60_000],
  } as const
  const first = await begun(open)
  const answer = await first.ask({ kind: 'slice', producerCount, durationMs, delayMs: 0, ratePerSecond })
  await first.kill()
  const second = new AskedProcess<Order, Answer>(new URL('../layouts/life-process.js', import.meta.url))
  const again = await second.ask(open)
  await second.kill()
  if (answer.kind !== 'slice' || again.kind !== 'opened') throw new Error('an answer to another order')
  return { slice: answer.slice, opened: again.opened }
}

async function begun(order: Order): Promise<AskedProcess<Order, Answer>> {
  const child = new AskedProcess<Order, Answer>(new URL('../layouts/life-process.js', import.meta.url))
  await child.ask(order)
  return child
}

function rowOf(intervalMs: number, lives: readonly Life[]): Row {
  const of = (quantity: (life: Life) => number): Row[string] => spreadOf(lives.map(quantity))
  return {
    'interval ms': intervalMs,
    'a start reads KiB': of(({ opened }) => opened.readBytes / 1024),
    'first 250 ms': of(({ opened }) => opened.acceptedMs),
    'recovered ms': of(({ opened }) => opened.recoveredMs),
    'CPU µs/message': of(({ slice }) => (slice.cpuMs * 1000) / slice.messageCount),
    'journal bytes/message': of(({ slice }) => slice.journalBytes / slice.messageCount),
    'device bytes/message': of(({ slice }) => slice.deviceBytes / slice.messageCount),
    'p99 ms': of(({ slice }) => slice.p99Ms),
  }
}
