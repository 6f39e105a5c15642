/** Captures the content of a checkpoint in one step without a wait: everything in it is true of one
 * moment.
 * Invariant: marks that are in no record yet are appended in the same step, so that the lane's
 * captured end covers them. */
import { nowhere, position, type Position } from '../../base/position.js'
import type { CapturedPins } from '../../garbage/pins.js'
import type { Lane } from '../../lane/lane.js'
import type { LaneLog } from '../../log/lane-log.js'
import type { Checkpoint, LanePositions } from '../../record/checkpoint.js'
import { frameBytes, kinds } from '../../record/frame.js'
import { encodeMarks, marksPerRecordMax } from '../../record/marks.js'
import { dataLog, envelopesLog } from '../../directory/log-files.js'
import { dataPosition } from './pinning.js'
import type { Parts } from '../life/parts.js'

export interface Captured {
  readonly checkpoint: Checkpoint
  readonly pins: CapturedPins
  /** No reader needs the journal before this. */
  readonly journalFloor: Position
  /** Lanes that the checkpoint names no more. */
  readonly retired: readonly Lane[]
  /** Groups of the journal at this moment. */
  readonly groupCount: number
}

/** Bytes of a `marks` record, at the most, without those of its marks; and of one mark. */
const marksRecordBytes = 32
const markBytes = 9

/** The most marks of one record, of which four fit a segment; also the most that may be fresh: at
 * this number the next mark waits for a checkpoint. A recovery may come back with many more: all
 * that were marked in the suffix, when records cannot be read. */
const freshMarksMax = (segmentBytes: number): number =>
  Math.min(marksPerRecordMax, Math.floor(segmentBytes / 4 / markBytes))

const segmentBytesOf = ({ journal }: Pick<Parts, 'journal'>, { logs }: Lane): number =>
  (logs?.envelopes.files.grid ?? journal.grid).segmentBytes

/** Is a checkpoint needed before more of the lane is marked? */
export const hasManyMarks = (parts: Pick<Parts, 'journal'>, lane: Lane): boolean =>
  lane.marks.freshCount >= freshMarksMax(segmentBytesOf(parts, lane))

/** Room in a lane that mail leaves to marks: on a full disk it is by deleting that an operator
 * makes some. A mark takes nine bytes, and each checkpoint pads to a block: this is 116 000 marks,
 * or 256 checkpoints while a verb is at work. */
export const markReserveBytes = (lane: Lane): number =>
  lane.logs === undefined ? 0 : Math.min(1_048_576, lane.logs.envelopes.files.grid.segmentBytes / 4)

/** Can one more envelope of the lane be marked? What is marked without room for its record would
 * keep every checkpoint from being taken, and on a full disk for ever. */
export const canMark = (parts: Pick<Parts, 'journal'>, lane: Lane): boolean =>
  lane.logs === undefined || lane.logs.envelopes.hasRoom(marksBytes(parts, lane, 1))

/** Bytes that a lane needs for its marks; 0 when there are none. @param moreCount marks to come */
export function marksBytes(parts: Pick<Parts, 'journal'>, lane: Lane, moreCount = 0): number {
  const recordMax = freshMarksMax(segmentBytesOf(parts, lane))
  let bytes = 0
  for (let left = lane.marks.freshCount + moreCount; left > 0; left -= recordMax)
    bytes += recordBytes(Math.min(left, recordMax))
  return bytes
}

const recordBytes = (count: number): number => frameBytes(marksRecordBytes + markBytes * count)

/** Bytes that the lanes in the journal need for their marks, together. */
export function marksBytesInJournal(parts: Pick<Parts, 'journal' | 'lanes'>): number {
  let bytes = 0
  for (const lane of parts.lanes) if (lane.logs === undefined) bytes += marksBytes(parts, lane)
  return bytes
}

/** Records what is more than one record holds of each lane's marks.
 * @returns whether there is room for the rest, of all lanes */
export function readyForCapture(parts: Pick<Parts, 'journal' | 'lanes' | 'options'>): boolean {
  const { journal, lanes } = parts
  for (const lane of lanes) if (!recordsSurplus(parts, lane)) return false
  const together = marksBytesInJournal(parts)
  return together === 0 || journal.room(together, 'checkpoint') === 'yes'
}

/** A record at a time: all of a lane's marks may be more than its log can have room for at once. */
function recordsSurplus(parts: Pick<Parts, 'journal' | 'options'>, lane: Lane): boolean {
  const { journal, options } = parts
  const { marks, runner, logs } = lane
  marks.passed(runner.position)
  const recordMax = freshMarksMax(segmentBytesOf(parts, lane))
  const hasRoom = (bytes: number): boolean =>
    logs?.envelopes.hasRoom(bytes) ?? journal.room(bytes, 'checkpoint') === 'yes'
  while (marks.freshCount > recordMax && hasRoom(recordBytes(recordMax)))
    appendMarks(parts, lane, options.clock.wallMs())
  if (marks.freshCount > recordMax) return false
  return marks.freshCount === 0 || hasRoom(recordBytes(marks.freshCount))
}

/** @param life the number of this life */
export function capture(parts: Parts, life: number): Captured {
  const { journal, lanes, active, garbage, spool, keys, outcomes, suspensions, options } = parts
  const timeMs = options.clock.wallMs()
  for (const lane of lanes) {
    lane.marks.passed(lane.runner.position)
    appendMarks(parts, lane, timeMs)
  }
  const captured = keys.capture(journal.end, timeMs)
  const told = outcomes.capture(journal.end, timeMs)
  const suffix = position(Math.min(active.earliestStart ?? journal.end, captured.from, told.from))
  const retired: Lane[] = []
  const named: LanePositions[] = []
  let journalFloor: Position = suffix
  for (const lane of lanes) {
    if (lane.logs === undefined) lane.runner.caughtUp(journal.end)
    if (isRetired(parts, lane, suffix)) {
      lane.isRetired = true
      retired.push(lane)
      continue
    }
    if (lane.logs === undefined) journalFloor = position(Math.min(journalFloor, lane.runner.position))
    named.push(positionsOf(lane, timeMs))
  }
  return {
    checkpoint: {
      life,
      suffix,
      lanes: named,
      laneNext: lanes.laneNext,
      spoolHighest: spool.highest,
      spoolPending: spool.pending,
      keys: captured.said,
      outcomes: told.said,
      suspensions: suspensions.capture(),
    },
    pins: garbage.capture(),
    journalFloor,
    retired,
    groupCount: journal.groupCount,
  }
}

/** Appends one record, for which there is room. */
function appendMarks({ journal }: Pick<Parts, 'journal'>, lane: Lane, timeMs: number): void {
  const { marks, logs, number } = lane
  const envelopes = marks.takeFresh(freshMarksMax(segmentBytesOf({ journal }, lane)))
  if (envelopes.length === 0) return
  const payload = encodeMarks({ previous: marks.lastRecord, envelopes })
  const log: Pick<LaneLog, 'append'> = logs?.envelopes ?? journal
  if (logs === undefined) journal.open(frameBytes(payload.length))
  else logs.envelopes.open(frameBytes(payload.length), timeMs)
  marks.lastRecord = log.append(kinds.marks, number, timeMs, payload)
}

/** Data stands in the order of the envelopes: what the first one that waits has is the first that
 * is needed. Many have none there. */
function firstDataOf({ runner, marks }: Lane): Position {
  const first = runner.find(
    ({ envelope, position: at }) => dataPosition(envelope.data) !== nowhere && !marks.has(at),
  )
  return dataPosition(first?.envelope.data)
}

function positionsOf(lane: Lane, timeMs: number): LanePositions {
  const { logs, runner, marks } = lane
  const { isAllStarted } = lane
  const next = logs === undefined ? nowhere : firstDataOf(lane)
  if (next > lane.dataFloor) lane.dataFloor = next
  const envelopesEnd = logs?.envelopes.pad(timeMs) ?? nowhere
  const dataEnd = logs?.data.pad(timeMs) ?? nowhere
  if (isAllStarted && logs !== undefined) runner.readTo(envelopesEnd)
  if (next === nowhere && !runner.isBehind && logs !== undefined) lane.dataFloor = dataEnd
  return {
    lane: lane.number,
    intervalMs: lane.kind === 'retry' ? lane.intervalMs : 0,
    inJournal: logs === undefined,
    runner: runner.position,
    envelopesEnd,
    dataEnd,
    dataFloor: lane.dataFloor,
    marks: marks.lastRecord,
  }
}

/** No policy names it, nothing is in it, nobody holds its segments, and recovery would read no
 * record that names it. */
function isRetired({ garbage, active }: Parts, lane: Lane, suffix: Position): boolean {
  return (
    !lane.wanted &&
    lane.userCount === 0 &&
    lane.logs?.envelopes.isExtending !== true &&
    lane.logs?.data.isExtending !== true &&
    !active.hasReplacementFor(lane.number) &&
    lane.isAllStarted &&
    suffix > lane.namedAt &&
    !garbage.of(envelopesLog(lane.number)).hasPins &&
    !garbage.of(dataLog(lane.number)).hasPins
  )
}
