/** Members by their names: a hash table whose chains run through its members.
 * Why not a Map: one that is always filled and emptied keeps what it held (linked-list.ts).
 * Invariant: a member that has left links to nothing. Nothing depends on the order in the table.
 * Its array grows to the number of members that it had at the most, and does not shrink: 8 bytes
 * for each. */
import { systemPrng } from './prng.js'

export interface Named<T> {
  readonly name: string
  /** The next one with another name in the same chain; undefined outside of a table. */
  sameHash: T | undefined
}

/** Another one in each process: nobody outside can choose names that fall into one chain. */
const seed = systemPrng().uint32()

function hashOf(name: string): number {
  let hash = seed
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x5bd1_e995)
    hash ^= hash >>> 15
  }
  return hash
}

export class NameTable<T extends Named<T>> {
  /** A power of two of them. */
  #chains: (T | undefined)[] = emptyChains<T>(64)
  #count = 0

  get(name: string): T | undefined {
    let member = this.#chains[hashOf(name) & (this.#chains.length - 1)]
    while (member !== undefined && member.name !== name) member = member.sameHash
    return member
  }

  /** @param member no other has its name */
  add(member: T): void {
    if (this.#count === this.#chains.length) this.#grow()
    this.#link(member)
    this.#count++
  }

  /** @param member is in this table */
  remove(member: T): void {
    const index = hashOf(member.name) & (this.#chains.length - 1)
    let before: T | undefined
    for (let one = this.#chains[index]; one !== member; one = one!.sameHash) before = one
    if (before === undefined) this.#chains[index] = member.sameHash
    else before.sameHash = member.sameHash
    member.sameHash = undefined
    this.#count--
  }

  #link(member: T): void {
    const index = hashOf(member.name) & (this.#chains.length - 1)
    member.sameHash = this.#chains[index]
    this.#chains[index] = member
  }

  #grow(): void {
    const before = this.#chains
    this.#chains = emptyChains<T>(before.length * 2)
    let next: T | undefined
    for (const first of before)
      for (let member = first; member !== undefined; member = next) {
        next = member.sameHash
        this.#link(member)
      }
  }
}

const emptyChains = <T>(length: number): (T | undefined)[] =>
  Array.from<T | undefined>({ length }).fill(undefined)
