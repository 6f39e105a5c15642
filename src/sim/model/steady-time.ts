/** The wall clock of a run as one that is never set back: what was waited for by it has been waited for, or the clock was set forward.
 * Invariant: it never goes back, within a life and from life to life. */
export class SteadyTime {
  #setBackMs = 0

  copy(): SteadyTime {
    const copy = new SteadyTime()
    copy.#setBackMs = this.#setBackMs
    return copy
  }

  /** The wall clock is set, forward or back. */
  stepped(byMs: number): void {
    if (byMs < 0) this.#setBackMs -= byMs
  }

  /** @param wallMs of now, or of an instant that is reckoned from now */
  at(wallMs: number): number {
    return wallMs + this.#setBackMs
  }
}
