/** Makes a queue of a backup in a store, where names are not renamed with all that is in them.
 * Invariant: `queue.json` comes last, so that a restore which was cut short is no queue: no node
 * opens it, and the next restore begins anew. Nothing that was a queue is touched. */
import { queueHeaderName, queueLockName, readQueueHeader, writeQueueHeader } from '../directory/header.js'
import {
  dataDirectory,
  envelopesDirectory,
  laneNumberOf,
  lanesDirectory,
  sideLogNames,
  spoolDirectory,
} from '../directory/paths.js'
import type { Disk } from '../disk/disk.js'
import { WaybillError } from '../errors.js'
import { journalDirectory } from '../log/journal.js'
import { takenDirectory } from '../relay/maildrop/maildrop-file.js'
import { copyFiles, type CopyOptions } from './copy.js'
import { DiskTarget } from './disk-target.js'
import { filesOf, type Backup } from './restore.js'

/** @param queue made by `waybill store init`, and never used
 * @throws WaybillError OPTION_INVALID, QUEUE_LOCKED, DISK_FULL, DISK_FAILED, NOT_A_QUEUE,
 * STORE_UNREACHABLE, STORE_UNSAFE; the signal's reason */
export async function restoreInStore(backup: Backup, queue: Disk, options: CopyOptions): Promise<void> {
  const files = await filesOf(backup)
  if (files.some(({ path }) => path.startsWith(`${takenDirectory}/`)))
    throw new WaybillError(
      'OPTION_INVALID',
      'the backup has messages of sendmail, for which a store has no place: restore it into a directory,' +
        ' run a relay there until `waybill mailq` has them, and back that up',
      { option: 'from' },
    )
  await queue.lock(queueLockName)
  if ((await queue.list('')).includes(queueHeaderName))
    throw new WaybillError(
      'OPTION_INVALID',
      'the queue of the store has been used, and is not overwritten: `waybill store init` makes another one',
      { option: 'to' },
    )
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  // What was unlinked now counts for a while.
  const isCleared = await clear(queue)
  const { freeBytes } = await queue.space()
  if (!isCleared && freeBytes < bytes)
    throw new WaybillError('DISK_FULL', `the copy takes ${bytes} bytes, and the queue may take ${freeBytes}`)
  const target = new DiskTarget(queue, { fills: false })
  const rest = files.filter(({ path }) => path !== queueHeaderName)
  await copyFiles(backup.disk, { files: rest, spools: [] }, target, options)
  await target.finish()
  const header = await readQueueHeader(backup.disk)
  await writeQueueHeader(queue, header!, await queue.list(''))
}

/** Removes what a restore that was cut short has left. @returns whether there was something */
async function clear(queue: Disk): Promise<boolean> {
  let isCleared = false
  const lanes = (await queue.list(lanesDirectory)).flatMap((name) => {
    const lane = laneNumberOf(name)
    return lane === undefined ? [] : [envelopesDirectory(lane), dataDirectory(lane)]
  })
  for (const directory of [journalDirectory, ...lanes, ...sideLogNames, spoolDirectory])
    for (const name of await queue.list(directory)) {
      await queue.unlink(`${directory}/${name}`)
      isCleared = true
    }
  return isCleared
}
