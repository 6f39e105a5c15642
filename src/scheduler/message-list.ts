/** The messages in memory: in the order of admission, and by the user's object for each.
 * Invariant: a message stands in both from its admission until it leaves.
 * A list and a WeakMap, no Map: the table of a Map that is filled and emptied all the time is replaced again and again, and an
 * old table that garbage collection has promoted keeps all that follow, with every message that was in them. */
import { assert } from '../base/assert.js'
import type { Message } from './message.js'

export class MessageList {
  readonly #byHandle = new WeakMap<object, Message>()
  #first: Message | undefined
  #last: Message | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get(handle: object): Message | undefined {
    return this.#byHandle.get(handle)
  }

  add(message: Message): void {
    assert(!this.#byHandle.has(message.handle), 'a message is admitted once')
    this.#byHandle.set(message.handle, message)
    message.listPrevious = this.#last
    if (this.#last === undefined) this.#first = message
    else this.#last.listNext = message
    this.#last = message
    this.#size++
  }

  remove(message: Message): void {
    const { listPrevious, listNext } = message
    this.#byHandle.delete(message.handle)
    if (listPrevious === undefined) this.#first = listNext
    else listPrevious.listNext = listNext
    if (listNext === undefined) this.#last = listPrevious
    else listNext.listPrevious = listPrevious
    message.listPrevious = undefined
    message.listNext = undefined
    this.#size--
  }

  *values(): Generator<Message> {
    for (let message = this.#first; message !== undefined; message = message.listNext) yield message
  }
}
