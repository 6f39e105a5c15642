/** Backups that are being copied: while there is one, no file of mail is unlinked or recycled.
 * Invariant: a pin is lost before it costs mail anything. A disk that is short of room ends all of
 * them at once, and what waited for them goes. */
import { WaybillError } from '../../errors.js'

/** Of one backup. */
export interface BackupPin {
  /** Aborted when files may have gone: by a disk short of room, or the end of this life. The reason
   * is a WaybillError. */
  readonly lost: AbortSignal
  /** The copy is made. @throws the reason by rejection when files may have gone before */
  confirm(): Promise<void>
  /** Files are not kept any longer. May be called again. */
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

export const backupWithoutRoom = (): WaybillError =>
  new WaybillError('DISK_FULL', 'the disk is short of the room that the backup keeps from being released')
