/** The effect of a call before it fails.
 * Invariant: a call that rejects may have happened in part, and a failed sync leaves pages that the
 * kernel calls clean: readable until the power goes, written by no later sync. A call that found no
 * descriptor has done nothing. */
import { below, type Prng } from '../../base/prng.js'
import type { DiskImage } from './disk-image.js'
import type { Fault } from './faults.js'
import { isChanging, perform, type Operation, type WriteOperation } from './operation.js'

/** @param prng draws how much; without it half of a write happens and nothing of another call.
 * @throws Refusal */
export function refuseInPart(
  image: DiskImage,
  operation: Operation,
  fault: Fault,
  prng: Prng | undefined,
): void {
  if (fault.errno === 'EMFILE') return
  if (operation.kind === 'sync') {
    operation.file.failSync(image.seq)
    return
  }
  if (operation.kind === 'syncDirectory') {
    image.directory(operation.path).failSync(image.seq)
    return
  }
  if (!isChanging(operation)) return
  const effect = fault.effect ?? 'part'
  if (effect === 'none') return
  if (operation.kind === 'write' || operation.kind === 'writeSynced') {
    writeInPart(image, operation, effect === 'all' ? operation.bytes.length : partOf(operation, prng))
    return
  }
  if (effect === 'all' || (prng !== undefined && below(prng, 2) === 0)) perform(image, operation)
}

const partOf = (operation: WriteOperation, prng: Prng | undefined): number =>
  prng === undefined || operation.bytes.length === 0
    ? operation.bytes.length >>> 1
    : below(prng, operation.bytes.length)

/** A synced write that fails has reached the cache; its sync is what failed. */
function writeInPart(image: DiskImage, operation: WriteOperation, count: number): void {
  if (count > 0) perform(image, { ...operation, kind: 'write', bytes: operation.bytes.subarray(0, count) })
  if (operation.kind === 'writeSynced') operation.file.failSync(image.seq)
}
