/** A set of seen ids, by 64 bits of each: a million take 16 MiB. Pure.
 * Invariant: an id that was added before is always reported; another one hardly ever. So the caller
 * compares the ids before it reports them. */

const slotCountMin = 1024

export class SeenIds {
  /** Two words a slot; both 0 in an empty one. */
  #slots = new Uint32Array(2 * slotCountMin)
  #count = 0

  get count(): number {
    return this.#count
  }

  /** @returns whether it was probably added before */
  add(id: string): boolean {
    let low = 0x811c9dc5
    let high = 0x9747b28c
    for (let i = 0; i < id.length; i++) {
      const unit = id.charCodeAt(i)
      low = Math.imul(low ^ unit, 0x0100_0193)
      high = Math.imul(high ^ unit, 0x5bd1_e995) ^ (high >>> 15)
    }
    if (this.#put(this.#slots, low >>> 0, (high | 1) >>> 0)) return true
    // At most half full: a search ends soon.
    if (++this.#count * 4 > this.#slots.length) this.#grow()
    return false
  }

  #put(slots: Uint32Array, low: number, high: number): boolean {
    const mask = slots.length / 2 - 1
    for (let at = (low ^ (high >>> 7)) & mask; ; at = (at + 1) & mask) {
      if (slots[2 * at + 1] === 0) {
        slots[2 * at] = low
        slots[2 * at + 1] = high
        return false
      }
      if (slots[2 * at] === low && slots[2 * at + 1] === high) return true
    }
  }

  #grow(): void {
    const slots = new Uint32Array(2 * this.#slots.length)
    for (let at = 0; at < this.#slots.length; at += 2)
      if (this.#slots[at + 1] !== 0) this.#put(slots, this.#slots[at]!, this.#slots[at + 1]!)
    this.#slots = slots
  }
}
