/** Backups that are being copied: while there is one, no file of mail is unlinked or recycled.
 * Invariant: a pin is lost before it costs mail anything. A disk that is short of room ends all of
 * them at once, and what waited for them goes. */
import { WaybillError } from '../../errors.js'

/** The pin of one backup. */
export interface BackupPin {
  /** Aborted when files may have been removed: the disk was short of room, or this life has ended.
   * The reason is a WaybillError. */
  readonly lost: AbortSignal
  /** To be called when the copy is made. @throws by rejection: the reason of `lost`, when the copy
   * may lack files */
  confirm(): Promise<void>
  /** Ends the pin: files are no longer kept. May be called again. */
  release(): void
}

export class BackupPins {
  readonly #pins = new Set<AbortController>()
  /** The last one has gone. */
  readonly #onFree: () => void

  constructor(onFree: () => void) {
    this.#onFree = onFree
  }

  get isPinned(): boolean {
    return this.#pins.size > 0
  }

  pin(): BackupPin {
    const pin = new AbortController()
    this.#pins.add(pin)
    return {
      lost: pin.signal,
      confirm: async () => pin.signal.throwIfAborted(),
      release: () => {
        if (this.#pins.delete(pin) && !this.isPinned) this.#onFree()
      },
    }
  }

  /** Ends all. */
  lose(reason: WaybillError): void {
    if (!this.isPinned) return
    const lost = [...this.#pins]
    this.#pins.clear()
    for (const pin of lost) pin.abort(reason)
    this.#onFree()
  }
}

/** The error that ends backups when the disk is short of room. */
export const backupWithoutRoom = (): WaybillError =>
  new WaybillError('DISK_FULL', 'the disk is short of the room that the backup keeps from being released')
