/** The segments that an active message pins: those of its envelope and of its data. */
import { nowhere, type Position } from '../../base/position.js'
import type { ActiveMessage, EnvelopePlace } from '../../active/active-message.js'
import type { SegmentPins } from '../../garbage/pins.js'
import { journalLog } from '../../log/journal-writer.js'
import { dataLog, envelopesLog } from '../../directory/log-files.js'
import type { Parts } from '../life/parts.js'

type Pinned = Pick<Parts, 'journal' | 'lanes' | 'garbage'>

/** Keeps the message's segments from being recycled, until `unpinSegments`. */
export function pinSegments(parts: Pinned, message: ActiveMessage): void {
  eachSegment(parts, message, pin)
}

/** Releases the message's segments, from the next capture on. */
export function unpinSegments(parts: Pinned, message: ActiveMessage): void {
  eachSegment(parts, message, release)
}

/** Pins what a reader of an active message needs, and keeps the message where it is.
 * @returns gives that up */
export function pinForReading(parts: Pinned, message: ActiveMessage): () => void {
  message.readerCount++
  pinSegments(parts, message)
  return () => {
    message.readerCount--
    unpinSegments(parts, message)
  }
}

const pin = (pins: SegmentPins, index: number): void => pins.pin(index)
const release = (pins: SegmentPins, index: number): void => pins.release(index)

/** How far the runner has passed the message in its lane, bytes of envelopes or of data, the larger
 * of both: that much may be kept for this message alone. */
export function bytesPassed({ lanes }: Pinned, { place, envelope }: ActiveMessage): number {
  const { runner, dataFloor } = lanes.get(place.lane)
  const data = dataPosition(envelope.data)
  return Math.max(runner.position - place.position, data === nowhere ? 0 : dataFloor - data)
}

/** Keeps the segment of an unreadable envelope, and all data of its lane: the place of the
 * message's data is not known. */
export function pinDamaged({ journal, lanes, garbage }: Pinned, { lane, position: at }: EnvelopePlace): void {
  const { logs } = lanes.get(lane)
  const log = logs === undefined ? journalLog : envelopesLog(lane)
  const { grid } = logs?.envelopes.files ?? journal
  garbage.of(log).pin(grid.indexOf(at))
  lanes.get(lane).isDataHeld = true
}

/** It can be read after all, and is no longer among the damaged. */
export function unpinDamaged(
  { journal, lanes, garbage, active }: Pinned & Pick<Parts, 'active'>,
  { lane, position: at }: EnvelopePlace,
): void {
  const { logs } = lanes.get(lane)
  const { grid } = logs?.envelopes.files ?? journal
  garbage.of(logs === undefined ? journalLog : envelopesLog(lane)).release(grid.indexOf(at))
  lanes.get(lane).isDataHeld = [...active.damaged()].some(([, { place }]) => place.lane === lane)
}

/** Visits the segments that hold its envelope and its data. */
export function eachSegment(
  { journal, lanes, garbage }: Pinned,
  { place, envelope }: ActiveMessage,
  visit: (pins: SegmentPins, index: number) => void,
): void {
  const { logs } = lanes.get(place.lane)
  if (logs === undefined) {
    visit(garbage.of(journalLog), journal.grid.indexOf(place.position))
    return
  }
  visit(garbage.of(envelopesLog(place.lane)), logs.envelopes.files.grid.indexOf(place.position))
  const data = dataPosition(envelope.data)
  if (data !== nowhere) visit(garbage.of(dataLog(place.lane)), logs.data.files.grid.indexOf(data))
}

/** Where in the lane's log of data it stands, or `nowhere`. */
export const dataPosition = (data: ActiveMessage['envelope']['data'] | undefined): Position =>
  data?.kind === 'lane' ? data.position : nowhere
