/** One text at an interval, shared by all clients that watch at that interval.
 * Invariant: it is taken once for all of them, and not at all while nobody watches. */
import type { Clock, Timer } from '../../base/clock.js'

export class Feed {
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #take: () => string
  readonly #tells = new Set<(text: string) => void>()
  #timer: Timer | undefined

  constructor(clock: Clock, intervalMs: number, take: () => string) {
    this.#clock = clock
    this.#intervalMs = intervalMs
    this.#take = take
  }

  add(tell: (text: string) => void): void {
    this.#tells.add(tell)
    tell(this.#take())
    this.#timer ??= this.#next()
  }

  /** @returns how many are left */
  remove(tell: (text: string) => void): number {
    this.#tells.delete(tell)
    if (this.#tells.size === 0) this.end()
    return this.#tells.size
  }

  end(): void {
    this.#timer?.cancel()
  }

  #next(): Timer {
    return this.#clock.after(this.#intervalMs, () => {
      const text = this.#take()
      for (const tell of this.#tells) tell(text)
      this.#timer = this.#next()
    })
  }
}
