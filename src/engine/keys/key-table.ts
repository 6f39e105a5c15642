/** A compact table from hashes of keys to the positions of their records, 16 bytes a slot.
 * Invariant: at most half of the slots are taken, so a search ends. A hash may stand for several
 * keys: the record tells. */
import { nowhere, position, type Position } from '../../base/position.js'

const slotsMin = 64

export class KeyTable {
  #hashes = new Float64Array(slotsMin)
  #places = new Float64Array(slotsMin)
  #count = 0

  get count(): number {
    return this.#count
  }

  /** @param hash of `keyHash`, @param place not `nowhere` */
  add(hash: number, place: Position): void {
    if (this.#count * 2 >= this.#places.length) this.#grow()
    this.#put(hash, place)
    this.#count++
  }

  /** Places of all records that may hold the key. */
  placesOf(hash: number): Position[] {
    const found: Position[] = []
    for (let slot = this.#slotOf(hash); this.#places[slot] !== nowhere; slot = this.#behind(slot))
      if (this.#hashes[slot] === hash) found.push(position(this.#places[slot]!))
    return found
  }

  #put(hash: number, place: number): void {
    let slot = this.#slotOf(hash)
    while (this.#places[slot] !== nowhere) slot = this.#behind(slot)
    this.#hashes[slot] = hash
    this.#places[slot] = place
  }

  #slotOf(hash: number): number {
    return hash % this.#places.length
  }

  #behind(slot: number): number {
    return (slot + 1) % this.#places.length
  }

  #grow(): void {
    const hashes = this.#hashes
    const places = this.#places
    this.#hashes = new Float64Array(2 * places.length)
    this.#places = new Float64Array(2 * places.length)
    for (let slot = 0; slot < places.length; slot++)
      if (places[slot] !== nowhere) this.#put(hashes[slot]!, places[slot]!)
  }
}

/** 53 bits of a key: two mixes of 32 bits, of which one gives 21. */
export function keyHash(key: string): number {
  let a = 0x811c_9dc5
  let b = 0x9e37_79b9
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x0100_0193)
    b = Math.imul(b ^ unit, 0x85eb_ca6b)
    b = (b << 13) | (b >>> 19)
  }
  return (mixed(a ^ b) >>> 0) * 2 ** 21 + (mixed(b) >>> 11)
}

/** Spreads what the last characters have changed over all bits. */
function mixed(value: number): number {
  let mix = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b)
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2_ae35)
  return mix ^ (mix >>> 16)
}
