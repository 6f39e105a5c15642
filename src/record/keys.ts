/** Idempotency keys of accepted messages, in the log of keys: several in a record. */
import type { MessageId } from '../base/message-id.js'
import { WaybillError } from '../errors.js'
import { encodeFields, FieldReader } from './msgpack.js'

export interface AcceptedKey {
  /** 1 … `keyBytesMax` bytes. */
  readonly key: string
  readonly id: MessageId
  /** Milliseconds since 1970. */
  readonly acceptedAt: number
}

export const keyBytesMax = 200

/** Of one record, so that it fits the smallest segment of a lane. */
export const keysPerRecordMax = 64

export const encodeKeys = (keys: readonly AcceptedKey[]): Buffer =>
  encodeFields([keys.map(({ key, id, acceptedAt }) => [key, id, acceptedAt])])

/** @throws WaybillError LOG_CORRUPT */
export const decodeKeys = (payload: Buffer): AcceptedKey[] =>
  new FieldReader(payload, 'keys', 1).list().map((list) => {
    if (!Array.isArray(list)) throw new WaybillError('LOG_CORRUPT', 'a key of a keys record is not a list')
    const fields = new FieldReader(list as unknown[], 'key', 3)
    return { key: fields.text(), id: fields.text() as MessageId, acceptedAt: fields.count() }
  })
