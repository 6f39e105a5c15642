/** The last starts of deliveries to one destination: how a rate limit is kept in EVERY interval, not only in aligned ones.
 * Invariant: `#startsMs` holds the last `limit` starts; the next may come one interval after the oldest of them. */

export class RateRing {
  readonly #startsMs: Float64Array
  readonly #intervalMs: number
  #oldest = 0

  /** @param limit starts per interval, ≥ 1 */
  constructor(limit: number, intervalMs: number) {
    this.#startsMs = new Float64Array(limit).fill(-Infinity)
    this.#intervalMs = intervalMs
  }

  start(nowMs: number): void {
    this.#startsMs[this.#oldest] = nowMs
    this.#oldest = (this.#oldest + 1) % this.#startsMs.length
  }

  /** When the next delivery may start; in the past when it may at once. */
  get freeAtMs(): number {
    return this.#startsMs[this.#oldest]! + this.#intervalMs
  }

  /** When the last start stops to count. */
  get emptyAtMs(): number {
    const newest = (this.#oldest + this.#startsMs.length - 1) % this.#startsMs.length
    return this.#startsMs[newest]! + this.#intervalMs
  }

  /** Starts that count now. */
  countAt(nowMs: number): number {
    let count = 0
    for (const startMs of this.#startsMs) if (startMs + this.#intervalMs > nowMs) count++
    return count
  }

  clear(): void {
    this.#startsMs.fill(-Infinity)
  }
}
