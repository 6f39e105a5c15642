/** Nothing is left to do for a message. What the sender is told stands in the same group. */
import { position, type Position } from '../base/position.js'
import { FieldReader } from './msgpack.js'
import { payload } from './payload-writer.js'

export interface Finish {
  readonly start: Position
  /** Recipients whom the report in the same group names, as ranges. */
  readonly reported: readonly number[]
  /** Its spool file, to be unlinked when this record is durable; 0 when it has none. */
  readonly spool: number
}

export function encodeFinish(finish: Finish): Buffer {
  writeFinish(finish)
  return payload.end()
}

/** Into the payload that is being written. */
export function writeFinish({ start, reported, spool }: Finish): void {
  payload.list(3).count(start).counts(reported).count(spool)
}

/** @throws WaybillError LOG_CORRUPT */
export function decodeFinish(encoded: Buffer): Finish {
  const fields = new FieldReader(encoded, 'finish', 3)
  return { start: position(fields.count()), reported: fields.counts(), spool: fields.count() }
}
