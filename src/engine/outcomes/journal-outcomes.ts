/** The outcomes that the journal's records tell of. Pure: frames in, outcomes out, in their order.
 * Invariant: an envelope counts as accepted unless the frame behind it makes it a replacement, or
 * the new place of an active message. */
import { messageIdIn } from '../../base/header.js'
import { countIn } from '../../base/ranges.js'
import type { MessageId } from '../../base/message-id.js'
import type { Position } from '../../base/position.js'
import { nowhere } from '../../base/position.js'
import { incomingLane } from '../../lane/lane.js'
import { decodeDelivery, type Delivery } from '../../record/delivery.js'
import { decodeEnvelope, type Envelope } from '../../record/envelope.js'
import { decodeFinish, type Finish } from '../../record/finish.js'
import { kinds } from '../../record/frame.js'
import type { NewOutcome, QueueOutcomeKind } from '../../record/outcome.js'
import { decodeReplaced } from '../../record/replaced.js'
import { decodeStart } from '../../record/start.js'
import { tagsOf } from '../../record/terms.js'

export interface JournalOutcome extends NewOutcome {
  /** Of `accepted`: its data stands in this file, and the Message-ID with it; 0: it does not. */
  spool: number
}

interface JournalFrame {
  readonly kind: number
  readonly lane: number
  readonly timeMs: number
  readonly position: Position
  readonly payload: Buffer
}

interface Entered {
  readonly position: Position
  readonly envelope: Envelope
  readonly timeMs: number
  readonly messageId: string | undefined
}

export class JournalOutcomes {
  /** The frame before, when it was an envelope that may be a replacement. */
  #entered: Entered | undefined
  /** The last data: an envelope stands behind its own. */
  #data: { readonly messageId: string | undefined } | undefined

  /** @param into where they are put
   * @throws WaybillError LOG_CORRUPT */
  of({ kind, lane, timeMs, position, payload }: JournalFrame, into: JournalOutcome[]): void {
    const entered = this.#entered
    this.#entered = undefined
    if (entered !== undefined && (lane !== incomingLane || !isKnown(entered, kind, payload)))
      into.push(entranceOf(entered))
    if (kind === kinds.data) this.#data = { messageId: messageIdIn(payload) }
    if (kind === kinds.envelope) {
      const data = this.#data
      this.#data = undefined
      // A replacement of the single-log layout, and its data.
      if (lane !== incomingLane) return
      const envelope = decodeEnvelope(payload)
      const messageId = envelope.data.kind === 'before' ? data?.messageId : undefined
      if (isNew(envelope)) this.#entered = { position, envelope, timeMs, messageId }
      return
    }
    if (kind === kinds.delivery) putDelivery(decodeDelivery(payload), timeMs, into)
    if (kind === kinds.finish) putFinish(decodeFinish(payload), timeMs, into)
  }

  /** The frame behind decides. */
  get isPending(): boolean {
    return this.#entered !== undefined || this.#data !== undefined
  }

  /** There is no frame behind: a group ends with its batch. */
  end(into: JournalOutcome[]): void {
    const entered = this.#entered
    this.#entered = undefined
    this.#data = undefined
    if (entered !== undefined) into.push(entranceOf(entered))
  }
}

/** Does this frame, the one behind it, say that it is a message that was accepted before? */
function isKnown({ position: at }: Entered, kind: number, payload: Buffer): boolean {
  if (kind === kinds.replaced) return decodeReplaced(payload).target === at
  if (kind !== kinds.start) return false
  const { envelope, carried } = decodeStart(payload)
  return envelope === at && carried !== undefined
}

const isNew = ({ attempts, requeues, notes, replaces }: Envelope): boolean =>
  attempts === 0 && requeues === 0 && notes.length === 0 && replaces === nowhere

/** A report's id is that of its message, and a number. */
const reportPattern = /^([^-]+)-[0-9]+$/

function entranceOf({ envelope, timeMs, messageId }: Entered): JournalOutcome {
  const { id, sender, recipients, recipientCount, data } = envelope
  const about = sender === '' ? reportPattern.exec(id)?.[1] : undefined
  if (about !== undefined) {
    const reported = outcomeOf('reported', timeMs, about as MessageId, sender, [])
    reported.report = id
    return reported
  }
  const accepted = outcomeOf('accepted', timeMs, id, sender, tagsOf(envelope))
  accepted.recipients = recipients
  accepted.recipientCount = recipientCount
  if (messageId !== undefined) accepted.messageId = messageId
  if (data.kind === 'spool') accepted.spool = data.number
  return accepted
}

function putDelivery({ notes, finishes, told }: Delivery, at: number, into: JournalOutcome[]): void {
  if (told === undefined) return
  const { id, sender, tags } = told
  let next = 0
  for (const note of notes) {
    const outcome = outcomeOf(note.kind, at, id, sender, tags)
    outcome.recipientCount = countIn(note.ranges)
    outcome.recipients = told.recipients.slice(next, next + outcome.recipientCount)
    next += outcome.recipientCount
    outcome.status = note.status
    outcome.text = note.text
    outcome.remote = note.remote ?? (note.kind === 'delivered' ? told.remote : '')
    outcome.attempt = told.attempt
    outcome.transport = told.transport
    outcome.nexthop = told.nexthop
    if (note.kind === 'delivered') outcome.tls = told.tls
    into.push(outcome)
  }
  if (finishes) into.push(outcomeOf('finished', at, id, sender, tags))
}

function putFinish({ told }: Finish, at: number, into: JournalOutcome[]): void {
  if (told === undefined) return
  const { id, sender, why, recipientCount, tags } = told
  if (why !== undefined && recipientCount > 0) {
    const givenUp = outcomeOf(why, at, id, sender, tags)
    givenUp.recipientCount = recipientCount
    into.push(givenUp)
  }
  into.push(outcomeOf('finished', at, id, sender, tags))
}

const outcomeOf = (
  kind: QueueOutcomeKind,
  at: number,
  id: MessageId,
  sender: string,
  tags: readonly string[],
): JournalOutcome => ({
  kind,
  at,
  id,
  sender,
  recipients: none,
  recipientCount: 0,
  status: '',
  text: '',
  remote: '',
  attempt: 0,
  report: '',
  tags,
  transport: '',
  nexthop: '',
  tls: '',
  messageId: '',
  spool: 0,
})

const none: readonly never[] = []
