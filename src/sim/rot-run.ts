/** Rot by the dozen: of each crash of a random run that is drawn some states are taken, and in each of them another bit turns over, and
 * apart from that one of its last batch.
 * Random runs have a little of it among everything else.
 * Invariant: what happens at an operation is drawn from the seed and the operation's number alone, as there. */
import { copyImage } from './copy.js'
import type { HuntResult } from './exhaustive.js'
import { at, planOf, sample, wholeRun, type RandomOptions } from './random-run.js'
import { rotten, rottenInLastBatch } from './rot.js'

const statesPerCrash = 3

export async function rotRun(options: RandomOptions): Promise<HuntResult> {
  const { seed } = options
  const plan = planOf(options)
  const { points, result } = await wholeRun(options, plan)
  for (const point of points) {
    const prng = at(seed ^ 0x0400_0000, point.n)
    const ofLast = at(seed ^ 0x0800_0000, point.n)
    for (const state of sample(point.states, statesPerCrash, prng)) {
      if (options.untilFirst === true && result.findings.length > 0) return result
      const { order, workload } = plan
      const common = { seed, order, workload, point }
      const { image } = copyImage(state.image)
      const found = [
        ...(await rotten({ ...common, image: state.image, prng })),
        ...(await rottenInLastBatch({ ...common, image, prng: ofLast })),
      ]
      const where = `before ${point.operation}; ${state.describe()}; then rot`
      result.crashCount += 2
      result.findings.push(...found.map((v) => ({ ...v, seed, op: point.n, secondOp: undefined, where })))
    }
  }
  return result
}
