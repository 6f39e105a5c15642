/** The outcomes that the journal's records tell of. Pure: frames in, outcomes out, in their order.
 * Invariant: an envelope counts as accepted when the frame behind it is not the note that makes it
 * a replacement. */
import { messageIdIn } from '../../base/message-id-field.js'
import { countIn } from '../../base/ranges.js'
import type { MessageId } from '../../base/message-id.js'
import type { Position } from '../../base/position.js'
import { nowhere } from '../../base/position.js'
import { incomingLane } from '../../lane/lane.js'
import { decodeDelivery, type Delivery } from '../../record/delivery.js'
import { decodeEnvelope, type Envelope } from '../../record/envelope.js'
import { decodeFinish, type Finish } from '../../record/finish.js'
import { kinds } from '../../record/frame.js'
import type { QueueOutcome } from '../../record/outcome.js'
import { decodeReplaced } from '../../record/replaced.js'
import { taggedBy, tagsOf } from '../../record/terms.js'

export interface NewOutcome extends Omit<QueueOutcome, 'number'> {
  /** Of `accepted`: its data stands in this file, and the Message-ID with it. */
  readonly spool?: number
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

const nothing = { recipients: [], recipientCount: 0, status: '', text: '', remote: '', attempt: 0 }

export class ToldOutcomes {
  /** The frame before, when it was an envelope that may be a replacement. */
  #entered: Entered | undefined
  /** The last data: an envelope stands behind its own. */
  #data: { readonly messageId: string | undefined } | undefined

  /** @throws WaybillError LOG_CORRUPT */
  of({ kind, lane, timeMs, position, payload }: JournalFrame): NewOutcome[] {
    const entered = this.#entered
    this.#entered = undefined
    const isReplacement =
      entered !== undefined &&
      kind === kinds.replaced &&
      lane === incomingLane &&
      decodeReplaced(payload).target === entered.position
    const before = entered === undefined || isReplacement ? [] : [entranceOf(entered)]
    if (kind === kinds.data) this.#data = { messageId: messageIdIn(payload) }
    if (kind === kinds.envelope && lane === incomingLane) {
      const envelope = decodeEnvelope(payload)
      const messageId = envelope.data.kind === 'before' ? this.#data?.messageId : undefined
      this.#data = undefined
      if (isNew(envelope)) this.#entered = { position, envelope, timeMs, messageId }
      return before
    }
    if (kind === kinds.delivery) return [...before, ...ofDelivery(decodeDelivery(payload), timeMs)]
    if (kind === kinds.finish) return [...before, ...ofFinish(decodeFinish(payload), timeMs)]
    return before
  }

  /** The frame behind decides. */
  get isPending(): boolean {
    return this.#entered !== undefined || this.#data !== undefined
  }

  /** There is no frame behind: a group ends with its batch. */
  end(): NewOutcome[] {
    const entered = this.#entered
    this.#entered = undefined
    this.#data = undefined
    return entered === undefined ? [] : [entranceOf(entered)]
  }
}

const isNew = ({ attempts, requeues, notes, replaces }: Envelope): boolean =>
  attempts === 0 && requeues === 0 && notes.length === 0 && replaces === nowhere

/** A report's id is that of its message, and a number. */
const reportPattern = /^([^-]+)-[0-9]+$/

function entranceOf({ envelope, timeMs, messageId }: Entered): NewOutcome {
  const { id, sender, recipients, recipientCount, data } = envelope
  const tags = tagsOf(envelope)
  const about = sender === '' ? reportPattern.exec(id)?.[1] : undefined
  if (about !== undefined)
    return { ...nothing, kind: 'reported', at: timeMs, id: about as MessageId, sender, report: id }
  return {
    ...nothing,
    kind: 'accepted',
    at: timeMs,
    id,
    sender,
    recipients,
    recipientCount,
    ...taggedBy(tags),
    ...(messageId === undefined ? undefined : { messageId }),
    ...(data.kind === 'spool' ? { spool: data.number } : undefined),
  }
}

function ofDelivery({ notes, finishes, told }: Delivery, at: number): NewOutcome[] {
  if (told === undefined) return []
  const { id, sender, attempt, transport, nexthop, tls } = told
  const beside = {
    ...taggedBy(told.tags),
    ...(transport === '' ? undefined : { transport }),
    ...(nexthop === '' ? undefined : { nexthop }),
  }
  let next = 0
  const outcomes: NewOutcome[] = notes.map(({ kind, status, text, ranges, ...note }) => {
    const recipientCount = countIn(ranges)
    const recipients = told.recipients.slice(next, next + recipientCount)
    next += recipientCount
    const isDelivered = kind === 'delivered'
    const remote = note.remote ?? (isDelivered ? told.remote : '')
    const session = isDelivered && tls !== '' ? { tls } : undefined
    const fields = { kind, at, id, sender, recipients, recipientCount, status, text, remote, attempt }
    return { ...fields, ...beside, ...session }
  })
  if (finishes) outcomes.push({ ...nothing, kind: 'finished', at, id, sender, ...taggedBy(told.tags) })
  return outcomes
}

function ofFinish({ told }: Finish, at: number): NewOutcome[] {
  if (told === undefined) return []
  const { id, sender, why, recipientCount } = told
  const tags = taggedBy(told.tags)
  const finished: NewOutcome = { ...nothing, kind: 'finished', at, id, sender, ...tags }
  return why === undefined || recipientCount === 0
    ? [finished]
    : [{ ...nothing, kind: why, at, id, sender, recipientCount, ...tags }, finished]
}
