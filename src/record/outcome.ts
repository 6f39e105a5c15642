/** An outcome in the log of outcomes, as consumers get it. */
import type { MessageId } from '../base/message-id.js'
import { WaybillError } from '../errors.js'
import { FieldReader } from './msgpack.js'
import { payload } from './payload-writer.js'

/** In the order of their numbers in a record. */
export const outcomeKinds = [
  'accepted',
  'delivered',
  'deferred',
  'failed',
  'expired',
  'deleted',
  'finished',
  'reported',
] as const

export type QueueOutcomeKind = (typeof outcomeKinds)[number]

/** One event of a message. */
export interface QueueOutcome {
  /** Ascending by 1 in a queue's life, from 1 on. */
  readonly number: number
  /** `accepted`: the message is durable. `delivered`, `deferred` and `failed`: the outcome of an
   * attempt. `expired` and `deleted`: recipients were given up. `finished`: the message is done.
   * `reported`: a report to the sender was made; it is a message with outcomes, too. */
  readonly kind: QueueOutcomeKind
  /** Milliseconds since 1970. */
  readonly at: number
  readonly id: MessageId
  readonly sender: string
  /** Addresses; empty where only their number is known: of `expired`, `deleted`, and of a message
   * with more than 1000. */
  readonly recipients: readonly string[]
  readonly recipientCount: number
  /** RFC 3463; '' where there is none. */
  readonly status: string
  /** The server's reply, or the reason. */
  readonly text: string
  /** The server whose reply the text ends with; '' where there is none. */
  readonly remote: string
  /** 1 for the first attempt; 0 where there was none. */
  readonly attempt: number
  /** With `accepted`: the Message-ID of the header, `<…>`; absent where there is none. */
  readonly messageId?: string
  /** Tags of the submission; absent where there were none, and with `reported`. */
  readonly tags?: readonly string[]
  /** The transport of the attempt, as `nexthop`; absent without an attempt. */
  readonly transport?: string
  readonly nexthop?: string
  /** Of `delivered` over an encrypted session: version and cipher, and `verified` where the
   * certificate was that of the wanted server: `TLSv1.3 TLS_AES_256_GCM_SHA384 verified`. */
  readonly tls?: string
  /** With `reported`: the id of the report. */
  readonly report?: MessageId
}

/** An outcome before it has a number. All have one shape, with '' where there is nothing: three of
 * them are made for each message. */
export interface NewOutcome {
  kind: QueueOutcomeKind
  at: number
  id: MessageId
  sender: string
  recipients: readonly string[]
  recipientCount: number
  status: string
  text: string
  remote: string
  attempt: number
  report: MessageId | ''
  tags: readonly string[]
  transport: string
  nexthop: string
  tls: string
  messageId: string
}

const fieldCountBare = 10
const fieldCountReported = 11
const fieldCountAll = 16

/** @param recipients may be fewer than it has */
export function encodeOutcome(outcome: NewOutcome, number: number, recipients: readonly string[]): Buffer {
  const { report, tags, transport, nexthop, tls, messageId } = outcome
  const hasBeside = tags.length > 0 || transport !== '' || nexthop !== '' || tls !== '' || messageId !== ''
  payload.list(hasBeside ? fieldCountAll : report === '' ? fieldCountBare : fieldCountReported)
  payload.count(number).count(outcomeKinds.indexOf(outcome.kind)).text(outcome.id).text(outcome.sender)
  payload.texts(recipients).count(outcome.recipientCount).text(outcome.status).text(outcome.text)
  payload.text(outcome.remote).count(outcome.attempt)
  if (hasBeside || report !== '') payload.text(report)
  if (hasBeside) payload.texts(tags).text(transport).text(nexthop).text(tls).text(messageId)
  return payload.end()
}

/** Its members as they are read, the ones that most outcomes have first. */
type ReadOutcome = { -readonly [Member in keyof QueueOutcome]: QueueOutcome[Member] }

/** @param at the frame's time
 * @throws WaybillError LOG_CORRUPT */
export function decodeOutcome(encoded: Buffer, at: number): QueueOutcome {
  const fields = new FieldReader(encoded, 'outcome', fieldCountBare)
  const number = fields.count()
  const kind = outcomeKinds[fields.count()]
  if (kind === undefined) throw new WaybillError('LOG_CORRUPT', 'an outcome has an unknown kind')
  const outcome: ReadOutcome = {
    number,
    kind,
    at,
    id: fields.text() as MessageId,
    sender: fields.text(),
    recipients: fields.texts(),
    recipientCount: fields.count(),
    status: fields.text(),
    text: fields.text(),
    remote: fields.text(),
    attempt: fields.count(),
  }
  if (fields.isAtEnd) return outcome
  const report = fields.text() as MessageId
  if (report !== '') outcome.report = report
  if (!fields.isAtEnd) readBeside(fields, outcome)
  return outcome
}

function readBeside(fields: FieldReader, outcome: ReadOutcome): void {
  const [tags, transport, nexthop, tls] = [fields.texts(), fields.text(), fields.text(), fields.text()]
  const messageId = fields.isAtEnd ? '' : fields.text()
  if (tags.length > 0) outcome.tags = tags
  if (transport !== '') outcome.transport = transport
  if (nexthop !== '') outcome.nexthop = nexthop
  if (tls !== '') outcome.tls = tls
  if (messageId !== '') outcome.messageId = messageId
}
