/** The wall clock of a run as if it were never set back.
 * Invariant: it never goes back, within a life and from life to life. */
export class SteadyTime {
  #setBackMs = 0
  /** All steps, forward and back. */
  #stepsMs = 0
  /** Those before this life. */
  #stepsBeforeMs = 0

  copy(): SteadyTime {
    const copy = new SteadyTime()
    copy.#setBackMs = this.#setBackMs
    copy.#stepsMs = this.#stepsMs
    copy.#stepsBeforeMs = this.#stepsBeforeMs
    return copy
  }

  /** Was the wall clock ever set? */
  get hasStepped(): boolean {
    return this.#stepsMs !== 0 || this.#setBackMs !== 0
  }

  /** The wall clock is set, forward or back. */
  stepped(byMs: number): void {
    this.#stepsMs += byMs
    if (byMs < 0) this.#setBackMs -= byMs
  }

  /** @param wallMs of now, or of an instant that is reckoned from now */
  at(wallMs: number): number {
    return wallMs + this.#setBackMs
  }

  beginLife(): void {
    this.#stepsBeforeMs = this.#stepsMs
  }

  /** The time of a request, by the wall clock and by one that was never set. @param wallMs of
   * now */
  askedAt(wallMs: number): Asked {
    return { askedAtMs: wallMs, askedElapsedMs: wallMs - this.#stepsMs }
  }

  /** The engine trusts the wall clock, one that was not set in this life, or none: this is
   * the upper bound. */
  ageMost({ askedAtMs, askedElapsedMs }: Asked, wallMs: number): number {
    const unsetMs = wallMs - (this.#stepsMs - this.#stepsBeforeMs)
    return Math.max(wallMs - askedAtMs, unsetMs - askedAtMs, wallMs - this.#stepsMs - askedElapsedMs)
  }
}

export interface Asked {
  /** By the wall clock. */
  readonly askedAtMs: number
  /** By a clock that was never set. */
  readonly askedElapsedMs: number
}
