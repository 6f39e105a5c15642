/** A message became active.
 * Later records name a message by its newest start until it is finished or replaced. A start that
 * replaces an earlier one carries everything known by then, so nothing before it need be read. */
import { position, type Position } from '../base/position.js'
import { FieldReader } from './msgpack.js'
import { notesFromFields, writeNotes, type OutcomeNote } from './outcome-note.js'
import { payload } from './payload-writer.js'

export interface Carried {
  /** The start that this one replaces. */
  readonly start: Position
  readonly notes: readonly OutcomeNote[]
  /** Recipients that were reported to the sender, as ranges. */
  readonly reported: readonly number[]
  /** Delay warnings that the sender had. */
  readonly warnings: number
  /** Recoveries in a row that found this message without any progress. */
  readonly recoveries: number
  /** A replacement that was appended and is not trusted: it is made again, for this lane and
   * with this time. */
  readonly replacement: { readonly lane: number; readonly timeMs: number } | undefined
}

export interface Start {
  /** Position and length of the envelope, in bytes: a runner's position may pass it. */
  readonly envelope: Position
  readonly envelopeBytes: number
  /** Started from the middle of its lane: the envelope is marked, and the runner's position
   * stays. */
  readonly outOfOrder: boolean
  readonly carried: Carried | undefined
}

export function encodeStart(start: Start): Buffer {
  writeStart(start)
  return payload.end()
}

/** Into the payload that is being written. */
export function writeStart(start: Start): void {
  payload.list(4).count(start.envelope).count(start.envelopeBytes)
  payload.count(start.outOfOrder ? 1 : 0)
  writeCarried(start.carried)
}

function writeCarried(carried: Carried | undefined): void {
  if (carried === undefined) {
    payload.list(0)
    return
  }
  const { replacement } = carried
  payload.list(6).count(carried.start)
  writeNotes(carried.notes)
  payload.counts(carried.reported).count(carried.warnings).count(carried.recoveries)
  payload.counts(replacement === undefined ? [] : [replacement.lane, replacement.timeMs])
}

/** @throws WaybillError LOG_CORRUPT */
export function decodeStart(encoded: Buffer): Start {
  const fields = new FieldReader(encoded, 'start', 4)
  return {
    envelope: position(fields.count()),
    envelopeBytes: fields.count(),
    outOfOrder: fields.count() === 1,
    carried: decodeCarried(fields.list()),
  }
}

function decodeCarried(list: readonly unknown[]): Carried | undefined {
  if (list.length === 0) return undefined
  const fields = new FieldReader(list, 'carried start', 6)
  const start = position(fields.count())
  const notes = notesFromFields(fields.list())
  const reported = fields.counts()
  const warnings = fields.count()
  const recoveries = fields.count()
  const [lane, timeMs] = fields.counts()
  const replacement = lane === undefined || timeMs === undefined ? undefined : { lane, timeMs }
  return { start, notes, reported, warnings, recoveries, replacement }
}
