/** Submissions that wait until they are durable, in the order of their ends.
 * Invariant: each ticket settles once: when everything before its end is durable, and it is its
 * turn, or with the error that ended this life. */
import { nowhere, type Position } from '../../base/position.js'
import { Ring } from '../../base/ring.js'
import type { Envelope } from '../../record/envelope.js'
import { taggedBy, tagsOf } from '../../record/terms.js'
import type { Accepted } from '../keys/known-keys.js'
import type { QueueEmitter } from '../life/events.js'

export type { Accepted }

/** A class, because it is kept (base/README.md). */
class Ticket {
  readonly end: Position
  readonly envelope: Envelope
  readonly resolve: (accepted: Accepted) => void
  readonly reject: (error: unknown) => void

  constructor(
    end: Position,
    envelope: Envelope,
    resolve: (accepted: Accepted) => void,
    reject: (error: unknown) => void,
  ) {
    this.end = end
    this.envelope = envelope
    this.resolve = resolve
    this.reject = reject
  }
}

export class Tickets {
  readonly #events: QueueEmitter
  readonly #waiting = new Ring<Ticket>()
  #settledEnd: Position = nowhere
  #settledCount = 0

  constructor(events: QueueEmitter) {
    this.#events = events
  }

  /** @param end of what was appended last */
  wait(end: Position, envelope: Envelope): Promise<Accepted> {
    return new Promise((resolve, reject) => this.#waiting.push(new Ticket(end, envelope, resolve, reject)))
  }

  /** All have settled that end before it. */
  get settledEnd(): Position {
    return this.#settledEnd
  }

  /** Recipients of submissions that have settled in this life. */
  get settledCount(): number {
    return this.#settledCount
  }

  /** The journal is durable up to `end`: submissions settle, in order, until they have so many
   * recipients. */
  settle(end: Position, recipientCount: number): void {
    const countEnd = this.#settledCount + recipientCount
    for (let ticket = this.#waiting.peek(); ticket !== undefined && ticket.end <= end;) {
      if (this.#settledCount >= countEnd) return
      this.#waiting.shift()
      this.#settledEnd = ticket.end
      this.#accept(ticket)
      ticket = this.#waiting.peek()
    }
    this.#settledEnd = end
  }

  #accept({ envelope, resolve }: Ticket): void {
    const { id, sender, recipientCount, dataBytes } = envelope
    this.#settledCount += recipientCount
    resolve({ id })
    if (this.#events.listenerCount('accepted') > 0)
      this.#events.emit('accepted', { id, sender, recipientCount, dataBytes, ...taggedBy(tagsOf(envelope)) })
  }

  /** The end of this life, in which the journal was durable up to `durableEnd`. */
  fail(error: unknown, durableEnd: Position): void {
    for (let ticket = this.#waiting.shift(); ticket !== undefined; ticket = this.#waiting.shift())
      if (ticket.end <= durableEnd) this.#accept(ticket)
      else ticket.reject(error)
  }
}
