/** The clock of one life.
 * Invariant: no timer of the life is left behind its end, whoever asked for it, so that none keeps the process alive. */
import type { Clock, Timer } from '../../base/clock.js'

export class LifeClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  #isOver = false

  constructor(clock: Clock) {
    this.#clock = clock
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
