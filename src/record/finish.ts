/** A message is done. The report to its sender stands in the same group. */
import { position, type Position } from '../base/position.js'
import { FieldReader } from './msgpack.js'
import { payload } from './payload-writer.js'
import { endFieldsOf, writeEndFields, type EndFields } from './consumer-fields.js'

export interface Finish {
  readonly start: Position
  /** Recipients in the report of the same group, as ranges. */
  readonly reported: readonly number[]
  /** Its spool file, to be unlinked when this record is durable; 0 when it has none. */
  readonly spool: number
  /** Absent: outcomes have no consumer. */
  readonly told?: EndFields | undefined
}

export function encodeFinish(finish: Finish): Buffer {
  writeFinish(finish)
  return payload.end()
}

/** Into the payload that is being written. */
export function writeFinish({ start, reported, spool, told }: Finish): void {
  payload
    .list(told === undefined ? 3 : 4)
    .count(start)
    .counts(reported)
    .count(spool)
  if (told !== undefined) writeEndFields(told)
}

/** @throws WaybillError LOG_CORRUPT */
export function decodeFinish(encoded: Buffer): Finish {
  const fields = new FieldReader(encoded, 'finish', 3)
  const finish = { start: position(fields.count()), reported: fields.counts(), spool: fields.count() }
  return fields.isAtEnd ? finish : { ...finish, told: endFieldsOf(fields.list()) }
}
