/** The logs of a queue, for reading: where their segments lie, the number in their headers (FORMAT.md §1), and what errors call them. */
import type { Disk } from '../disk/disk.js'
import { journalDirectory } from '../log/journal.js'
import { journalLog } from '../log/journal-writer.js'
import { SegmentFiles } from '../log/segment-files.js'
import { SegmentGrid } from '../log/segment.js'
import type { QueueHeader } from './header.js'
import { dataDirectory, envelopesDirectory, keysDirectory, outcomesDirectory } from './paths.js'

/** The two logs of a lane that has logs of its own. */
export type LanePart = 'envelopes' | 'data'

export interface LaneFiles {
  readonly directory: string
  readonly log: number
  readonly files: SegmentFiles
}

/** Numbers of a lane's logs. */
export const envelopesLog = (lane: number): number => 2 * lane
export const dataLog = (lane: number): number => 2 * lane + 1

/** The incoming lane stands in the journal: the numbers of its logs are free. 0 is the journal's. */
export const keysLog = 1
/** Above those of the highest lane. */
export const outcomesLog: number = 2 * 32_768

export const journalFiles = (disk: Disk, { segmentBytes }: Pick<QueueHeader, 'segmentBytes'>): SegmentFiles =>
  new SegmentFiles(disk, journalDirectory, journalLog, 'journal', new SegmentGrid(segmentBytes))

export function laneFiles(
  disk: Disk,
  { laneSegmentBytes }: Pick<QueueHeader, 'laneSegmentBytes'>,
  lane: number,
  part: LanePart,
): LaneFiles {
  const [directory, log] =
    part === 'envelopes'
      ? [envelopesDirectory(lane), envelopesLog(lane)]
      : [dataDirectory(lane), dataLog(lane)]
  const grid = new SegmentGrid(laneSegmentBytes)
  return { directory, log, files: new SegmentFiles(disk, directory, log, `lane ${lane} ${part}`, grid) }
}

const sideFiles = (
  disk: Disk,
  { laneSegmentBytes }: Pick<QueueHeader, 'laneSegmentBytes'>,
  directory: string,
  log: number,
): LaneFiles => ({
  directory,
  log,
  files: new SegmentFiles(disk, directory, log, directory, new SegmentGrid(laneSegmentBytes)),
})

export const keyFiles = (disk: Disk, header: Pick<QueueHeader, 'laneSegmentBytes'>): LaneFiles =>
  sideFiles(disk, header, keysDirectory, keysLog)

export const outcomeFiles = (disk: Disk, header: Pick<QueueHeader, 'laneSegmentBytes'>): LaneFiles =>
  sideFiles(disk, header, outcomesDirectory, outcomesLog)
