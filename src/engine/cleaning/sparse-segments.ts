/** Segments that are kept for a few active messages, and hold little else that is needed. */
import type { ActiveMessage, EnvelopePlace } from '../../active/active-message.js'
import type { Position } from '../../base/position.js'
import type { SegmentPins } from '../../garbage/pins.js'
import { incomingLane } from '../../lane/lane.js'
import { journalLog } from '../../log/journal-writer.js'
import type { SegmentGrid } from '../../log/segment.js'
import { bytesBeside } from '../../record/envelope.js'
import { frameBytes } from '../../record/frame.js'
import type { Parts } from '../life/parts.js'
import type { Captured } from '../checkpoint/capture.js'
import { carryingNow, encodeCarrying } from '../checkpoint/carry.js'
import { eachSegment } from '../checkpoint/pinning.js'
import { laneFloors } from '../checkpoint/reclaim.js'
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
      const writtenBytes = messages.reduce(
        (sum, message) => sum + relocatedStartBytes(message, message.place.bytes),
        bytes,
      )
      if (writtenBytes > writtenPart * segmentBytes) continue
      leftBytes -= writtenBytes
      if (leftBytes < 0) return found
      for (const message of messages) found.add(message)
    }
  return found
}

/** The start that names its new place. */
export const relocatedStart = (message: ActiveMessage, place: EnvelopePlace): Buffer =>
  encodeCarrying({ ...carryingNow(message), place })

/** The most bytes of that start, in a frame. @param envelopeBytes of the new envelope */
export const relocatedStartBytes = (message: ActiveMessage, envelopeBytes: number): number =>
  frameBytes(relocatedStart(message, newPlace(farthest, envelopeBytes)).length)

/** A place in the journal, out of the order of its lane. */
export const newPlace = (at: Position, bytes: number): EnvelopePlace => ({
  lane: incomingLane,
  position: at,
  bytes,
  outOfOrder: true,
})

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
  const { journal, garbage, options } = parts
  const held = new Map<SegmentPins, Map<number, HeldSegment>>()
  const look = (log: number, grid: SegmentGrid, floor: number): void => {
    const pins = garbage.of(log)
    const segmentBytes = Math.min(grid.segmentBytes, journal.grid.segmentBytes)
    const segments = new Map<number, HeldSegment>()
    for (const [index, heldCount] of pins.heldBelow(floor - options.suffixBytesMax / grid.segmentBytes))
      segments.set(index, { heldCount, segmentBytes, messages: [], bytes: 0 })
    if (segments.size > 0) held.set(pins, segments)
  }
  look(journalLog, journal.grid, journal.grid.indexOf(journalFloor))
  for (const { log, number, floor } of laneFloors(parts, checkpoint)) look(number, log.files.grid, floor)
  return held
}
