/** Decides whether attempts may begin, by how soon their outcomes can be durable.
 * Invariant: no attempt begins while a batch of the journal has been in flight for longer than
 * `proofMs`, nor while ownership of the queue is in doubt, nor once it was closed. An
 * entry that may not begin stays with the scheduler, which hears of no failure.
 * Why: a bound on what a crash repeats.
 *   1. The disk hangs in a synced write, and deliveries go on.
 *   2. Their records wait behind that write, for as long as it hangs.
 *   3. The power goes. All these messages are delivered again. */
import type { Parts } from '../life/parts.js'

export class AttemptGate {
  readonly #parts: Parts
  readonly #onOpen: () => void
  /** By the monotonic clock; undefined while it is open, as far as anybody has looked. */
  #shutSinceMs: number | undefined
  /** `look` is called when ownership is proven again. */
  #isProofAwaited = false
  /** Milliseconds, without those since it was shut last. */
  #shutMs = 0
  #isTold = false
  #isClosed = false

  /** @param onOpen attempts may begin again */
  constructor(parts: Parts, onOpen: () => void) {
    this.#parts = parts
    this.#onOpen = onOpen
  }

  /** May an attempt begin now? */
  get isOpen(): boolean {
    if (this.#isClosed) return false
    const { isProven } = this.#parts.ownership
    const isOpen = this.#isInTime && isProven
    if (!isProven) this.#awaitProof()
    if (!isOpen && this.#shutSinceMs === undefined) this.#shut()
    return isOpen
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** No attempt begins any more in this life. */
  close(): void {
    this.#isClosed = true
  }

  /** How long attempts were held in this life, milliseconds. */
  get heldMs(): number {
    return this.#shutMs + this.#sinceShutMs
  }

  /** Attempts are held now. */
  get isHolding(): boolean {
    return this.#shutSinceMs !== undefined
  }

  /** A batch is durable, or ownership is proven again. */
  readonly look = (): void => {
    if (this.#shutSinceMs === undefined || !this.isOpen) return
    const heldMs = this.#sinceShutMs
    this.#shutMs += heldMs
    this.#shutSinceMs = undefined
    if (this.#isTold) this.#tell('DELIVERIES_RESUMED', `deliveries begin again after ${inSeconds(heldMs)} s`)
    this.#isTold = false
    this.#onOpen()
  }

  get #isInTime(): boolean {
    const { journal, options } = this.#parts
    const sinceMs = journal.inFlightSinceMs
    return sinceMs === undefined || options.clock.monotonicMs() - sinceMs <= options.proofMs
  }

  get #sinceShutMs(): number {
    return this.#shutSinceMs === undefined ? 0 : this.#parts.options.clock.monotonicMs() - this.#shutSinceMs
  }

  /** Whatever it was shut for.
   *    1. a batch takes so long that it is shut
   *    2. the batch is durable, and the proof has become too old meanwhile
   *    3. ownership is proven again, nobody looks, and nothing else comes to be durable */
  #awaitProof(): void {
    const { ownership, life } = this.#parts
    if (this.#isProofAwaited) return
    this.#isProofAwaited = true
    ownership.onProven(() => {
      this.#isProofAwaited = false
      life.guard(this.look)
    })
  }

  #shut(): void {
    const { options, life } = this.#parts
    this.#shutSinceMs = options.clock.monotonicMs()
    // Later: the disk may have answered while this process had no time to hear it.
    options.clock.soon(() => life.guard(() => this.#tellShut()))
  }

  #tellShut(): void {
    const { journal, options } = this.#parts
    if (this.#shutSinceMs === undefined || this.#isTold) return
    this.look()
    if (this.#shutSinceMs === undefined) return
    this.#isTold = true
    const reason = this.#isInTime
      ? 'ownership of the queue is in doubt'
      : `the journal has waited for the disk for ${inSeconds(options.clock.monotonicMs() - journal.inFlightSinceMs!)} s`
    this.#tell('DELIVERIES_HELD', `${reason}: no delivery begins until then`)
  }

  #tell(code: 'DELIVERIES_HELD' | 'DELIVERIES_RESUMED', message: string): void {
    this.#parts.events.emit('warning', { code, message })
  }
}

const inSeconds = (ms: number): string => (ms / 1000).toFixed(1)
