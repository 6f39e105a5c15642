/** Makes a failing seed small: fewer messages, as long as a promise is still broken.
 * Invariant: what is left still fails, and can be replayed by its numbers alone. */
import { planOf, randomRun } from './random-run.js'
import type { Finding } from './exhaustive.js'

export interface Shrunk {
  readonly finding: Finding
  /** The steps of the workload that are needed, by index; undefined: all. */
  readonly only: readonly number[] | undefined
}

/** Messages of many are left out together, so that there are no more runs than this. */
const piecesMax = 12

/** @param finding of `randomRun({ seed })` */
export async function shrink(finding: Finding): Promise<Shrunk> {
  const { seed } = finding
  let only = planOf({ seed }).workload.steps.map((_, index) => index)
  let best = finding
  let shorter = false
  const piece = Math.ceil(only.length / piecesMax)
  for (let from = 0; from < only.length;) {
    const fewer = only.filter((_, at) => at < from || at >= from + piece)
    const { findings } = await randomRun({ seed, only: fewer, untilFirst: true })
    const [found] = findings
    if (found === undefined) {
      from += piece
      continue
    }
    only = fewer
    best = found
    shorter = true
  }
  return { finding: best, only: shorter ? only : undefined }
}
