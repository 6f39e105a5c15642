/** Copies files of a queue into a target, in the order of the README.
 * Invariant: each file is copied with the length that was planned, or the copy fails. */
import type { Position } from '../base/position.js'
import { callOptionListener } from '../engine/life/option-listener.js'
import { readQueueHeader } from '../directory/header.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { isWaybillError, WaybillError } from '../errors.js'
import { frozenAt } from './directory-at-position.js'
import { encodeManifest, manifestName, type Manifest } from './manifest.js'
import { planOf, type Plan, type PlannedFile } from './plan.js'

/** Where a copy goes. */
export interface BackupTarget {
  /** @param pieces of the content, as many bytes as planned */
  add(file: PlannedFile, pieces: AsyncIterable<Buffer>): Promise<void>
  /** Everything is durable, and the copy has its name. */
  finish(): Promise<void>
  /** Removes what there is. */
  abandon(): Promise<void>
}

export interface CopyOptions {
  /** Ends the copy with its reason. */
  readonly signal: AbortSignal
  readonly onProgress?: (doneBytes: number, allBytes: number) => void
}

export interface CopyQueueOptions extends CopyOptions {
  readonly before?: readonly PlannedFile[]
  readonly onPlan?: (bytes: number) => Promise<void>
}

interface Copied {
  readonly fileCount: number
  readonly bytes: number
}

/** The moment of a copy. */
export interface Moment {
  readonly journalEnd: Position
  /** Milliseconds since 1970. */
  readonly atMs: number
}

const pieceBytes = 1024 * 1024

/** Copies the queue as it was at a moment; its files are kept until this settles.
 * @param before what the target has already @param onPlan hears how many bytes come
 * @throws WaybillError NOT_A_QUEUE, FORMAT_NEWER, LOG_CORRUPT, DISK_FAILED, DISK_FULL; the signal's
 * reason */
export async function copyQueue(
  disk: Disk,
  { journalEnd, atMs }: Moment,
  target: BackupTarget,
  { before = [], onPlan, ...options }: CopyQueueOptions,
): Promise<Manifest> {
  const header = await readQueueHeader(disk)
  if (header === undefined) throw new WaybillError('NOT_A_QUEUE', 'there is no queue in the directory')
  const frozen = frozenAt(disk, header.segmentBytes, journalEnd)
  const plan = await planOf(frozen, header)
  await onPlan?.(plan.files.reduce((sum, { bytes }) => sum + bytes, 0))
  const copied = await copyFiles(frozen, plan, target, options)
  const manifest: Manifest = {
    atMs,
    journalEnd,
    fileCount: copied.fileCount + before.length,
    bytes: before.reduce((sum, { bytes }) => sum + bytes, copied.bytes),
    outcome: plan.outcome,
  }
  await addBytes(target, manifestName, encodeManifest(manifest))
  return manifest
}

export async function addBytes(target: BackupTarget, path: string, content: Buffer): Promise<PlannedFile> {
  const file = { path, bytes: content.length, lengthBytes: content.length }
  await target.add(file, only(content))
  return file
}

async function* only(content: Buffer): AsyncGenerator<Buffer> {
  if (content.length > 0) yield content
}

/** @throws WaybillError LOG_CORRUPT, DISK_FAILED, DISK_FULL; the signal's reason */
export async function copyFiles(
  disk: Disk,
  { files, spools }: Pick<Plan, 'files' | 'spools'>,
  target: BackupTarget,
  { signal, onProgress }: CopyOptions,
): Promise<Copied> {
  const allBytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let bytes = 0
  let fileCount = 0
  const onPiece = (length: number): void => {
    signal.throwIfAborted()
    bytes += length
    if (onProgress !== undefined)
      callOptionListener('onProgress', () => onProgress(bytes, Math.max(allBytes, bytes)))
  }
  const copy = async (planned: PlannedFile, file: DiskFile): Promise<void> => {
    try {
      await target.add(planned, piecesOf(planned, file, onPiece))
      fileCount++
    } finally {
      await file.close()
    }
  }
  for (const planned of files) {
    signal.throwIfAborted()
    await copy(planned, await disk.open(planned.path, 'read'))
  }
  for (const path of spools) {
    signal.throwIfAborted()
    const file = await openIfThere(disk, path)
    if (file !== undefined) await copy(await lengthOf(path, file), file)
  }
  signal.throwIfAborted()
  return { fileCount, bytes }
}

/** A number is given to one file, so one that is gone is needed by nobody. */
async function openIfThere(disk: Disk, path: string): Promise<DiskFile | undefined> {
  try {
    return await disk.open(path, 'read')
  } catch (error) {
    if (isWaybillError(error, 'DISK_FAILED') && error.place.errno === 'ENOENT') return undefined
    throw error
  }
}

async function lengthOf(path: string, file: DiskFile): Promise<PlannedFile> {
  const bytes = await file.size()
  return { path, bytes, lengthBytes: bytes }
}

async function* piecesOf(
  { path, bytes }: PlannedFile,
  file: DiskFile,
  onPiece: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes;) {
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, bytes - at))
    const length = await file.read(piece, at)
    if (length < piece.length)
      throw new WaybillError('LOG_CORRUPT', 'the file is shorter than the log says', {
        path,
        offsetBytes: at + length,
      })
    at += length
    onPiece(length)
    yield piece
  }
}
