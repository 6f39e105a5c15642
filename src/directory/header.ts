/** `queue.json`: marks a directory as a queue and holds the numbers that never change.
 * Invariant: it exists, complete, before the first segment: written under another name, synced,
 * renamed, the directory synced. */
import type { Disk } from '../disk/disk.js'
import { WaybillError } from '../errors.js'
import { formatVersion } from '../log/segment.js'
import { sideLogNames } from './paths.js'

export const queueHeaderName = 'queue.json'
/** Its owner is the queue's owner. */
export const queueLockName = 'lock'
const unfinishedName = 'queue.json.new'
const headerBytesMax = 4096
/** Names that an interrupted creation may have left, and those that the owner keeps there. */
const ourNames = new Set([
  queueLockName,
  'journal',
  'lanes',
  'spool',
  ...sideLogNames,
  'maildrop',
  'taken',
  'listening',
  'control',
  'mailq',
  unfinishedName,
])
/** Files that systems put into any directory; they do not mean that another program uses it. */
const systemNames =
  /^(?:lost\+found|\.DS_Store|\._.*|\.(?:fseventsd|Spotlight-V100|Trashes|localized)|\.Trash-\d+|Thumbs\.db|desktop\.ini|@eaDir|\.snapshots?|\.zfs|\.nfs[0-9a-f]+|\.fuse_hidden[0-9a-f]+|\.(?:git)?keep|\.gitignore)$/
/** An unfinished socket. */
const unfinishedSocket = /^(?:control|listening|mailq)\.[A-Za-z0-9]{6}$/

export interface QueueHeader {
  readonly format: number
  readonly segmentBytes: number
  readonly laneSegmentBytes: number
}

/** The header; undefined if the directory is empty, or holds an interrupted creation of a queue.
 * @throws WaybillError NOT_A_QUEUE, FORMAT_NEWER */
export async function readQueueHeader(disk: Disk): Promise<QueueHeader | undefined> {
  const names = await disk.list('')
  if (names.includes(queueHeaderName)) return parse(await readText(disk, queueHeaderName))
  const foreign = names.find(
    (name) => !ourNames.has(name) && !unfinishedSocket.test(name) && !systemNames.test(name),
  )
  if (foreign !== undefined)
    throw new WaybillError('NOT_A_QUEUE', 'the directory holds other files, and no queue', { path: foreign })
  for (const directory of ['journal', 'lanes', 'spool']) {
    const [name] = await disk.list(directory)
    if (name !== undefined)
      throw new WaybillError('NOT_A_QUEUE', `${queueHeaderName} is missing`, { path: `${directory}/${name}` })
  }
  return undefined
}

/** @param names in the queue's directory */
export async function writeQueueHeader(
  disk: Disk,
  header: QueueHeader,
  names: readonly string[],
): Promise<void> {
  if (names.includes(unfinishedName)) await disk.unlink(unfinishedName)
  const file = await disk.open(unfinishedName, 'create')
  await file.write(Buffer.from(`${JSON.stringify(header)}\n`), 0)
  await file.sync()
  await file.close()
  await disk.rename(unfinishedName, queueHeaderName)
  await disk.syncDirectory('')
}

async function readText(disk: Disk, path: string): Promise<string> {
  const file = await disk.open(path, 'read')
  try {
    const bytes = Buffer.allocUnsafe(headerBytesMax)
    return bytes.toString('utf8', 0, await file.read(bytes, 0))
  } finally {
    await file.close()
  }
}

function parse(text: string): QueueHeader {
  const place = { path: queueHeaderName }
  let header: Partial<QueueHeader>
  try {
    header = JSON.parse(text) as Partial<QueueHeader>
  } catch (cause) {
    throw new WaybillError('NOT_A_QUEUE', 'the queue header is not JSON', place, cause)
  }
  const { format, segmentBytes, laneSegmentBytes } = header ?? {}
  if (typeof format !== 'number')
    throw new WaybillError('NOT_A_QUEUE', 'the queue header names no format', place)
  if (format > formatVersion)
    throw new WaybillError(
      'FORMAT_NEWER',
      `the queue has format ${format}, this program knows ${formatVersion}`,
      place,
    )
  if (!Number.isSafeInteger(segmentBytes) || !Number.isSafeInteger(laneSegmentBytes))
    throw new WaybillError('NOT_A_QUEUE', 'the queue header does not say how large segments are', place)
  return { format, segmentBytes: segmentBytes!, laneSegmentBytes: laneSegmentBytes! }
}
