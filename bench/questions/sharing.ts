/** The gain of submissions that wait a little, so that the sync of a delivery carries them, too. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AskedProcess } from '../asked-process.js'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row } from '../output.js'
import type { Answer, Order, Slice } from '../layouts/life-process.js'

export const sharingTitle = 'a submission waits, to share the sync of a delivery'

const full = { producerCounts: [1, 10, 100], delaysMs: [0, 1, 2, 5, 10], rounds: 3, sliceMs: 1500 }
const short = { producerCounts: [10], delaysMs: [0, 2], rounds: 1, sliceMs: 200 }

export async function measureSharing({ output, directory, smoke }: BenchArguments): Promise<void> {
  const pace = smoke ? short : full
  const own = join(directory, 'sharing')
  mkdirSync(own)
  const child = new AskedProcess<Order, Answer>(new URL('../layouts/life-process.js', import.meta.url))
  await child.ask({
    kind: 'open',
    directory: own,
    checkpointIntervalMs: 2000,
    deferredPercent: 0,
    intervalsMs: [60_000],
  })
  const slice = async (producerCount: number, delayMs: number): Promise<Slice> => {
    const order = { kind: 'slice', producerCount, durationMs: pace.sliceMs, delayMs } as const
    const answer = await child.ask({ ...order, ratePerSecond: Infinity })
    if (answer.kind !== 'slice') throw new Error('an answer to another order')
    return answer.slice
  }
  // The first one makes segments that later ones use again.
  await slice(100, 0)
  const rows: Row[] = []
  for (const producerCount of pace.producerCounts) {
    const slices = new Map<number, Slice[]>(pace.delaysMs.map((delayMs) => [delayMs, []]))
    for (let round = 0; round < pace.rounds; round++)
      for (const delayMs of pace.delaysMs) slices.get(delayMs)!.push(await slice(producerCount, delayMs))
    rows.push(...[...slices].map(([delayMs, of]) => rowOf(producerCount, delayMs, of)))
  }
  await child.kill()
  output.table(sharingTitle, rows)
}

function rowOf(producers: number, delayMs: number, slices: readonly Slice[]): Row {
  const of = (quantity: (slice: Slice) => number): Row[string] => spreadOf(slices.map(quantity))
  return {
    producers,
    'wait ms': delayMs,
    'messages/s': of(({ messageCount, durationMs }) => (messageCount / durationMs) * 1000),
    'syncs/message': of(({ syncCount, messageCount }) => syncCount / messageCount),
    'median ms': of(({ medianMs }) => medianMs),
    'p99 ms': of(({ p99Ms }) => p99Ms),
    'device bytes/message': of(({ deviceBytes, messageCount }) => deviceBytes / messageCount),
  }
}
