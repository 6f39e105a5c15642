/** A thread of a series: runs seed after seed, and posts the result of each.
 * Invariant: a seed that was taken is run, and the lowest is taken first. */
import { parentPort, workerData } from 'node:worker_threads'
import { modes } from './modes.js'
import { stopAt, takenAt, type ThreadNews, type ThreadTask } from './series.js'

const { mode, from, seedCount, shared, ...disk } = workerData as ThreadTask
const port = parentPort!
const tell = (news: ThreadNews): void => port.postMessage(news)

while (Atomics.load(shared, stopAt) === 0) {
  const taken = Atomics.add(shared, takenAt, 1)
  if (taken >= seedCount) break
  const seed = from + taken
  tell({ kind: 'begun', seed })
  const { met, ...result } = await modes[mode].run({ seed, ...disk })
  tell({ kind: 'done', result, met: met?.counts ?? {} })
}
