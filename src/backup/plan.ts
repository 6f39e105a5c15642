/** The plan of a backup: its files, and how much of each is copied.
 * Invariant: they are what the newest checkpoint before the journal's end needs, and the whole of
 * the journal that is there: active messages may pin segments before the suffix. */
import { position, type Position } from '../base/position.js'
import { queueHeaderName, type QueueHeader } from '../directory/header.js'
import { journalFiles, laneFiles, sideFiles, type LaneFiles, type LanePart } from '../directory/log-files.js'
import { sideLogNames, spoolDirectory, spoolNumberOf } from '../directory/paths.js'
import type { Disk } from '../disk/disk.js'
import { journalDirectory } from '../log/journal.js'
import { segmentHeaderBytes, segmentIndexOf, segmentName } from '../log/segment.js'
import { decodeCheckpoint, type Checkpoint } from '../record/checkpoint.js'
import { findTail } from '../recovery/journal-tail.js'

export interface PlannedFile {
  readonly path: string
  /** Of its content, that are copied. */
  readonly bytes: number
  /** Of the file: zeroes follow the content. */
  readonly lengthBytes: number
}

export interface Plan {
  readonly files: readonly PlannedFile[]
  /** Of data; one that is not there any more belonged to a submission that was given up. */
  readonly spools: readonly string[]
  /** Number of the last outcome; undefined: nobody has consumed any. */
  readonly outcome: number | undefined
}

/** @param disk as it was when the journal ended
 * @throws WaybillError LOG_CORRUPT, FORMAT_NEWER, DISK_FAILED */
export async function planOf(disk: Disk, header: QueueHeader): Promise<Plan> {
  const journal = journalFiles(disk, header)
  const names = await disk.list(journalDirectory)
  const tail = await findTail(journal, names)
  await journal.forgetAll()
  const checkpoint = tail.checkpoint === undefined ? undefined : decodeCheckpoint(tail.checkpoint)
  const files: PlannedFile[] = [await wholeOf(disk, queueHeaderName)]
  for (const name of names) {
    const index = segmentIndexOf(name)
    if (index === undefined || index > tail.index) continue
    const { grid } = journal
    const bytes = index === tail.index ? tail.end - grid.at(index, 0) : grid.segmentBytes
    files.push({ path: `${journalDirectory}/${name}`, bytes, lengthBytes: grid.segmentBytes })
  }
  for (const { log, end } of logsOf(disk, header, checkpoint)) files.push(...(await filesOf(disk, log, end)))
  const spools = (await disk.list(spoolDirectory)).filter((name) => spoolNumberOf(name) !== undefined)
  return {
    files,
    spools: spools.map((name) => `${spoolDirectory}/${name}`),
    outcome: checkpoint?.outcomes?.number,
  }
}

/** Logs with a trusted end, as the checkpoint has them. */
function logsOf(
  disk: Disk,
  header: QueueHeader,
  checkpoint: Checkpoint | undefined,
): { readonly log: LaneFiles; readonly end: Position }[] {
  const ofLanes = (checkpoint?.lanes ?? []).flatMap(({ lane, inJournal, envelopesEnd, dataEnd }) => {
    const log = (part: LanePart): LaneFiles => laneFiles(disk, header, lane, part)
    return inJournal
      ? []
      : [
          { log: log('envelopes'), end: envelopesEnd },
          { log: log('data'), end: dataEnd },
        ]
  })
  const beside = sideLogNames.flatMap((name) => {
    const end = checkpoint?.[name]?.end
    return end === undefined ? [] : [{ log: sideFiles(disk, header, name), end }]
  })
  return [...ofLanes, ...beside]
}

/** What lies behind the end is another moment's. */
async function filesOf(disk: Disk, { directory, files }: LaneFiles, end: Position): Promise<PlannedFile[]> {
  const { grid } = files
  const last = grid.indexOf(end)
  const lastBytes = grid.offsetOf(end)
  const planned: PlannedFile[] = []
  for (const name of await disk.list(directory)) {
    const index = segmentIndexOf(name)
    if (index === undefined || index > last || (index === last && lastBytes <= segmentHeaderBytes)) continue
    const path = `${directory}/${segmentName(index)}`
    const bytes = index === last ? lastBytes : (await disk.stat(path)).lengthBytes
    planned.push({ path, bytes, lengthBytes: bytes })
  }
  return planned
}

export async function wholeOf(disk: Disk, path: string): Promise<PlannedFile> {
  const { lengthBytes } = await disk.stat(path)
  return { path, bytes: lengthBytes, lengthBytes }
}

/** The end of a journal that nobody writes. @throws WaybillError LOG_CORRUPT */
export async function endOfJournal(disk: Disk, header: QueueHeader): Promise<Position> {
  const journal = journalFiles(disk, header)
  const { end } = await findTail(journal, await disk.list(journalDirectory))
  await journal.forgetAll()
  return position(end)
}
