/** The work of a store for a queue, counted: numbers for metrics, and events for a log. */
import type { WaybillError } from '../errors.js'

export type StoreEvent =
  /** A question was not answered: all connections are dropped, and taken anew. */
  | { readonly kind: 'interrupted'; readonly reason: string }
  /** The queue is this life's still. */
  | { readonly kind: 'resumed'; readonly epoch: number }
  /** Why "committed" does not mean two machines; empty: it does again. */
  | { readonly kind: 'safety'; readonly reasons: readonly string[] }
  /** Unlinked files could not be removed: it is tried again, and the same reason not told again. */
  | { readonly kind: 'unreaped'; readonly error: WaybillError }

export interface StoreStatistics {
  epoch: number
  /** Questions that made changes, up to 32 in each, and milliseconds until their answers. */
  changeCount: number
  changeTotalMs: number
  changeLastMs: number
  /** Those whose answer was lost, by what was found. */
  foundCount: number
  missingCount: number
  resumeCount: number
  /** Unlinked files whose content is still there. */
  reapWaiting: number
  usedBytes: number
  standbyCount: number | undefined
}

export const newStatistics = (): StoreStatistics => ({
  epoch: 0,
  changeCount: 0,
  changeTotalMs: 0,
  changeLastMs: 0,
  foundCount: 0,
  missingCount: 0,
  resumeCount: 0,
  reapWaiting: 0,
  usedBytes: 0,
  standbyCount: undefined,
})
