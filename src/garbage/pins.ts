/** Which segments are held by active messages, and which may go.
 * Invariant: a segment goes only when a durable checkpoint that was captured after the last message gave it up says so.
 *    // 1. finish appended  2. segment recycled  3. power loss takes the finish  4. the message is active again, its data gone
 * A message gives up its pins when its finish or its replacement is appended; `capture` takes those of that moment along and
 * `confirm` lets them go. */
import { assert } from '../base/assert.js'

/** The segments of one log: which exist, and how many active messages hold each. */
export class SegmentPins {
  readonly #counts = new Map<number, number>()
  readonly #existing = new Set<number>()
  #released: number[] = []

  /** A segment has come to be. */
  add(index: number): void {
    this.#existing.add(index)
  }

  pin(index: number): void {
    this.#counts.set(index, (this.#counts.get(index) ?? 0) + 1)
  }

  /** Given up, as of the next capture. */
  release(index: number): void {
    this.#released.push(index)
  }

  /** Takes what was given up until now: a checkpoint is being captured. */
  capture(): readonly number[] {
    const released = this.#released
    this.#released = []
    return released
  }

  /** The checkpoint is durable. Returns the segments that are garbage, and forgets them.
   * @param released what `capture` returned for it
   * @param floor no reader needs segments below this index */
  confirm(released: readonly number[], floor: number): number[] {
    for (const index of released) {
      const count = this.#counts.get(index)
      assert(count !== undefined && count > 0, 'what is given up was held')
      if (count === 1) this.#counts.delete(index)
      else this.#counts.set(index, count - 1)
    }
    const garbage: number[] = []
    for (const index of this.#existing) if (index < floor && !this.#counts.has(index)) garbage.push(index)
    for (const index of garbage) this.#existing.delete(index)
    return garbage
  }

  isPinned(index: number): boolean {
    return this.#counts.has(index)
  }

  get hasPins(): boolean {
    return this.#counts.size > 0
  }

  get existingCount(): number {
    return this.#existing.size
  }

  /** Ascending by birth, for those who look: index and holders. */
  *segments(): Generator<{ readonly index: number; readonly pins: number }> {
    for (const index of this.#existing) yield { index, pins: this.#counts.get(index) ?? 0 }
  }
}
