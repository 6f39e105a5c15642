/** Checks that a message fits its logs, whatever happens to it later.
 * Invariant: every message passes here before it is appended for the first time, and when a requeue
 * gives it other recipients:
 *    1. a message is accepted whose envelope, with its outcomes, is longer than a segment of a lane
 *    2. its recipients are deferred, and no lane can take it
 *    3. this life ends, and so does each later one */
import { WaybillError } from '../../errors.js'
import { frameBytes, payloadBytesMax } from '../../record/frame.js'
import { notesBytesMost } from '../../record/outcome-note.js'
import type { Parts } from '../life/parts.js'
import { reportEnvelopeBytes, type MessageGroup } from '../message/message-group.js'

/** By which a message may grow, its notes apart, and what stands beside it: a route, the record
 * that starts it, a checkpoint of more lanes. */
const growthBytesMax = 4096

/** Every group that this message may ever need must fit a segment: its envelope in a lane with all
 * outcomes; the record that carries all of them; a report with the record that names its
 * recipients, or, in the journal, the message itself with all outcomes. The data of a report finds
 * another place.
 * @throws WaybillError MESSAGE_TOO_LARGE */
export function checkFits(
  { journal, lanes, options }: Pick<Parts, 'journal' | 'lanes' | 'options'>,
  { envelope, bytes, parts }: MessageGroup,
): void {
  const notesBytes = notesBytesMost(envelope.recipientCount)
  const dataFrameBytes = envelope.data.kind === 'before' ? frameBytes(parts[0]!.payload.length) : 0
  const reportBytes = frameBytes(options.inlineBytesMax) + reportEnvelopeBytes
  const besideBytes = reportEnvelopeBytes + growthBytesMax
  journal.checkFits(notesBytes + Math.max(bytes + besideBytes, reportBytes))
  lanes.checkFits(bytes - dataFrameBytes + notesBytes)
  if (notesBytes + reportEnvelopeBytes > payloadBytesMax)
    throw new WaybillError('MESSAGE_TOO_LARGE', `${envelope.recipientCount} recipients do not fit a record`)
}
