/** The images that the death of a process may leave.
 * Invariant: the kernel lives on: all finished calls have happened, durable or not, and pages that
 * it wrongly calls clean stay so. Any call under way may have happened, and one write in part. On
 * an atomic disk a power loss leaves the same states: each call has happened or not. */
import { seededPrng } from '../../base/prng.js'
import { copyImage } from './copy.js'
import { CrashState } from './crash-states.js'
import { Refusal, type DiskImage } from './disk-image.js'
import { makeDurable } from './disk-mode.js'
import { describeOperation, perform, type ChangingOperation } from './operation.js'
import { survivorSets } from './survivors.js'

const killBounds = { exhaustiveUnitsMax: 3, randomStates: 4, statesMax: 16 }

/** @param underWay calls that were issued and have not answered, in the order in which
 * they were issued */
export function killStates(
  original: DiskImage,
  underWay: readonly ChangingOperation[],
  seed: number,
  isAtomic: boolean = false,
): Generator<CrashState> {
  // Buffers of calls under way belong to a process that goes on until the states are asked for.
  const captured = underWay.map((operation) =>
    'bytes' in operation ? { ...operation, bytes: Buffer.from(operation.bytes) } : operation,
  )
  const moment = copyImage(original)
  const operations = captured.map((operation) =>
    'file' in operation ? { ...operation, file: moment.fileOf(operation.file) } : operation,
  )
  return statesOf(moment.image, operations, seed, isAtomic)
}

function* statesOf(
  moment: DiskImage,
  operations: readonly ChangingOperation[],
  seed: number,
  isAtomic: boolean,
): Generator<CrashState> {
  const writes = isAtomic
    ? []
    : Array.from(operations.keys()).filter((index) => 'bytes' in (operations[index] ?? {}))
  const sets = survivorSets(
    operations.map(() => []),
    writes,
    killBounds,
    seededPrng(seed),
  )
  for (const { kept, garbage: torn } of sets) {
    const done = operations.flatMap((operation, index) => {
      if (index === torn) return [halfOf(operation)]
      return kept[index] ? [operation] : []
    })
    yield new CrashState(
      () => imageAfter(moment, done, isAtomic),
      () =>
        `process killed; of ${operations.length} calls under way happened: ${done.map(describeOperation).join(', ') || 'none'}`,
    )
  }
}

function imageAfter(moment: DiskImage, done: readonly ChangingOperation[], isAtomic: boolean): DiskImage {
  const { image, fileOf } = copyImage(moment)
  for (const operation of done)
    try {
      const own = 'file' in operation ? { ...operation, file: fileOf(operation.file) } : operation
      perform(image, own)
      if (isAtomic) makeDurable(image, own)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
  return image
}

/** The kernel copies page by page, and stops between two when the process is killed. */
function halfOf(operation: ChangingOperation): ChangingOperation {
  if (!('bytes' in operation)) return operation
  return { ...operation, kind: 'write', bytes: operation.bytes.subarray(0, operation.bytes.length >>> 1) }
}
