/** Segments that are kept for a few active messages, and hold little else that is needed. */
import type { ActiveMessage } from '../../active/active-message.js'
import { nowhere, type Position } from '../../base/position.js'
import { dataLog, envelopesLog } from '../../directory/log-files.js'
import type { SegmentPins } from '../../garbage/pins.js'
import { journalLog } from '../../log/journal-writer.js'
import type { SegmentGrid } from '../../log/segment.js'
import { bytesBeside } from '../../record/envelope.js'
import { frameBytes } from '../../record/frame.js'
import { encodeStart } from '../../record/start.js'
import type { Parts } from '../life/parts.js'
import type { Captured } from '../checkpoint/capture.js'
import { carryingNow } from '../checkpoint/carry.js'
import { eachSegment } from '../checkpoint/pinning.js'
import { farthest } from '../settle/late-start.js'

/** A segment is sparse when its messages are at most this part of it. */
const sparsePart = 1 / 4
/** What is written to release it, with all that the starts carry, is at most this part. */
const writtenPart = 1 / 2

/** One that only active messages hold. */
interface HeldSegment {
  /** Messages that hold it, as the pins count them. */
  readonly heldCount: number
  /** Of its log, or of the journal where those are smaller: what is written has to fit one. */
  readonly segmentBytes: number
  readonly messages: ActiveMessage[]
  /** Of those messages, without their starts. */
  bytes: number
}

type HeldSegments = ReadonlyMap<SegmentPins, ReadonlyMap<number, HeldSegment>>

/** The messages whose relocation releases whole segments, of a journal segment's size together.
 * @param captured the content of a durable checkpoint: what stands behind its positions is needed
 * @param isMovable may it be written anew now? */
export function messagesInSparseSegments(
  parts: Parts,
  captured: Captured,
  isMovable: (message: ActiveMessage) => boolean,
): ReadonlySet<ActiveMessage> {
  const found = new Set<ActiveMessage>()
  const held = heldSegments(parts, captured)
  if (held.size === 0) return found
  collectMessages(parts, held)
  let leftBytes = parts.journal.grid.segmentBytes
  for (const segments of held.values())
    for (const { heldCount, segmentBytes, messages, bytes } of segments.values()) {
      // A damaged message, or a reader of the segment, holds it as well.
      if (messages.length < heldCount || bytes > sparsePart * segmentBytes) continue
      if (!messages.every(isMovable)) continue
      const writtenBytes = messages.reduce((sum, message) => sum + startBytes(message), bytes)
      if (writtenBytes > writtenPart * segmentBytes) continue
      leftBytes -= writtenBytes
      if (leftBytes < 0) return found
      for (const message of messages) found.add(message)
    }
  return found
}

/** The start that names its new place. */
export const relocatedStart = (message: ActiveMessage, at: Position, envelopeBytes: number): Buffer =>
  encodeStart({
    envelope: at,
    envelopeBytes,
    outOfOrder: true,
    carried: carryingNow(message).carried,
  })

const startBytes = (message: ActiveMessage): number =>
  frameBytes(relocatedStart(message, farthest, message.place.bytes).length)

/** What writing it anew takes of the journal, without its start. */
export const relocatedBytes = ({ place, envelope }: ActiveMessage): number =>
  place.bytes + (envelope.data.kind === 'before' ? envelope.data.distanceBytes : bytesBeside(envelope))

function collectMessages(parts: Parts, held: HeldSegments): void {
  for (const message of parts.active.messages())
    eachSegment(parts, message, (pins, index) => {
      const segment = held.get(pins)?.get(index)
      if (segment === undefined) return
      segment.messages.push(message)
      segment.bytes += relocatedBytes(message)
    })
}

/** Pinned segments that `suffixBytesMax` of their log have passed: what is active for a moment
 * leaves them without this. */
function heldSegments(parts: Parts, { checkpoint, journalFloor }: Captured): HeldSegments {
  const { journal, lanes, garbage, options } = parts
  const held = new Map<SegmentPins, Map<number, HeldSegment>>()
  const look = (log: number, grid: SegmentGrid, floor: Position): void => {
    const pins = garbage.of(log)
    const segmentBytes = Math.min(grid.segmentBytes, journal.grid.segmentBytes)
    const segments = new Map<number, HeldSegment>()
    const below = grid.indexOf(floor) - options.suffixBytesMax / grid.segmentBytes
    for (const [index, heldCount] of pins.heldBelow(below))
      segments.set(index, { heldCount, segmentBytes, messages: [], bytes: 0 })
    if (segments.size > 0) held.set(pins, segments)
  }
  look(journalLog, journal.grid, journalFloor)
  for (const { lane: number, runner, dataFloor } of checkpoint.lanes) {
    if (!lanes.has(number)) continue
    const { logs, isDataHeld } = lanes.get(number)
    if (logs === undefined) continue
    look(envelopesLog(number), logs.envelopes.files.grid, runner)
    if (!isDataHeld && dataFloor !== nowhere) look(dataLog(number), logs.data.files.grid, dataFloor)
  }
  return held
}
