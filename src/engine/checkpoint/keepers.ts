/** Active messages for which alone much of the disk is kept.
 * Invariant: what waits for an attempt keeps, for longer than a few checkpoints, at most `keptPart`
 * times as many bytes of a log as it has, or `suffixBytesMax`, or a segment.
 * Why:
 *   1. a site takes a message a minute, and a thousand wait for it
 *   2. other mail comes and goes; each segment has one of the thousand
 *   3. none is garbage: the disk is full */
import type { ActiveMessage } from '../../active/active-message.js'
import { waitsWhole } from '../deliver/job.js'
import type { Parts } from '../life/parts.js'
import { bytesPassed } from './pinning.js'

/** A message is written once more when so many times its bytes have passed it. */
const keptPart = 4

/** Those of one lane. */
interface Keepers {
  readonly messages: ActiveMessage[]
  /** Theirs, and what has passed the one that is passed by most. */
  bytes: number
  passedBytes: number
}

/** Those that are to move on, so that segments are released: of a segment's size together.
 * @param mayMove nothing else is to become of it */
export function keepersOf(parts: Parts, mayMove: (message: ActiveMessage) => boolean): ActiveMessage[] {
  const { active, journal } = parts
  const byLane = new Map<number, Keepers>()
  for (const message of active.messages()) {
    const { lane } = message.place
    const passedBytes = bytesPassed(parts, message)
    if (!isMuch(parts, lane, passedBytes) || !isUntouched(message) || !mayMove(message)) continue
    const keepers = byLane.get(lane) ?? { messages: [], bytes: 0, passedBytes: 0 }
    byLane.set(lane, keepers)
    keepers.messages.push(message)
    keepers.bytes += bytesOf(parts, message)
    keepers.passedBytes = Math.max(keepers.passedBytes, passedBytes)
  }
  const found: ActiveMessage[] = []
  let leftBytes = journal.grid.segmentBytes
  for (const { messages, bytes, passedBytes } of byLane.values()) {
    if (passedBytes < keptPart * bytes) continue
    // The oldest first: they hold the first segments.
    for (const message of messages.sort((a, b) => a.place.position - b.place.position)) {
      leftBytes -= bytesOf(parts, message)
      if (leftBytes < 0) return found
      found.push(message)
    }
  }
  return found
}

/** Of less than a segment no file is released. */
const isMuch = ({ options, lanes, journal }: Parts, lane: number, bytes: number): boolean =>
  bytes >= options.suffixBytesMax &&
  bytes >= (lanes.get(lane).logs?.envelopes.files.grid ?? journal.grid).segmentBytes

/** It only waits: in a lane, or attempted at once, another would be made of it than it is. */
const isUntouched = (message: ActiveMessage): boolean =>
  waitsWhole(message) &&
  message.deferredCount === 0 &&
  message.recoveries === 0 &&
  message.replacement === undefined &&
  message.turns === undefined &&
  message.askedFor === undefined

const bytesOf = ({ options }: Parts, { place, envelope }: ActiveMessage): number =>
  place.bytes + Math.min(envelope.dataBytes, options.inlineBytesMax)
