/** One message of the queue as an inspection finds it, and the selection of messages. */
import type { ActiveMessage } from '../../active/active-message.js'
import { includeWanted } from '../../base/mail-address.js'
import type { QueueName } from '../../lane/lane.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import { tagsOf } from '../../record/terms.js'
import type { EnvelopeFacts } from '../../record/encoded-envelope.js'
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

/** A message as a walk meets it, before it is decoded. Valid until the walk goes on. */
export interface MetMessage extends Pick<
  QueuedMessage,
  'where' | 'lane' | 'dueAt' | 'waiting' | 'waitingCount' | 'active' | 'uncertain'
> {
  readonly envelope: EnvelopeFacts
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
function matchesEnvelope({ envelope }: MetMessage, selection: Selection): boolean {
  const { id, sender, acceptedUntil, tag } = selection
  return (
    (id === undefined || envelope.id === id) &&
    (sender === undefined || envelope.sender === sender) &&
    (acceptedUntil === undefined || envelope.acceptedAt <= acceptedUntil) &&
    (tag === undefined || tagsOf(envelope).includes(tag))
  )
}

/** Does it match, as far as it can be seen without reading its recipients from their frames? */
export function mayMatch(message: MetMessage, selection: Selection): boolean {
  if (!matchesEnvelope(message, selection)) return false
  const { recipient, domain } = selection
  if (recipient === undefined && domain === undefined) return true
  const { recipientFrames, recipients } = message.envelope
  return recipientFrames.length > 0 || includeWanted(recipients, selection)
}

/** May messages of this lane, or that were started from it, be selected? */
export const selectsLane = (wanted: Selection['lane'], where: QueueName, lane: number): boolean =>
  wanted === undefined || (typeof wanted === 'number' ? wanted === lane : wanted === where)
