/** A message in a queue's `maildrop/`: written by `waybill sendmail`, read by the relay
 * (README.md).
 * Invariant: a file whose mode says that it is complete holds a whole message that is durable.
 * The name has 128 random bits: a user that may not list the directory cannot read what others
 * have left there. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, lstat, open, readdir, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { isSubmitterId, newMessageId, type MessageId } from '../../base/message-id.js'
import { WaybillError } from '../../errors.js'
import { diskFailure, errnoOf } from '../../disk/failure.js'
import { madeDirectory } from '../../disk/names.js'
import { syncDirectory } from '../../disk/sync-directory.js'
import { headerBytesMax } from '../../bounce/original.js'
import type { SubmissionDsn } from '../../engine/accept/submission.js'

export const maildropDirectory = 'maildrop'
/** Of the queue's owner alone: files that a relay is taking up. */
export const takenDirectory = 'taken'
/** Everybody may leave a file, and its owner and the directory's may remove it. */
const directoryMode = 0o1733
const takenMode = 0o700
const beingWritten = 0o600
/** That the owner may execute it says that it is complete, as in Postfix. The relay may be
 * another user. */
const complete = 0o744
export const isCompleteMode = (mode: number): boolean => (mode & 0o100) !== 0

/** Of the line before the message, bytes. */
const headBytesMax = 16 * 1024 * 1024

export interface DroppedMail {
  /** '' is the null sender. */
  readonly sender: string
  readonly recipients: readonly string[]
  readonly dsn: SubmissionDsn
  readonly data: Buffer
}

/** Of a file that waits, or is being taken up. */
const namePattern = /^([0-9A-Z]{16})\.[0-9a-f]{32}\.mail$/

/** Makes both directories, durably, by the queue's owner. @throws the system's error */
export async function makeMaildrop(queue: string): Promise<void> {
  for (const [name, mode] of [
    [maildropDirectory, directoryMode],
    [takenDirectory, takenMode],
  ] as const) {
    const path = join(queue, name)
    await madeDirectory(path, mode)
    // One that is there may have been left half made.
    await chmod(path, mode)
  }
  await syncDirectory(queue)
}

/** @returns the id that the message will have in the queue
 * @throws WaybillError DISK_FULL, DISK_FAILED; nothing is left then */
export async function dropMail(queue: string, { data, ...head }: DroppedMail): Promise<MessageId> {
  const id = newMessageId()
  const path = join(queue, maildropDirectory, `${id}.${randomBytes(16).toString('hex')}.mail`)
  let file: FileHandle | undefined
  try {
    file = await open(path, 'wx', beingWritten)
    await file.writeFile(`${JSON.stringify({ version: 1, ...head })}\n`)
    await file.writeFile(data)
    await file.sync()
    await file.chmod(complete)
    await file.sync()
    await file.close()
    return id
  } catch (error) {
    await file?.close().catch(() => undefined)
    if (file !== undefined) await rm(path, { force: true })
    throw diskFailure('write', path, errnoOf(error), error)
  }
}

export interface FoundMail extends DroppedMail {
  /** Of the whole message; `data` is its beginning where it is larger than asked for. */
  readonly dataBytes: number
  /** The user that left it. */
  readonly uid: number
  /** Milliseconds since 1970. */
  readonly leftAtMs: number
}

/** @param bytesMax of a message that is read whole; of others, `headerBytesMax` are read
 * @returns undefined when it is not complete
 * @throws WaybillError NOT_A_QUEUE for what `sendmail` has not written, DISK_FAILED */
export async function readDropped(path: string, bytesMax: number): Promise<FoundMail | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      // One that is being written belongs to another user. ENXIO is a socket's.
      if (errnoOf(error) === 'EACCES') return undefined
      throw errnoOf(error) === 'ELOOP' || errnoOf(error) === 'ENXIO'
        ? foreign(path)
        : diskFailure('open', path, errnoOf(error), error)
    },
  )
  if (file === undefined) return undefined
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.nlink > 1) throw foreign(path)
    if (!isCompleteMode(stats.mode)) return undefined
    const bytes = await beginning(
      file,
      Math.min(stats.size, headBytesMax + Math.max(bytesMax, headerBytesMax)),
    )
    const end = bytes.indexOf(10)
    const head = headOf(bytes.subarray(0, Math.max(0, end)).toString())
    if (head === undefined) throw foreign(path)
    const data = bytes.subarray(end + 1)
    const dataBytes = stats.size - end - 1
    const held = dataBytes > bytesMax ? Buffer.from(data.subarray(0, headerBytesMax)) : data
    return { ...head, data: held, dataBytes, uid: stats.uid, leftAtMs: stats.mtimeMs }
  } finally {
    await file.close()
  }
}

async function beginning(file: FileHandle, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes)
  for (let filled = 0; filled < bytes;) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled, filled)
    if (bytesRead === 0) return buffer.subarray(0, filled)
    filled += bytesRead
  }
  return buffer
}

/** Of messages in a directory; none where it is not there. @throws the system's error */
export async function namesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => idOfName(name) !== undefined)
}

/** Messages that wait in the queue's maildrop; 0 where this user may not look. A file that is not
 * complete does not count: its `sendmail` is writing it, or was killed and told its caller nothing.
 * @throws the system's error */
export async function droppedCount(queue: string): Promise<number> {
  const directory = join(queue, maildropDirectory)
  let count = 0
  try {
    for (const name of await namesIn(directory)) {
      const stats = await lstat(join(directory, name)).catch(unlessGone)
      if (stats !== undefined && isCompleteMode(stats.mode)) count++
    }
  } catch (error) {
    if (errnoOf(error) === 'EACCES') return 0
    throw error
  }
  return count
}

/** A relay takes files up meanwhile. */
function unlessGone(error: unknown): undefined {
  if (errnoOf(error) !== 'ENOENT') throw error
}

/** @returns undefined for what is no message that waits */
export const idOfName = (name: string): MessageId | undefined => {
  const id = namePattern.exec(name)?.[1]
  return id !== undefined && isSubmitterId(id) ? id : undefined
}

function headOf(text: string): Omit<DroppedMail, 'data'> | undefined {
  try {
    const { version, sender, recipients, dsn } = JSON.parse(text) as Partial<Record<string, unknown>>
    const isRight =
      version === 1 &&
      typeof sender === 'string' &&
      Array.isArray(recipients) &&
      recipients.every((recipient) => typeof recipient === 'string') &&
      typeof dsn === 'object' &&
      dsn !== null
    // What is asked in it is checked by the queue, as of every submission.
    return isRight ? { sender, recipients, dsn: dsn as SubmissionDsn } : undefined
  } catch {
    return undefined
  }
}

const foreign = (path: string): WaybillError =>
  new WaybillError('NOT_A_QUEUE', 'this is no message that sendmail has left', { path })
