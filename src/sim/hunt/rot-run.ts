/** Rot in many states of a random run: a bit anywhere, and one of the last batch.
 * Some states follow lives that end soon, mostly before their first batch: a file that such a life
 * removes too early is missing when the last batch is cut.
 * Invariant: events at an operation are drawn from the seed and the operation's number alone, as in
 * random-run.ts. */
import { below, pick, type Prng } from '../../base/prng.js'
import { aftermath } from '../life/aftermath.js'
import { copyImage } from '../disk/copy.js'
import { crashPoint, drawnPower, type CrashPoint } from '../life/crash-point.js'
import type { HuntResult } from './exhaustive.js'
import { at, planOf, sample, wholeRun, type RandomOptions } from './random-run.js'
import { rotten, rottenInLastBatch, rottenInLimit, type RotOptions } from './rot.js'
import type { NumberedOperation } from '../disk/sim-disk.js'
import { isPlain, laterLife } from '../workload/variety.js'
import type { Violation } from '../model/violation.js'

const statesPerCrash = 3
const livesBetweenMax = 3

export async function rotRun(options: RandomOptions): Promise<HuntResult> {
  const { seed } = options
  const plan = planOf(options)
  const { points, result } = await wholeRun(options, plan)
  for (const point of points) {
    const prng = at(seed ^ 0x0400_0000, point.n)
    const ofLast = at(seed ^ 0x0800_0000, point.n)
    const ofLater = at(seed ^ 0x0c00_0000, point.n)
    for (const state of sample(point.states, statesPerCrash, prng)) {
      if (options.untilFirst === true && result.findings.length > 0) return result
      const { order, workload } = plan
      const common = { seed, order, workload, point }
      const { image } = copyImage(state.image)
      const { image: ofLives } = copyImage(state.image)
      const { image: ofLimit } = copyImage(state.image)
      const found = [
        ...(await rotten({ ...common, image: state.image, prng })),
        ...(await rottenInLastBatch({ ...common, image, prng: ofLast })),
        ...(await rottenLater({ ...common, image: ofLives, prng: ofLater })),
        ...(await rottenInLimit({ ...common, image: ofLimit, prng: at(seed ^ 0x1400_0000, point.n) })),
      ]
      const where = (): string => `before ${point.operation}; ${state.describe()}; then rot`
      result.crashCount += 4
      result.findings.push(
        ...found.map((v) => ({ ...v, seed, op: point.n, secondOp: undefined, where: where() })),
      )
    }
  }
  return result
}

/** Rot in the last batch behind a few lives that end while they open, recover, or go on. */
async function rottenLater(options: RotOptions): Promise<readonly Violation[]> {
  const { seed, order, workload, prng } = options
  let { point, image } = options
  const ofBatches = at(seed ^ 0x1000_0000, point.n)
  for (let left = 1 + below(prng, livesBetweenMax); left > 0; left--) {
    const isOver = endOf(prng, ofBatches)
    let next: CrashPoint | undefined
    const life = await aftermath({
      seed: prng.uint32(),
      order: pick(prng, [order, 'slow syncs']),
      workload: workloadOf(options),
      model: point.model.copy(),
      image,
      wallMs: point.wallMs + 1,
      looks: false,
      onOperation: (current, call) => {
        if (next !== undefined || !isOver(call)) return
        next = crashPoint(current, call, drawnPower(prng, 2))
        current.world.stop()
      },
    })
    const known = next as CrashPoint | undefined
    if (life.model.violations.length > 0) return life.model.violations
    const [chosen] = sample(known?.states ?? [], 1, prng)
    if (known === undefined || chosen === undefined) return []
    point = known
    image = chosen.image
  }
  return rottenInLastBatch({ seed, order, workload, point, image, prng })
}

/** Before one of its first calls, or right behind a call that removes a file which the last batch
 * may have released. One life of two ends before one of its batches. */
function endOf(prng: Prng, ofBatches: Prng): (call: NumberedOperation) => boolean {
  const crashOp = 1 + below(prng, pick(prng, [40, 300, 300]))
  let left = below(prng, 3) > 0 ? 1 + below(prng, 2) : Infinity
  let batchesLeft = below(ofBatches, 2) === 0 ? 1 + below(ofBatches, pick(ofBatches, [1, 30])) : Infinity
  return ({ n, operation: { kind, path } }) => {
    const isBatch = kind === 'writeSynced' && path.endsWith('.log')
    const isOver = n >= crashOp || left === 0 || (isBatch && batchesLeft-- === 0)
    if (kind === 'removeDirectory' || (kind === 'unlink' && path.startsWith('spool/'))) left--
    return isOver
  }
}

/** Without room, files are removed without waiting for a batch. */
function workloadOf({ seed, workload, prng }: RotOptions): RotOptions['workload'] {
  return isPlain(seed) ? workload : { ...laterLife(workload, prng), shortage: undefined }
}
