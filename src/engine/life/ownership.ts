/** Knows whether this process owns the queue, as its disk says.
 * Invariant: a loss ends the life once, also one that came before there was a life. A file system
 * proves ownership for as long as the process lives; a lease of a store has to be proven again. */
import type { LockReport } from '../../disk/disk.js'
import type { WaybillError } from '../../errors.js'

export class Ownership {
  #report: LockReport = { warnings: [] }
  #loss: WaybillError | undefined
  #onLost: ((error: WaybillError) => void) | undefined

  /** For the disk: another process owns the queue. */
  readonly lost = (error: WaybillError): void => {
    this.#loss ??= error
    this.#onLost?.(this.#loss)
  }

  /** The lock is taken. */
  taken(report: LockReport): void {
    this.#report = report
  }

  /** The life has begun. @param onLost ends it */
  begin(onLost: (error: WaybillError) => void): void {
    this.#onLost = onLost
    if (this.#loss !== undefined) onLost(this.#loss)
  }

  get warnings(): readonly string[] {
    return this.#report.warnings
  }

  /** What is locked, and by what; undefined where the disk does not say. */
  get lockKind(): string | undefined {
    return this.#report.kind
  }

  get isProven(): boolean {
    return this.#report.isProven?.() ?? true
  }

  /** @param tell called once, when ownership is proven again */
  onProven(tell: () => void): void {
    this.#report.onProven?.(tell)
  }
}
