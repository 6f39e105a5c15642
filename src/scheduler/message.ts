/** A message in memory, as the scheduler sees it: counts, not contents.
 * Invariant: `entryCount` is the number of its entries that wait or are under way; `recipientCount`
 * that of their recipients plus those promised by a read that has not answered yet. */
import { assert } from '../base/assert.js'
import { LinkedList } from '../base/linked-list.js'
import type { Job } from './job.js'

const noHandle: object = {}

export class Message {
  /** The user's object for it. */
  handle: object
  queuedAtMs: number
  queuedSecond: number
  /** Neighbours in memory. */
  older: Message | undefined = undefined
  newer: Message | undefined = undefined
  firstJob: Job | undefined = undefined
  lastJob: Job | undefined = undefined
  entryCount = 0
  recipientCount = 0
  /** Recipients it may have in memory: the minimum plus the slots of its jobs. */
  recipientLimit: number
  /** Recipients read so far: where the next batch begins. */
  readCount = 0
  /** The last batch was not the last. */
  unread = true
  /** Recipients not read yet, as far as known. */
  unreadCount = 0
  refilledAtMs = 0
  /** Recipients that a read under way may bring; 0 when none is. */
  promisedCount = 0
  /** Waits for recipients of others to leave memory. */
  starved = false
  starvedNext: Message | undefined = undefined

  constructor(handle: object, queuedAtMs: number, recipientMinimum: number) {
    this.handle = handle
    this.queuedAtMs = queuedAtMs
    this.queuedSecond = Math.floor(queuedAtMs / 1000)
    this.recipientLimit = recipientMinimum
  }

  /** Releases the user's object: this one may lie unused for long. */
  leave(): object {
    const { handle } = this
    this.handle = noHandle
    return handle
  }

  /** As the constructor, for one that has left: its counts are 0 and its links undefined
   * already. */
  renew(handle: object, queuedAtMs: number, recipientMinimum: number): this {
    this.handle = handle
    this.queuedAtMs = queuedAtMs
    this.queuedSecond = Math.floor(queuedAtMs / 1000)
    this.recipientLimit = recipientMinimum
    this.firstJob = undefined
    this.lastJob = undefined
    this.readCount = 0
    this.unread = true
    this.unreadCount = 0
    return this
  }

  /** A batch can be asked for. */
  get readable(): boolean {
    return this.unread && this.promisedCount === 0
  }
}

/** The property of the user's object that holds the scheduler's message; it is in one scheduler at
 * a time. An object that has the property from the beginning is cheaper. */
export const inScheduler: unique symbol = Symbol('in scheduler')

interface Known {
  [inScheduler]?: Message | undefined
}

/** The messages in memory, in the order in which they came.
 * Invariant: a user's object that is here carries the scheduler's message under `inScheduler`, and
 * no other does. */
export class Messages {
  readonly #list = new LinkedList<Message>()

  get count(): number {
    return this.#list.count
  }

  /** The scheduler's message of a user's object. */
  of(handle: object): Message | undefined {
    return (handle as Known)[inScheduler]
  }

  add(message: Message): void {
    assert(this.of(message.handle) === undefined, 'a message is admitted once')
    ;(message.handle as Known)[inScheduler] = message
    this.#list.add(message)
  }

  remove(message: Message): void {
    ;(message.handle as Known)[inScheduler] = undefined
    this.#list.remove(message)
  }

  [Symbol.iterator](): Iterator<Message> {
    return this.#list[Symbol.iterator]()
  }
}
