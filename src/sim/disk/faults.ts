/** Plans failing calls.
 * Invariant: a fault is found by counting calls of its kinds and places, so `at` 1, 2, 3 … visits
 * every call of a run; each call meets at most one fault. */
import type { Operation, OperationKind } from './operation.js'

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
