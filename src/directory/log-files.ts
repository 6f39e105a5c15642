/** The logs of a queue, for readers: directories, numbers in headers (FORMAT.md §1),
 * names in errors. */
import type { Disk } from '../disk/disk.js'
import { journalDirectory } from '../log/journal.js'
import { journalLog } from '../log/journal-writer.js'
import { SegmentFiles } from '../log/segment-files.js'
import { SegmentGrid } from '../log/segment.js'
import type { QueueHeader } from './header.js'
import { dataDirectory, envelopesDirectory, type SideLogName } from './paths.js'

/** The two logs of a lane with separate logs. */
export type LanePart = 'envelopes' | 'data'

export interface LaneFiles {
  readonly directory: string
  readonly log: number
  readonly files: SegmentFiles
}

/** Numbers of a lane's logs. */
export const envelopesLog = (lane: number): number => 2 * lane
export const dataLog = (lane: number): number => 2 * lane + 1

/** The incoming lane stands in the journal, so the numbers of its logs are free: 0 is the
 * journal's, 1 that of keys. That of outcomes stands above those of the highest lane. */
export const sideLogNumbers: Readonly<Record<SideLogName, number>> = { keys: 1, outcomes: 2 * 32_768 }

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

export function sideFiles(
  disk: Disk,
  { laneSegmentBytes }: Pick<QueueHeader, 'laneSegmentBytes'>,
  name: SideLogName,
): LaneFiles {
  const log = sideLogNumbers[name]
  const files = new SegmentFiles(disk, name, log, name, new SegmentGrid(laneSegmentBytes))
  return { directory: name, log, files }
}
