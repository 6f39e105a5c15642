/** A message as a listing shows it. */
import type { MessageId } from '../../base/message-id.js'
import type { RequestDsn } from '../../delivery/transport.js'
import type { Route } from '../../engine/life/options.js'
import type { LaneKind } from '../../lane/lane.js'
import type { Envelope } from '../../record/envelope.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import type { EnvelopeTerms } from '../../record/terms.js'

export interface RoutedRecipient {
  /** In the envelope: `ranges` of notes name it so. */
  readonly index: number
  /** Where it would go now; undefined: nobody knows the way. */
  readonly route: Route | undefined
}

export interface ListedMessage {
  readonly id: MessageId
  readonly sender: string
  /** Those that still wait; of a message with more than 1000 the first of them. */
  readonly recipients: readonly string[]
  readonly recipientCount: number
  /** `retry`: in a lane with an interval, which a selector calls `deferred`. */
  readonly where: LaneKind | 'active'
  /** The number of the lane that it waits in or was started from. */
  readonly lane: number
  /** Milliseconds since 1970. */
  readonly acceptedAt: number
  readonly attempts: number
  readonly dataBytes: number
  /** When it is tried again, milliseconds since 1970; 0 if it is active or due at once,
   * Infinity on hold. */
  readonly dueAt: number
  /** Why its recipients still wait. */
  readonly notes: readonly OutcomeNote[]
  /** The sender's requests (RFC 3461), and those for each of `recipients`; undefined: none. */
  readonly dsn?: RequestDsn | undefined
  /** Each of `recipients`; only where the listing was asked for it (`routes`). */
  readonly routed?: readonly RoutedRecipient[]
  /** Absent where the submission had none. */
  readonly tags?: readonly string[]
  /** No attempt is made before this, milliseconds since 1970. Absent: at once. */
  readonly notBefore?: number
  /** It is given up at this time, milliseconds since 1970. Absent: when the policy says so. */
  readonly expiresAt?: number
}

/** A message that waits for its time goes from lane to lane until then.
 * @param ofLaneMs when its lane starts it */
export const dueOf = ({ terms }: Envelope, ofLaneMs: number): number =>
  Math.max(terms?.notBefore ?? 0, ofLaneMs)

type ListedFacts = Pick<
  ListedMessage,
  'id' | 'sender' | 'acceptedAt' | 'attempts' | 'dataBytes' | 'tags' | 'notBefore' | 'expiresAt'
>

export const factsOf = ({ id, sender, acceptedAt, attempts, dataBytes, terms }: Envelope): ListedFacts => ({
  id,
  sender,
  acceptedAt,
  attempts,
  dataBytes,
  ...(terms === undefined ? undefined : listedTerms(terms)),
})

export const listedTerms = ({
  tags,
  notBefore,
  expiresAt,
}: EnvelopeTerms): Pick<ListedMessage, 'tags' | 'notBefore' | 'expiresAt'> => ({
  ...(tags.length > 0 ? { tags } : undefined),
  ...(notBefore > 0 ? { notBefore } : undefined),
  ...(expiresAt > 0 ? { expiresAt } : undefined),
})
