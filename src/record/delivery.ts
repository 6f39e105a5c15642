/** Outcomes of one attempt for some recipients: a delta to the start that it names. The small
 * record that is written most. */
import { position, type Position } from '../base/position.js'
import { FieldReader } from './msgpack.js'
import { notesFromFields, writeNotes, type OutcomeNote } from './outcome-note.js'
import { payload } from './payload-writer.js'
import { attemptFieldsOf, writeAttemptFields, type AttemptFields } from './consumer-fields.js'

export interface Delivery {
  readonly start: Position
  /** Empty: an attempt has begun. Written only for messages that a recovery has found before. */
  readonly notes: readonly OutcomeNote[]
  /** This record is the finish, too: one without a report and without a spool file. Most
   * messages end so. */
  readonly finishes: boolean
  /** Absent: outcomes have no consumer. */
  readonly told?: AttemptFields | undefined
}

export function encodeDelivery(delivery: Delivery): Buffer {
  writeDelivery(delivery)
  return payload.end()
}

/** Into the payload that is being written. */
export function writeDelivery({ start, notes, finishes, told }: Delivery): void {
  payload.list(told === undefined ? 3 : 4).count(start)
  writeNotes(notes)
  payload.count(finishes ? 1 : 0)
  if (told !== undefined) writeAttemptFields(told)
}

/** @throws WaybillError LOG_CORRUPT */
export function decodeDelivery(encoded: Buffer): Delivery {
  const fields = new FieldReader(encoded, 'delivery', 2)
  return {
    start: position(fields.count()),
    notes: notesFromFields(fields.list()),
    finishes: !fields.isAtEnd && fields.count() === 1,
    told: fields.isAtEnd ? undefined : attemptFieldsOf(fields.list()),
  }
}
