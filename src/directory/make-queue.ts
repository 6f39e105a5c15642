/** Makes a directory into a queue: first its directories, then the header.
 * Invariant: everything that an interrupted creation left before its first durable batch is removed
 * and made again, name by name. After a failed sync of a directory its names may be in the page
 * cache only, and no later sync writes them:
 *    1. queue.json (or journal/) gets its name; the sync of the directory fails
 *    2. a restart in the same boot sees the name
 *    3. mail is settled
 *    4. power loss: the name is gone, and the mail with it */
import type { Disk } from '../disk/disk.js'
import { removeEmptyDirectory } from '../disk/names.js'
import { WaybillError } from '../errors.js'
import { journalDirectory } from '../log/journal.js'
import { formatVersion, segmentIndexOf } from '../log/segment.js'
import { writeQueueHeader, type QueueHeader } from './header.js'
import { lanesDirectory, spoolDirectory } from './paths.js'

const directories = [journalDirectory, lanesDirectory, spoolDirectory]

/** Existing directories are empty: readQueueHeader and unmakeQueue have checked that. */
export async function makeQueue(
  disk: Disk,
  segmentBytes: number,
  laneSegmentBytes: number,
): Promise<QueueHeader> {
  const names = await disk.list('')
  for (const directory of directories) await makeAnew(disk, directory, names)
  await disk.syncDirectory('')
  const header = { format: formatVersion, segmentBytes, laneSegmentBytes }
  await writeQueueHeader(disk, header, names)
  return header
}

/** Empties a queue in which no batch was ever durable. Its header stays until the new one replaces
 * it: without a header it would not open if a power loss brought removed files back.
 * @throws WaybillError LOG_CORRUPT if there are signs that it was used, so its journal
 * must be missing */
export async function unmakeQueue(disk: Disk): Promise<void> {
  const hasSegment = (await disk.list(journalDirectory)).some((name) => segmentIndexOf(name) !== undefined)
  const spools = await disk.list(spoolDirectory)
  if (!hasSegment && spools.length > 0) throw journalMissing(`${spoolDirectory}/${spools[0]}`)
  const lanes = await disk.list(lanesDirectory)
  for (const lane of lanes) {
    for (const part of await disk.list(`${lanesDirectory}/${lane}`)) {
      const path = `${lanesDirectory}/${lane}/${part}`
      const [name] = await disk.list(path)
      if (name !== undefined) throw journalMissing(`${path}/${name}`)
      await disk.removeDirectory(path)
    }
    await disk.removeDirectory(`${lanesDirectory}/${lane}`)
  }
  const there = await disk.list('')
  //    1. spool file unlinked
  //    2. segments unlinked
  //    3. power loss takes the first only: a spool file without a journal, which does not open.
  // So the spool is durably empty before the journal is.
  for (const directory of [spoolDirectory, journalDirectory]) {
    for (const name of await disk.list(directory)) await disk.unlink(`${directory}/${name}`)
    await makeAnew(disk, directory, there)
    await disk.syncDirectory('')
  }
}

/** Makes a directory that is empty, or is not there. @param names of the queue's directory */
async function makeAnew(disk: Disk, directory: string, names: readonly string[]): Promise<void> {
  if (names.includes(directory)) await removeEmptyDirectory(disk, directory)
  await disk.makeDirectory(directory)
}

const journalMissing = (path: string): WaybillError =>
  new WaybillError('LOG_CORRUPT', 'the journal is missing, but the queue was used', { log: 'journal', path })
