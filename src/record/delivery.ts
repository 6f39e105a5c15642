/** Outcomes of one attempt for some recipients: a delta to the start that it names. The small record that is written most. */
import { position, type Position } from '../base/position.js'
import { encodeFields, FieldReader } from './msgpack.js'
import { notesFromFields, notesToFields, type OutcomeNote } from './outcome-note.js'

export interface Delivery {
  readonly start: Position
  /** Empty: an attempt has begun. Written only for messages that a recovery has found before. */
  readonly notes: readonly OutcomeNote[]
}

export const encodeDelivery = (delivery: Delivery): Buffer =>
  encodeFields([delivery.start, notesToFields(delivery.notes)])

/** @throws WaybillError LOG_CORRUPT */
export function decodeDelivery(payload: Buffer): Delivery {
  const fields = new FieldReader(payload, 'delivery', 2)
  return { start: position(fields.count()), notes: notesFromFields(fields.list()) }
}
