/** Submissions that wait until they are durable, in the order of their ends.
 * Invariant: each ticket settles once: when everything before its end is durable, or with the error
 * that ended this life. */
import type { Position } from '../../base/position.js'
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

  constructor(events: QueueEmitter) {
    this.#events = events
  }

  /** @param end of what was appended last */
  wait(end: Position, envelope: Envelope): Promise<Accepted> {
    return new Promise((resolve, reject) => this.#waiting.push(new Ticket(end, envelope, resolve, reject)))
  }

  /** The journal is durable up to here. */
  settle(end: Position): void {
    const listening = this.#events.listenerCount('accepted') > 0
    for (let ticket = this.#waiting.peek(); ticket !== undefined && ticket.end <= end;) {
      this.#waiting.shift()
      const { id, sender, recipientCount, dataBytes } = ticket.envelope
      ticket.resolve({ id })
      if (listening)
        this.#events.emit('accepted', {
          id,
          sender,
          recipientCount,
          dataBytes,
          ...taggedBy(tagsOf(ticket.envelope)),
        })
      ticket = this.#waiting.peek()
    }
  }

  /** The end of this life. */
  fail(error: unknown): void {
    for (let ticket = this.#waiting.shift(); ticket !== undefined; ticket = this.#waiting.shift())
      ticket.reject(error)
  }
}
