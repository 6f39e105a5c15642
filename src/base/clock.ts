/** Time as an argument: the engine never asks the system, so that a simulated run is one number.
 * Wall time stamps records and may step; monotonic time measures waiting and never goes back. */
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'

export interface Timer {
  /** The callback will not run any more. Harmless when it has. */
  cancel(): void
}

export interface Clock {
  /** Milliseconds since 1970, an integer; may jump either way. */
  wallMs(): number
  /** Milliseconds since an arbitrary start; never decreases. */
  monotonicMs(): number
  /** Runs `callback` once, not earlier than `delayMs` from now. */
  after(delayMs: number, callback: () => void): Timer
  /** Runs `callback` soon, after what is already under way in this turn of the event loop. */
  soon(callback: () => void): void
}

/** Settles when the time has passed or the signal is aborted; the caller looks which. */
export function pause(clock: Clock, durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const done = (): void => {
      timer.cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(durationMs, done)
    signal?.addEventListener('abort', done)
  })
}

/** One timer for the earliest of the times that are asked for. */
export class EarliestTimer {
  readonly #clock: Clock
  readonly #run: () => void
  #timer: Timer | undefined
  #atMs = Infinity

  constructor(clock: Clock, run: () => void) {
    this.#clock = clock
    this.#run = run
  }

  /** Runs no later than then; once, for all times that were asked for before it runs.
   * @param atMs by the clock that `nowMs` is of; Infinity: no time is left, nor is what was asked
   * for before, and the timer no longer keeps the process alive */
  at(atMs: number, nowMs: number): void {
    if (atMs === Infinity) return this.cancel()
    if (atMs >= this.#atMs) return
    this.#timer?.cancel()
    this.#atMs = atMs
    this.#timer = this.#clock.after(Math.max(1, Math.ceil(atMs - nowMs)), () => {
      this.#atMs = Infinity
      this.#run()
    })
  }

  cancel(): void {
    this.#timer?.cancel()
    this.#atMs = Infinity
  }
}

/** Timers and clocks are taken when this module is loaded, so that fake timers do not stop a queue.
 * A test that holds the time of a queue passes a clock (`openQueue({ clock })`). */
const { now: wallNow } = Date
const monotonicNow = performance.now.bind(performance)

/** The system's clock. Its timers keep the process alive: a timer is work to do, and an idle
 * queue has none. */
export const systemClock: Clock = {
  wallMs: () => wallNow(),
  monotonicMs: () => monotonicNow(),
  after: (delayMs, callback) => {
    // Node runs a longer timer at once (its delay is a signed 32-bit number).
    const timer = setTimeout(callback, Math.min(delayMs, 0x7fffffff))
    return { cancel: () => clearTimeout(timer) }
  },
  soon: (callback) => {
    setImmediate(callback)
  },
}
