/** An outcome in the log of outcomes, as consumers get it. */
import type { MessageId } from '../base/message-id.js'
import { WaybillError } from '../errors.js'
import { encodeFields, FieldReader } from './msgpack.js'

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
  /** `delivered`, `deferred` and `failed`: by an attempt. `expired` and `deleted`: recipients were
   * given up. `finished`: the message is done. `reported`: a report to the sender was made, which
   * is another message with outcomes. */
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
  /** The reply, or why. */
  readonly text: string
  /** The server whose reply the text ends with; '' where there is none. */
  readonly remote: string
  /** 1 for the first attempt; 0 where there was none. */
  readonly attempt: number
  /** Of `accepted`: the Message-ID of its header, `<…>`; absent where there is none. */
  readonly messageId?: string
  /** Of its submission; absent where there were none, and of `reported`. */
  readonly tags?: readonly string[]
  /** Who was asked for the attempt, and for what destination. Absent without an attempt. */
  readonly transport?: string
  readonly nexthop?: string
  /** Of `delivered` over an encrypted session: version and cipher, and `verified` where the
   * certificate was that of the wanted server: `TLSv1.3 TLS_AES_256_GCM_SHA384 verified`. */
  readonly tls?: string
  /** Of `reported`: the report. */
  readonly report?: MessageId
}

export function encodeOutcome(outcome: Omit<QueueOutcome, 'at'>): Buffer {
  const { number, kind, id, sender, recipients, recipientCount, status, text, remote, attempt } = outcome
  const { report = '', tags = [], transport = '', nexthop = '', tls = '', messageId = '' } = outcome
  const fields = [
    number,
    outcomeKinds.indexOf(kind),
    id,
    sender,
    recipients,
    recipientCount,
    status,
    text,
    remote,
    attempt,
  ]
  if (tags.length > 0 || transport !== '' || nexthop !== '' || tls !== '' || messageId !== '')
    return encodeFields([...fields, report, tags, transport, nexthop, tls, messageId])
  return encodeFields(report === '' ? fields : [...fields, report])
}

/** @param at the frame's time
 * @throws WaybillError LOG_CORRUPT */
export function decodeOutcome(payload: Buffer, at: number): QueueOutcome {
  const fields = new FieldReader(payload, 'outcome', 10)
  const number = fields.count()
  const kind = outcomeKinds[fields.count()]
  if (kind === undefined) throw new WaybillError('LOG_CORRUPT', 'an outcome has an unknown kind')
  const outcome = {
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
  const withReport = report === '' ? outcome : { ...outcome, report }
  return fields.isAtEnd ? withReport : { ...withReport, ...readBeside(fields) }
}

type Beside = Pick<QueueOutcome, 'tags' | 'transport' | 'nexthop' | 'tls' | 'messageId'>

function readBeside(fields: FieldReader): Beside {
  const [tags, transport, nexthop, tls] = [fields.texts(), fields.text(), fields.text(), fields.text()]
  const messageId = fields.isAtEnd ? '' : fields.text()
  return {
    ...(tags.length > 0 ? { tags } : undefined),
    ...(transport === '' ? undefined : { transport }),
    ...(nexthop === '' ? undefined : { nexthop }),
    ...(tls === '' ? undefined : { tls }),
    ...(messageId === '' ? undefined : { messageId }),
  }
}
