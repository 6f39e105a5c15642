/** Makes a queue of a backup, and says what it will send.
 * Invariant: the backup is only read. The queue has its name when all of it is durable; nothing
 * that was there is touched, and a failure leaves nothing. */
import { lstat } from 'node:fs/promises'
import { queueHeaderName, readQueueHeader } from '../directory/header.js'
import {
  dataDirectory,
  envelopesDirectory,
  laneNumberOf,
  lanesDirectory,
  sideLogNames,
  spoolDirectory,
  spoolNumberOf,
} from '../directory/paths.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { forwarded } from '../disk/forwarded-disk.js'
import { diskFailure, errnoOf } from '../disk/failure.js'
import { nodeDisk } from '../disk/node-disk.js'
import { isWaybillError, WaybillError } from '../errors.js'
import type { Finding } from '../inspect/damage/finding.js'
import { Messages } from '../inspect/messages/messages.js'
import type { MetMessage, QueuedMessage } from '../inspect/messages/queued-message.js'
import { QueueDirectory } from '../inspect/queue/queue-directory.js'
import { readOnly } from '../inspect/queue/read-only-disk.js'
import { takeSnapshot } from '../inspect/queue/snapshot.js'
import type { QueueName } from '../lane/lane.js'
import { journalDirectory } from '../log/journal.js'
import { segmentIndexOf } from '../log/segment.js'
import { idOfName, takenDirectory } from '../relay/maildrop/maildrop-file.js'
import { markComplete } from './back-up.js'
import { copyFiles, type CopyOptions } from './copy.js'
import { DiskTarget } from './disk-target.js'
import { decodeManifest, manifestBytesMax, manifestName, type Manifest } from './manifest.js'
import { checkPlace, checkRoom, giveName, partOf } from './final-name.js'
import { wholeOf, type PlannedFile } from './plan.js'

export interface Backup {
  readonly disk: Disk
  readonly directory: QueueDirectory
  readonly manifest: Manifest
}

/** @param from a directory or a tar file
 * @throws WaybillError NOT_A_QUEUE when it is no backup; FORMAT_NEWER, DISK_FAILED */
export async function openBackup(from: string, report: (finding: Finding) => void): Promise<Backup> {
  const files = readOnly(await diskOf(from))
  try {
    const manifest = decodeManifest(await manifestText(files))
    const header = await readQueueHeader(files)
    if (header === undefined) throw new WaybillError('NOT_A_QUEUE', 'there is no queue in the backup')
    const disk = wholeSegments(files, header.segmentBytes)
    const directory = await QueueDirectory.open(disk, report)
    if (directory === undefined) throw new WaybillError('NOT_A_QUEUE', 'there is no queue in the backup')
    return { disk, directory, manifest }
  } catch (error) {
    files.abandon()
    throw error
  }
}

/** The newest segment of the journal as it was: a tar file has its content alone. */
function wholeSegments(disk: Disk, segmentBytes: number): Disk {
  const isSegment = (path: string): boolean => path.startsWith(`${journalDirectory}/`)
  return {
    ...forwarded(disk),
    stat: async (path) => {
      const { lengthBytes, nameCount } = await disk.stat(path)
      return { lengthBytes: isSegment(path) ? Math.max(lengthBytes, segmentBytes) : lengthBytes, nameCount }
    },
    open: async (path, mode) => {
      const file = await disk.open(path, mode)
      return isSegment(path) ? withZeroes(file, segmentBytes) : file
    },
  }
}

const withZeroes = (file: DiskFile, lengthBytes: number): DiskFile => ({
  write: (bytes, at) => file.write(bytes, at),
  sync: () => file.sync(),
  truncate: (bytes) => file.truncate(bytes),
  close: () => file.close(),
  size: async () => Math.max(await file.size(), lengthBytes),
  read: async (into, at) => {
    const bytes = await file.read(into, at)
    const end = Math.max(bytes, Math.min(into.length, lengthBytes - at))
    into.fill(0, bytes, end)
    return end
  },
})

async function diskOf(from: string): Promise<Disk> {
  const stats = await lstat(from).catch((error: unknown) => {
    throw diskFailure('open', from, errnoOf(error), error)
  })
  if (stats.isDirectory()) return nodeDisk(from)
  const { tarDisk } = await import('./tar-disk.js')
  return tarDisk(from)
}

async function manifestText(disk: Disk): Promise<string> {
  try {
    const file = await disk.open(manifestName, 'read')
    const bytes = Buffer.alloc(manifestBytesMax)
    const length = await file.read(bytes, 0)
    await file.close()
    return bytes.toString('utf8', 0, length)
  } catch (error) {
    if (!isWaybillError(error, 'DISK_FAILED') || error.place.errno !== 'ENOENT') throw error
    throw new WaybillError(
      'NOT_A_QUEUE',
      `${manifestName} is missing: this is no backup, or one that was cut short`,
      { path: manifestName },
      error,
    )
  }
}

/** What a restored queue sends. */
export interface Preview {
  /** Messages, by the queue in which they are. */
  readonly counts: Readonly<Record<QueueName, number>>
  /** Of all but those on hold. */
  readonly recipientCount: number
  /** Messages that `sendmail` has left, and that the relay takes up first. */
  readonly droppedCount: number
  /** Of those that are sent, the first ones. */
  readonly sample: readonly QueuedMessage[]
}

/** @param sampleMax messages of the sample, at most */
export async function previewOf(
  { disk, directory }: Backup,
  sampleMax: number,
  report: (finding: Finding) => void,
  onProgress?: (done: number, all: number) => void,
): Promise<Preview> {
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const messages = new Messages(directory, snapshot, { report, ...(onProgress && { onProgress }) })
  const counts: Record<QueueName, number> = { incoming: 0, active: 0, deferred: 0, hold: 0 }
  const sample: QueuedMessage[] = []
  let recipientCount = 0
  let sampledCount = 0
  const isSampled = ({ where, waitingCount }: MetMessage): boolean => {
    counts[where]++
    if (where === 'hold') return false
    recipientCount += waitingCount
    return sampledCount++ < sampleMax
  }
  for await (const batch of messages.batches(isSampled)) sample.push(...batch)
  const droppedCount = (await disk.list(takenDirectory)).length
  return { counts, recipientCount, droppedCount, sample }
}

/** @param to must not be there
 * @throws WaybillError OPTION_INVALID, DISK_FULL, DISK_FAILED, NOT_A_QUEUE; the signal's reason */
export async function restoreInto(backup: Backup, to: string, options: CopyOptions): Promise<void> {
  const { disk } = backup
  await checkPlace(to, undefined)
  const files = await filesOf(backup)
  await checkRoom(
    to,
    files.reduce((sum, { lengthBytes }) => sum + lengthBytes, 0),
  )
  const part = partOf(to)
  const queue = nodeDisk(part)
  const target = new DiskTarget(queue, { fills: true })
  try {
    await copyFiles(disk, { files, spools: [] }, target, options)
    await markComplete(part)
    await target.finish()
    await giveName(part, to, false)
  } catch (error) {
    await target.abandon()
    throw error
  } finally {
    queue.abandon()
  }
}

/** @throws WaybillError NOT_A_QUEUE when some are missing */
export async function filesOf({ disk, manifest }: Backup): Promise<PlannedFile[]> {
  const files = await filesIn(disk)
  if (files.length === manifest.fileCount) return files
  throw new WaybillError(
    'NOT_A_QUEUE',
    `the backup has ${files.length} files, and ${manifestName} says ${manifest.fileCount}`,
  )
}

/** Those of a queue; what else lies there is left. */
async function filesIn(disk: Disk): Promise<PlannedFile[]> {
  const files = [await wholeOf(disk, queueHeaderName)]
  const add = async (directory: string, isOne: (name: string) => boolean): Promise<void> => {
    for (const name of await disk.list(directory))
      if (isOne(name)) files.push(await wholeOf(disk, `${directory}/${name}`))
  }
  const isSegment = (name: string): boolean => segmentIndexOf(name) !== undefined
  await add(journalDirectory, isSegment)
  for (const name of await disk.list(lanesDirectory)) {
    const lane = laneNumberOf(name)
    if (lane === undefined) continue
    await add(envelopesDirectory(lane), isSegment)
    await add(dataDirectory(lane), isSegment)
  }
  for (const name of sideLogNames) await add(name, isSegment)
  await add(spoolDirectory, (name) => spoolNumberOf(name) !== undefined)
  await add(takenDirectory, (name) => idOfName(name) !== undefined)
  return files
}
