/** Fields for consumers of outcomes, so that an outcome can be read from its record alone.
 * Recovery does not need them; they are written only while there are consumers. */
import type { MessageId } from '../base/message-id.js'
import { WaybillError } from '../errors.js'
import { FieldReader } from './msgpack.js'
import { payload } from './payload-writer.js'

/** Of a delivery. */
export interface ToldAttempt {
  readonly id: MessageId
  readonly sender: string
  /** 1 for the first. */
  readonly attempt: number
  /** Of the notes, in their order; empty when they are too many for the record. */
  readonly recipients: readonly string[]
}

/** Of a finish. */
export interface ToldEnd {
  readonly id: MessageId
  readonly sender: string
  /** Why recipients were given up; undefined: none were. */
  readonly why: 'expired' | 'deleted' | undefined
  /** Of those. */
  readonly recipientCount: number
}

const whys: readonly ToldEnd['why'][] = [undefined, 'expired', 'deleted']

export function writeToldAttempt({ id, sender, attempt, recipients }: ToldAttempt): void {
  payload.list(4).text(id).text(sender).count(attempt).texts(recipients)
}

export function writeToldEnd({ id, sender, why, recipientCount }: ToldEnd): void {
  payload.list(4).text(id).text(sender).count(whys.indexOf(why)).count(recipientCount)
}

/** @throws WaybillError LOG_CORRUPT */
export function toldAttemptOf(list: readonly unknown[]): ToldAttempt | undefined {
  if (list.length === 0) return undefined
  const fields = new FieldReader(list, 'told attempt', 4)
  return {
    id: fields.text() as MessageId,
    sender: fields.text(),
    attempt: fields.count(),
    recipients: fields.texts(),
  }
}

/** @throws WaybillError LOG_CORRUPT */
export function toldEndOf(list: readonly unknown[]): ToldEnd | undefined {
  if (list.length === 0) return undefined
  const fields = new FieldReader(list, 'told end', 4)
  const id = fields.text() as MessageId
  const sender = fields.text()
  const why = fields.count()
  if (why >= whys.length) throw new WaybillError('LOG_CORRUPT', 'a told end has an unknown reason')
  return { id, sender, why: whys[why], recipientCount: fields.count() }
}
