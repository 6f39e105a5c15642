/** The lease of a simulated disk: whether the holder of its lock is proven to be the owner.
 * Invariant: a callback is called once, when ownership is proven again. */
import type { LockReport } from '../../disk/disk.js'
import type { WaybillError } from '../../errors.js'

export class SimLease {
  #isProven = true
  #tell: (() => void) | undefined
  #onLost: ((error: WaybillError) => void) | undefined

  get isProven(): boolean {
    return this.#isProven
  }

  /** The lock is taken. */
  begin(onLost: ((error: WaybillError) => void) | undefined): LockReport {
    this.#onLost = onLost
    return {
      warnings: [],
      isProven: () => this.#isProven,
      onProven: (tell) => void (this.#tell = tell),
    }
  }

  prove(isProven: boolean): void {
    this.#isProven = isProven
    if (!isProven) return
    const tell = this.#tell
    this.#tell = undefined
    tell?.()
  }

  /** Another life is the owner. */
  lose(error: WaybillError): void {
    this.#onLost?.(error)
  }
}
