/** A first-in first-out queue over a circular array that doubles when full: no shifting, no node
 * per element.
 *
 *      head ─┐        ┌─ tail
 *   [ . . . .a b c d e . . . ]      length = tail − head, capacity a power of two */
export class Ring<T> {
  #slots = emptySlots<T>(16)
  #head = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  push(value: T): void {
    if (this.#length === this.#slots.length) this.#grow()
    this.#slots[(this.#head + this.#length) & (this.#slots.length - 1)] = value
    this.#length++
  }

  peek(): T | undefined {
    return this.#slots[this.#head]
  }

  /** @param index 0 is the oldest, up to length − 1 */
  at(index: number): T | undefined {
    return index < this.#length ? this.#slots[(this.#head + index) & (this.#slots.length - 1)] : undefined
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined
    const value = this.#slots[this.#head]
    this.#slots[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#slots.length - 1)
    this.#length--
    return value
  }

  clear(): void {
    this.#slots = emptySlots<T>(16)
    this.#head = 0
    this.#length = 0
  }

  #grow(): void {
    const old = this.#slots
    const slots = emptySlots<T>(old.length * 2)
    for (let i = 0; i < this.#length; i++) slots[i] = old[(this.#head + i) & (old.length - 1)]
    this.#slots = slots
    this.#head = 0
  }
}

const emptySlots = <T>(length: number): (T | undefined)[] => Array.from({ length })
