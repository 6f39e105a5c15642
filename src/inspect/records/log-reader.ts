/** Reads all trusted records of a log that are still on disk, oldest first, over damage.
 * A segment that a running relay removes meanwhile is left out, not reported as damage. */
import { nowhere, position, type Position } from '../../base/position.js'
import { isSideLog } from '../../directory/paths.js'
import type { PositionVisitor, SegmentFiles } from '../../log/segment-files.js'
import { classAt, kindAt, kindName, payloadAt, timeAt } from '../../record/frame.js'
import { damageAt, type Finding, type Report } from '../damage/finding.js'
import { Presence } from '../queue/stale-damage.js'
import { directoryOf, type LogName, type QueueDirectory } from '../queue/queue-directory.js'
import type { LoggedRecord } from './records.js'
import { indexesOf } from '../damage/segment-trouble.js'
import { floorOf, type Snapshot } from '../queue/snapshot.js'
import { readSurviving } from '../damage/surviving-frames.js'

const batchCountMax = 512
const batchBytesMax = 4 * 1024 * 1024

export interface LogRange {
  readonly name: LogName
  /** Default: the oldest segment on disk. */
  readonly from?: Position | undefined
  /** Default: the trusted end. */
  readonly to?: Position | undefined
}

/** The trusted end of a log; `nowhere` for one that no checkpoint names. */
export function endOfLog(name: LogName, { journal, lanes }: Snapshot): Position {
  if (name === 'journal') return journal.end
  if (isSideLog(name)) return journal.checkpoint?.[name]?.end ?? nowhere
  const [lane, part] = name.split('/')
  const view = lanes.find(({ lane: number, inJournal }) => number === Number(lane) && !inJournal)
  return view === undefined ? nowhere : part === 'data' ? view.dataEnd : view.end
}

/** Everything behind this is needed; before it, only segments that active messages hold. */
export function floorOfLog(name: LogName, snapshot: Snapshot): Position {
  if (name === 'journal') return floorOf(snapshot)
  if (isSideLog(name)) return snapshot.journal.checkpoint?.[name]?.floor ?? nowhere
  const [lane, part] = name.split('/')
  const view = snapshot.lanes.find(({ lane: number }) => number === Number(lane))
  return view === undefined ? nowhere : part === 'data' ? view.dataFloor : view.checkpointRunner
}

export async function* readLog(
  directory: QueueDirectory,
  snapshot: Snapshot,
  range: LogRange,
  report: Report,
  onProgress?: (readBytes: number) => void,
): AsyncGenerator<readonly LoggedRecord[]> {
  for await (const segment of segmentsOf(directory, snapshot, range)) {
    const { name, index, files, end } = segment
    let at = segment.from
    while (at < end) {
      const batch: LoggedRecord[] = []
      let bytesLeft = batchBytesMax
      const before = at
      at = await readSegment(segment, at, report, (window, windowAt, place, bytes) => {
        batch.push({
          log: name,
          position: place,
          segment: index,
          offset: files.grid.offsetOf(place),
          bytes,
          kind: kindName(kindAt(window, windowAt))!,
          lane: classAt(window, windowAt),
          timeMs: timeAt(window, windowAt),
          payload: Buffer.from(payloadAt(window, windowAt)),
        })
        bytesLeft -= bytes
        return batch.length >= batchCountMax || bytesLeft <= 0
      })
      onProgress?.(at - before)
      if (batch.length > 0) yield batch
    }
  }
}

/** The same for callers that keep nothing of the records. @param visit does not stop it */
export async function walkLog(
  directory: QueueDirectory,
  snapshot: Snapshot,
  range: LogRange,
  report: Report,
  visit: (kind: number, bytes: number) => void,
  onProgress?: (readBytes: number) => void,
): Promise<void> {
  for await (const segment of segmentsOf(directory, snapshot, range)) {
    const { from } = segment
    const at = await readSegment(segment, from, report, (window, windowAt, _place, bytes) =>
      visit(kindAt(window, windowAt), bytes),
    )
    onProgress?.(at - from)
  }
}

/** The part of one segment to be read. */
interface SegmentRange {
  readonly name: LogName
  readonly index: number
  readonly from: Position
  readonly end: Position
  readonly files: SegmentFiles
  readonly presence: Presence
}

/** Existing and missing segments. */
async function* segmentsOf(
  directory: QueueDirectory,
  snapshot: Snapshot,
  { name, from, to }: LogRange,
): AsyncGenerator<SegmentRange> {
  const files = directory.log(name)
  const { grid } = files
  const presence = new Presence(directory, snapshot)
  const logEnd = endOfLog(name, snapshot)
  const end = position(Math.min(to ?? Infinity, logEnd))
  const there = await directory.segments(directoryOf(name))
  const needed = indexesOf(files, position(Math.max(from ?? 0, floorOfLog(name, snapshot))), end)
  for (const index of [...new Set([...there, ...needed])].sort((a, b) => a - b)) {
    const first = position(Math.max(from ?? 0, grid.firstOf(index)))
    const contentEnd =
      // For the last requested segment, too: a life may have left it before it was full.
      name === 'journal' && grid.at(index + 1, 0) < logEnd
        ? await snapshot.journal.endOf(index)
        : grid.at(index, grid.segmentBytes)
    const segmentEnd = position(Math.min(end, contentEnd))
    if (first < segmentEnd) yield { name, index, from: first, end: segmentEnd, files, presence }
    await files.forget(index)
    await files.forget(index + 1)
  }
}

async function readSegment(
  { name, end, files, presence }: SegmentRange,
  from: Position,
  report: Report,
  visit: PositionVisitor,
): Promise<Position> {
  const findings: Finding[] = []
  const at = await readSurviving(files, {
    from,
    end,
    endOf: async () => end,
    visit,
    onGap: async (gap) => {
      const floor = floorOfLog(name, await presence.now())
      const needed = position(Math.max(gap.from, floor))
      if (needed < gap.to)
        findings.push(damageAt(files, needed, gap.to - needed, gap.reason, 'the records in it'))
      return gap.to
    },
  })
  for (const finding of findings) report(finding)
  return at
}
