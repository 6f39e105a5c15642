/** One message of the queue as an inspection finds it, and the selection of messages. */
import type { ActiveMessage } from '../../active/active-message.js'
import { comparableDomainOf } from '../../base/mail-address.js'
import type { QueueName } from '../../lane/lane.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import { tagsOf } from '../../record/terms.js'
import type { Located } from './message-content.js'

export interface QueuedMessage extends Located {
  readonly where: QueueName
  /** Milliseconds since 1970; 0 if it is due at once, Infinity on hold. */
  readonly dueAt: number
  /** Indexes of the recipients that still wait; undefined: all. */
  readonly waiting: readonly number[] | undefined
  readonly waitingCount: number
  /** Why they wait, by their indexes in the envelope. */
  readonly notes: readonly OutcomeNote[]
  /** The state of each recipient, if it was active. */
  readonly active: ActiveMessage | undefined
  /** Damage took the record of its start, so it may even have been delivered. */
  readonly uncertain: boolean
}

export interface Selection {
  readonly id?: string | undefined
  /** Exactly; '' is the null sender. */
  readonly sender?: string | undefined
  readonly recipient?: string | undefined
  /** The domain of one of its waiting recipients, as `comparableDomainOf` writes it. */
  readonly domain?: string | undefined
  readonly lane?: QueueName | number | undefined
  /** Accepted at this time or before, milliseconds since 1970. */
  readonly acceptedUntil?: number | undefined
  /** One of its tags. */
  readonly tag?: string | undefined
}

/** The conditions that need no recipients. */
export function matchesEnvelope({ envelope }: QueuedMessage, selection: Selection): boolean {
  const { id, sender, acceptedUntil, tag } = selection
  return (
    (id === undefined || envelope.id === id) &&
    (sender === undefined || envelope.sender === sender) &&
    (acceptedUntil === undefined || envelope.acceptedAt <= acceptedUntil) &&
    (tag === undefined || tagsOf(envelope).includes(tag))
  )
}

/** @param addresses of those that wait */
export const matchesRecipients = (addresses: readonly string[], { recipient, domain }: Selection): boolean =>
  (recipient === undefined || addresses.includes(recipient)) &&
  (domain === undefined || addresses.some((address) => comparableDomainOf(address) === domain))

/** May messages of this lane, or that were started from it, be selected? */
export const selectsLane = (wanted: Selection['lane'], where: QueueName, lane: number): boolean =>
  wanted === undefined || (typeof wanted === 'number' ? wanted === lane : wanted === where)
