/** Envelopes of a lane that were started out of order, so that its runner skips them. Each record
 * names the one before. Recovery follows this chain back to the runner's position. */
import { position, type Position } from '../base/position.js'
import { encodeFields, FieldReader } from './msgpack.js'

export interface Marks {
  /** The lane's `marks` record before this one, `nowhere` at the end of the chain. */
  readonly previous: Position
  /** At most `marksPerRecordMax`. */
  readonly envelopes: readonly Position[]
}

export const marksPerRecordMax = 100_000

export const encodeMarks = (marks: Marks): Buffer => encodeFields([marks.previous, marks.envelopes])

/** @throws WaybillError LOG_CORRUPT */
export function decodeMarks(payload: Buffer): Marks {
  const fields = new FieldReader(payload, 'marks', 2)
  return { previous: position(fields.count()), envelopes: fields.counts().map(position) }
}
