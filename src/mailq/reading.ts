/** Readings of the queue for clients that only look.
 * Invariant: a reading is of one moment, and has at most `messagesMax` messages with
 * `recipientsMax` recipients, however long the queue is. It begins behind the call that asks for
 * it; all that ask before it begins share it. One is made at a time, and `restMs` lie between two.
 * Why: a client may ask again and again, and a listing takes the queue's own thread. */
import { pause, type Clock } from '../base/clock.js'
import type { ListedMessage, ListOptions } from '../admin/select/listing.js'
import type { Selector } from '../admin/select/selector.js'

/** The part of a queue that is read. */
export interface ReadQueue {
  list(selector: Selector, options: ListOptions): AsyncIterable<ListedMessage>
}

export interface Reading {
  readonly messages: readonly ListedMessage[]
  /** More mail waits than it has. */
  readonly isCut: boolean
}

export const messagesMax = 10_000
/** Of all its messages; the last one may bring more. */
export const recipientsMax = 50_000
const restMs = 100

export class Readings {
  readonly #queue: ReadQueue
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  #next: Promise<Reading> | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** @param onError what could not be read; the reading has the rest */
  constructor(queue: ReadQueue, clock: Clock, onError: (error: unknown) => void) {
    this.#queue = queue
    this.#clock = clock
    this.#onError = onError
  }

  read(): Promise<Reading> {
    return (this.#next ??= this.#begin())
  }

  async #begin(): Promise<Reading> {
    await this.#last
    this.#next = undefined
    const reading = this.#read()
    this.#last = reading.then(() => pause(this.#clock, restMs, undefined))
    return reading
  }

  async #read(): Promise<Reading> {
    const messages: ListedMessage[] = []
    let recipientCount = 0
    try {
      for await (const message of this.#queue.list({}, { routes: true })) {
        if (messages.length >= messagesMax || recipientCount >= recipientsMax)
          return { messages, isCut: true }
        messages.push(message)
        recipientCount += message.recipients.length
      }
      return { messages, isCut: false }
    } catch (error) {
      this.#onError(error)
      return { messages, isCut: true }
    }
  }
}
