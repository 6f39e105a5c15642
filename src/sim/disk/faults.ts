/** Plans failing calls.
 * Invariant: a fault is found by counting calls of its kinds and places, so `at` 1, 2, 3 … visits
 * every call of a run; each call meets at most one fault. */
import { below, type Prng } from '../../base/prng.js'
import type { DiskImage } from './disk-image.js'
import { isChanging, perform, type Operation, type OperationKind, type WriteOperation } from './operation.js'

export interface Fault {
  /** Number of the first failing call, from 1, counted among `kinds` and those `under` a path. */
  readonly at: number
  /** Default: calls of all kinds. */
  readonly kinds?: readonly OperationKind[]
  /** Only calls on paths that begin so. Default: on all. */
  readonly under?: string
  /** The system's code, or 'SHORT' for a short count. */
  readonly errno: 'EIO' | 'ENOSPC' | 'EDQUOT' | 'EROFS' | 'EMFILE' | 'SHORT'
  /** The effect of the call before it fails. Default 'part': some first bytes of a write; all or
   * nothing of another call. */
  readonly effect?: 'none' | 'part' | 'all'
  /** Calls of these kinds that fail from `at` on. Default 1. */
  readonly count?: number
}

export class FaultPlan {
  readonly #faults: Fault[] = []
  readonly #counts: number[] = []

  /** From now on these are counted, too. */
  add(faults: readonly Fault[]): void {
    this.#faults.push(...faults)
    this.#counts.push(...faults.map(() => 0))
  }

  /** The fault that the next call meets. */
  next({ kind, path }: Pick<Operation, 'kind' | 'path'>): Fault | undefined {
    let met: Fault | undefined
    for (const [index, fault] of this.#faults.entries()) {
      if (fault.kinds !== undefined && !fault.kinds.includes(kind)) continue
      if (!path.startsWith(fault.under ?? '')) continue
      const count = (this.#counts[index] ?? 0) + 1
      this.#counts[index] = count
      if (count >= fault.at && count < fault.at + (fault.count ?? 1)) met ??= fault
    }
    return met
  }
}

/** The effect of a call before it fails. A call that rejects may have happened in part, and a
 * failed sync leaves pages that the kernel calls clean: readable until the power goes, written by
 * no later sync. A call that found no descriptor has done nothing.
 * @param prng draws how much; without it half of a write happens and nothing of another call.
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
