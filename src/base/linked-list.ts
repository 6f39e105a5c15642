/** A list through its members: no node per member, and any of them leaves at once.
 * Invariant: a member that has left links to nothing.
 * Why no Set or Map where members come and go with every message: V8 replaces the table of one that
 * is always filled and emptied often, and the old table links to the new one.
 * As soon as garbage collection has promoted one table, each later one stays with all that it held,
 * until the next full collection, and collections of young objects take several times as long. The
 * same holds for a member that leaves with its links. */
import { assert } from './assert.js'

export interface Linked<T> {
  /** Neighbours; undefined at the ends, and outside of a list. */
  older: T | undefined
  newer: T | undefined
}

export class LinkedList<T extends Linked<T>> {
  #first: T | undefined
  #last: T | undefined
  #count = 0

  get first(): T | undefined {
    return this.#first
  }

  get last(): T | undefined {
    return this.#last
  }

  get count(): number {
    return this.#count
  }

  /** Is it in this list? It is in no other. */
  has(member: T): boolean {
    return member.older !== undefined || this.#first === member
  }

  /** At the end. @param member is in no list */
  add(member: T): void {
    const last = this.#last
    member.older = last
    if (last === undefined) this.#first = member
    else last.newer = member
    this.#last = member
    this.#count++
  }

  /** @param member is in this list */
  remove(member: T): void {
    assert(this.has(member), 'what leaves a list is in it')
    const { older, newer } = member
    if (older === undefined) this.#first = newer
    else older.newer = newer
    if (newer === undefined) this.#last = older
    else newer.older = older
    member.older = undefined
    member.newer = undefined
    this.#count--
  }

  /** As of a Set. @param member is in this list or in none
   * @returns whether it was in this one */
  delete(member: T): boolean {
    if (!this.has(member)) return false
    this.remove(member)
    return true
  }

  /** From the oldest on. The one that was given last may leave meanwhile, or become the newest;
   * the one behind it may not. */
  *[Symbol.iterator](): Generator<T> {
    for (let member = this.#first; member !== undefined;) {
      const { newer } = member
      yield member
      member = newer
    }
  }
}
