/** A directory becomes a queue: its directories, then the header that says so.
 * Invariant: what a making left behind that never got as far as a durable batch is removed and made again, for the names may be
 * in the page cache only:
 *    // 1. queue.json renamed, sync of the directory fails  2. restart in the same boot sees it  3. mail settled  4. power loss: no queue */
import type { Disk } from '../disk/disk.js'
import { WaybillError } from '../errors.js'
import { journalDirectory } from '../log/journal.js'
import { formatVersion, segmentIndexOf } from '../log/segment.js'
import { queueHeaderName, writeQueueHeader, type QueueHeader } from '../recovery/queue-header.js'
import { lanesDirectory, spoolDirectory } from '../recovery/queue-paths.js'

const directories = [journalDirectory, lanesDirectory, spoolDirectory]

export async function makeQueue(
  disk: Disk,
  segmentBytes: number,
  laneSegmentBytes: number,
): Promise<QueueHeader> {
  for (const directory of directories) await disk.makeDirectory(directory)
  await disk.syncDirectory('')
  const header = { format: formatVersion, segmentBytes, laneSegmentBytes }
  await writeQueueHeader(disk, header)
  return header
}

/** Takes away a queue in which no batch was ever durable.
 * @throws WaybillError LOG_CORRUPT when there are signs that it was used, so that its journal must be missing */
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
  if (lanes.length > 0) await disk.syncDirectory(lanesDirectory)
  // 1. queue.json unlinked  2. power loss takes that, and not the unlinks before it  3. spool files without a journal, or lanes
  // without a header: neither opens. So what is inside goes first, for certain.
  for (const directory of [spoolDirectory, journalDirectory]) {
    const names = await disk.list(directory)
    for (const name of names) await disk.unlink(`${directory}/${name}`)
    if (names.length > 0) await disk.syncDirectory(directory)
  }
  await disk.unlink(queueHeaderName)
  const there = await disk.list('')
  for (const directory of directories) if (there.includes(directory)) await disk.removeDirectory(directory)
}

const journalMissing = (path: string): WaybillError =>
  new WaybillError('LOG_CORRUPT', 'the journal is missing, but the queue was used', { log: 'journal', path })
