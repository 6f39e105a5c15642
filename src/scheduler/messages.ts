/** The messages in memory, in the order in which they came.
 * Invariant: a user's object that is here carries the scheduler's message under `inScheduler`, and
 * no other does.
 * Why a linked list and no Map: a Map that is always filled and emptied replaces its table often.
 * An old table that garbage collection has promoted keeps all later ones, 800 bytes a message. */
import { assert } from '../base/assert.js'
import type { Message } from './message.js'

/** The property of the user's object that holds the scheduler's message; it is in one scheduler at
 * a time. An object that has the property from the beginning is cheaper. */
export const inScheduler: unique symbol = Symbol('in scheduler')

interface Known {
  [inScheduler]?: Message | undefined
}

export class Messages {
  #first: Message | undefined
  #last: Message | undefined
  #count = 0

  get count(): number {
    return this.#count
  }

  /** The scheduler's message of a user's object. */
  of(handle: object): Message | undefined {
    return (handle as Known)[inScheduler]
  }

  add(message: Message): void {
    assert(this.of(message.handle) === undefined, 'a message is admitted once')
    ;(message.handle as Known)[inScheduler] = message
    message.older = this.#last
    if (this.#last === undefined) this.#first = message
    else this.#last.newer = message
    this.#last = message
    this.#count++
  }

  remove(message: Message): void {
    const { older, newer } = message
    ;(message.handle as Known)[inScheduler] = undefined
    if (older === undefined) this.#first = newer
    else older.newer = newer
    if (newer === undefined) this.#last = older
    else newer.older = older
    message.older = message.newer = undefined
    this.#count--
  }

  *[Symbol.iterator](): Generator<Message> {
    for (let message = this.#first; message !== undefined; message = message.newer) yield message
  }
}
