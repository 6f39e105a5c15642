/** The clock of one life.
 * Invariant: no timer outlives its life, so none keeps the process alive. */
import type { Clock, Timer } from '../../base/clock.js'

/** A clock that is wrong by more than this, 30 days, is not taken for one that drifts, or for a
 * queue that was closed. */
export const clockErrorMinMs = 2_592_000_000

export class LifeClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  /** Wall time less monotonic time, when the life began. */
  readonly #wallOffsetMs: number
  #isOver = false

  /** @param writtenAtMs when the life before wrote last, milliseconds since 1970; 0: there was
   * none */
  constructor(clock: Clock, writtenAtMs: number) {
    this.#clock = clock
    const wallMs = clock.wallMs()
    const isBelieved = writtenAtMs === 0 || Math.abs(wallMs - writtenAtMs) < clockErrorMinMs
    this.#wallOffsetMs = (isBelieved ? wallMs : writtenAtMs) - clock.monotonicMs()
  }

  /** The wall time that would be now, had nobody set the clock since the life began; milliseconds
   * since 1970. Where the clock was more than 30 days away from the end of the life before, time
   * goes on from there: a longer pause cannot be told from a wrong clock. */
  unsetWallMs(): number {
    return Math.floor(this.#wallOffsetMs + this.#clock.monotonicMs())
  }

  wallMs(): number {
    return this.#clock.wallMs()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  /** After the end of the life the callback never runs. */
  after(delayMs: number, callback: () => void): Timer {
    if (this.#isOver) return over
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(kept)
      callback()
    })
    const kept: Timer = {
      cancel: () => {
        this.#timers.delete(kept)
        timer.cancel()
      },
    }
    this.#timers.add(kept)
    return kept
  }

  soon(callback: () => void): void {
    this.#clock.soon(callback)
  }

  /** The end of the life. */
  stop(): void {
    this.#isOver = true
    for (const timer of this.#timers) timer.cancel()
  }
}

const over: Timer = { cancel: () => undefined }
