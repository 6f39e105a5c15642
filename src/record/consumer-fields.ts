/** Fields for consumers of outcomes, so that an outcome can be read from its record alone.
 * Recovery does not need them; they are written only while there are consumers. */
import type { MessageId } from '../base/message-id.js'
import { WaybillError } from '../errors.js'
import { FieldReader } from './msgpack.js'
import { payload } from './payload-writer.js'

/** Of a delivery. */
export interface AttemptFields {
  readonly id: MessageId
  readonly sender: string
  /** 1 for the first. */
  readonly attempt: number
  /** Of the notes, in their order; empty when they are too many for the record. */
  readonly recipients: readonly string[]
  readonly tags: readonly string[]
  /** Of the attempt; '' without one. */
  readonly transport: string
  readonly nexthop: string
  /** The server that took what is delivered; '' where nobody says. */
  readonly remote: string
  /** The session's TLS, as `tlsText` has it; '' where there was none. */
  readonly tls: string
}

/** Of a finish. */
export interface EndFields {
  readonly id: MessageId
  readonly sender: string
  /** Why recipients were given up; undefined: none were. */
  readonly why: 'expired' | 'deleted' | undefined
  /** Of those. */
  readonly recipientCount: number
  readonly tags: readonly string[]
}

const whys: readonly EndFields['why'][] = [undefined, 'expired', 'deleted']

export function writeAttemptFields(told: AttemptFields): void {
  const { id, sender, attempt, recipients, tags, transport, nexthop, remote, tls } = told
  payload.list(9).text(id).text(sender).count(attempt).texts(recipients)
  payload.texts(tags).text(transport).text(nexthop).text(remote).text(tls)
}

export function writeEndFields({ id, sender, why, recipientCount, tags }: EndFields): void {
  payload
    .list(tags.length > 0 ? 5 : 4)
    .text(id)
    .text(sender)
    .count(whys.indexOf(why))
    .count(recipientCount)
  if (tags.length > 0) payload.texts(tags)
}

/** @throws WaybillError LOG_CORRUPT */
export function attemptFieldsOf(list: readonly unknown[]): AttemptFields | undefined {
  if (list.length === 0) return undefined
  const fields = new FieldReader(list, 'delivery', 4)
  return {
    id: fields.text() as MessageId,
    sender: fields.text(),
    attempt: fields.count(),
    recipients: fields.texts(),
    tags: fields.isAtEnd ? [] : fields.texts(),
    transport: fields.isAtEnd ? '' : fields.text(),
    nexthop: fields.isAtEnd ? '' : fields.text(),
    remote: fields.isAtEnd ? '' : fields.text(),
    tls: fields.isAtEnd ? '' : fields.text(),
  }
}

/** @throws WaybillError LOG_CORRUPT */
export function endFieldsOf(list: readonly unknown[]): EndFields | undefined {
  if (list.length === 0) return undefined
  const fields = new FieldReader(list, 'finish', 4)
  const id = fields.text() as MessageId
  const sender = fields.text()
  const why = fields.count()
  if (why >= whys.length) throw new WaybillError('LOG_CORRUPT', 'a finish record has an unknown reason')
  const recipientCount = fields.count()
  return { id, sender, why: whys[why], recipientCount, tags: fields.isAtEnd ? [] : fields.texts() }
}
