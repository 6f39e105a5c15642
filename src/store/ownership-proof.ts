/** Proof that this process owns its queue, and its age.
 * Invariant: proof is as old as the question whose answer it came with. It expires by the
 * monotonic clock, and when the wall clock has moved `proofMs` more than that one: the
 * monotonic clock of a machine that was suspended has stood still. */
import type { Clock } from '../base/clock.js'

export class Proof {
  readonly #clock: Clock
  readonly #proofMs: number
  #asked: { readonly monotonicMs: number; readonly wallMs: number } | undefined
  #isOver = false
  readonly #waiting: (() => void)[] = []

  constructor(clock: Clock, proofMs: number) {
    this.#clock = clock
    this.#proofMs = proofMs
  }

  /** A commit that was asked for at `askedMs`, by the monotonic clock, was answered now. */
  prove(askedMs: number): void {
    const monotonicMs = this.#clock.monotonicMs()
    if (this.#isOver || (this.#asked !== undefined && askedMs <= this.#asked.monotonicMs)) return
    this.#asked = { monotonicMs: askedMs, wallMs: this.#clock.wallMs() - (monotonicMs - askedMs) }
    if (!this.isProven) return
    for (const tell of this.#waiting.splice(0)) tell()
  }

  /** Another process may own the queue: nothing is proven any more. */
  end(): void {
    this.#isOver = true
  }

  get isProven(): boolean {
    return !this.#isOver && this.ageMs < this.#proofMs
  }

  /** Milliseconds. */
  get ageMs(): number {
    if (this.#asked === undefined) return Infinity
    const sinceMs = this.#clock.monotonicMs() - this.#asked.monotonicMs
    const suspendedMs = this.#clock.wallMs() - this.#asked.wallMs - sinceMs
    return suspendedMs >= this.#proofMs ? Infinity : sinceMs
  }

  /** @param tell called once, when it is proven again */
  onProven(tell: () => void): void {
    this.#waiting.push(tell)
  }
}
