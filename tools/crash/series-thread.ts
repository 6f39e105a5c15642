/** A thread of a series: runs seed after seed, and posts the result of each.
 * Invariant: a seed that was taken is run, and the lowest is taken first. */
import { parentPort, workerData } from 'node:worker_threads'
import { modes } from './modes.js'
import { stopAt, takenAt, type ThreadNews, type ThreadTask } from './series.js'

const { mode, from, seedCount, shared, taken, ...disk } = workerData as ThreadTask
const port = parentPort!

while (Atomics.load(shared, stopAt) === 0) {
  const takenBefore = Atomics.add(shared, takenAt, 1)
  if (takenBefore >= seedCount) break
  const seed = from + takenBefore
  Atomics.store(taken, 0, takenBefore + 1)
  const { met, ...result } = await modes[mode].run({ seed, ...disk })
  port.postMessage({ result, met: met?.counts ?? {} } satisfies ThreadNews)
}
