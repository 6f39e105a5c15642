/** The start of a message that ends while it waits in a lane.
 * Invariant: it stands in the group that ends the message:
 *    1. start of a held message durable
 *    2. power loss takes its finish
 *    3. recovery delivers what was on hold */
import type { ActiveMessage } from '../../active/active-message.js'
import { nowhere, position, type Position } from '../../base/position.js'
import { bytesBeside } from '../../record/envelope.js'
import { frameBytes, kinds } from '../../record/frame.js'
import { encodeStart } from '../../record/start.js'
import { pinSegments } from '../checkpoint/pinning.js'
import type { Parts } from '../life/parts.js'

/** The largest position: a record does not grow when the place that it names is known. */
export const farthest: Position = position(Number.MAX_SAFE_INTEGER)

export const startOrFarthest = ({ start }: ActiveMessage): Position => (start === nowhere ? farthest : start)

/** Bytes of the start that a message still needs. */
export const startBytes = (message: ActiveMessage): number =>
  message.start === nowhere ? frameBytes(startOf(message).length) : 0

const startOf = ({ place }: ActiveMessage): Buffer =>
  encodeStart({
    envelope: place.position,
    envelopeBytes: place.bytes,
    outOfOrder: true,
    carried: undefined,
  })

/** Starts the message out of order, in the group that was opened. */
export function appendLateStart(parts: Parts, message: ActiveMessage, timeMs: number): void {
  const { journal, lanes, active } = parts
  const { place, envelope } = message
  const lane = lanes.get(place.lane)
  message.start = journal.append(kinds.start, place.lane, timeMs, startOf(message))
  lane.marks.add(place.position)
  lane.markedBytesMax = Math.max(lane.markedBytesMax, place.bytes + bytesBeside(envelope))
  lane.namedAt = message.start
  active.add(message)
  pinSegments(parts, message)
}
