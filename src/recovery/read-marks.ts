/** Reads a lane's chain of `marks` records, from the checkpoint back to the runner's position. */
import { nowhere, type Position } from '../base/position.js'
import type { SegmentFiles } from '../log/segment-files.js'
import { decodeMarks } from '../record/marks.js'

/** Marked envelopes that the runner has not passed.
 * @param log the log that holds the lane's envelopes
 * @throws WaybillError LOG_CORRUPT */
export async function readMarks(log: SegmentFiles, last: Position, runner: Position): Promise<Position[]> {
  const marked: Position[] = []
  // A record names envelopes that stand before it.
  for (let at = last; at !== nowhere && at >= runner;) {
    const frame = await log.frame(at)
    if (frame.kind !== 'marks') throw log.corrupt(at, `a ${frame.kind} record stands where marks should`)
    const { previous, envelopes } = decodeMarks(frame.payload)
    for (const envelope of envelopes) if (envelope >= runner) marked.push(envelope)
    at = previous
  }
  return marked
}
