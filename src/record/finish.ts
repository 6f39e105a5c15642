/** Nothing is left to do for a message. What the sender is told stands in the same group. */
import { position, type Position } from '../base/position.js'
import { encodeFields, FieldReader } from './msgpack.js'

export interface Finish {
  readonly start: Position
  /** Recipients whom the report in the same group names, as ranges. */
  readonly reported: readonly number[]
  /** Its spool file, to be unlinked when this record is durable; 0 when it has none. */
  readonly spool: number
}

export const encodeFinish = (finish: Finish): Buffer =>
  encodeFields([finish.start, finish.reported, finish.spool])

/** @throws WaybillError LOG_CORRUPT */
export function decodeFinish(payload: Buffer): Finish {
  const fields = new FieldReader(payload, 'finish', 3)
  return { start: position(fields.count()), reported: fields.counts(), spool: fields.count() }
}
