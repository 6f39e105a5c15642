/** A backup of a queue in a directory or a tar file.
 * Invariant: messages in `maildrop/` are copied before the journal's end is taken, so that none of
 * them passes from there to behind that end unseen. The copy has its name when all of it is
 * durable, and a failure leaves nothing. */
import { chmod, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../base/clock.js'
import { onAbort } from '../base/on-abort.js'
import { checkOptionNames, signalOption } from '../base/options.js'
import type { Position } from '../base/position.js'
import type { Disk } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { errnoOf } from '../disk/failure.js'
import { WaybillError } from '../errors.js'
import { takenDirectory } from '../relay/maildrop/maildrop-file.js'
import { pinFiles } from '../engine/checkpoint/pinned-files.js'
import type { OpenedQueue } from '../engine/open.js'
import { addBytes, copyQueue, type BackupTarget } from './copy.js'
import { DiskTarget } from './disk-target.js'
import { droppedMail } from './maildrop-files.js'
import type { Manifest } from './manifest.js'
import { checkPlace, checkRoom, giveName, partOf } from './final-name.js'
import type { PlannedFile } from './plan.js'
import { TarTarget } from './tar-target.js'

export interface BackupRequest {
  /** A new directory, or a new file whose name ends in `.tar`. */
  readonly to: string
  /** Ends the backup, and removes what was written of it. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((doneBytes: number, allBytes: number) => void) | undefined
}

export type BackupReport = Manifest

/** What keeps a queue's files. */
export interface KeptFiles {
  readonly journalEnd: Position
  /** Aborted when they are not kept any more; the reason is the error. */
  readonly lost: AbortSignal
  /** The copy is made, of files that were kept until now.
   * @throws WaybillError by rejection when they were not, though `lost` may not say so yet */
  confirm(): Promise<void>
  release(): void
}

export interface BackupSource {
  readonly disk: Disk
  /** Of a queue in a file system: its path. */
  readonly directory: string | undefined
  readonly keep: () => Promise<KeptFiles>
  readonly clock: Pick<Clock, 'wallMs'>
}

/** The queue that this process has open. @throws as `backUp` */
export const backUpOwn = (
  { parts, engine, directory }: OpenedQueue,
  request: BackupRequest,
): Promise<BackupReport> =>
  backUp({ ...parts.options, directory, keep: () => pinFiles(parts, engine) }, request)

const isTar = (path: string): boolean => path.endsWith('.tar')

/** @throws WaybillError OPTION_INVALID, VERB_ABORTED, DISK_FULL, DISK_FAILED, LOG_CORRUPT,
 * QUEUE_CRASHED */
export async function backUp(source: BackupSource, request: BackupRequest): Promise<BackupReport> {
  checkOptionNames(request, { to: true, signal: true, onProgress: true })
  const { to, signal } = request
  signalOption(signal)
  await checkPlace(to, source.directory)
  const part = partOf(to)
  const target = isTar(to) ? new TarTarget(part, source.clock.wallMs()) : directoryTarget(part)
  try {
    const report = await fill(target, source, request)
    await target.finish()
    await giveName(part, to, isTar(to))
    return report
  } catch (error) {
    await target.abandon()
    throw error
  }
}

async function fill(
  target: BackupTarget,
  { disk, directory, keep, clock }: BackupSource,
  { to, signal, onProgress }: BackupRequest,
): Promise<Manifest> {
  const before: PlannedFile[] = []
  if (directory !== undefined)
    for await (const { path, content } of droppedMail(directory))
      before.push(await addBytes(target, path, content))
  const kept = await keep()
  const stop = new AbortController()
  const lost = (): void => stop.abort(kept.lost.reason)
  const aborted = (): void => stop.abort(new WaybillError('VERB_ABORTED', 'the backup was aborted'))
  const deaf = [onAbort(kept.lost, lost), onAbort(signal, aborted)]
  if (kept.lost.aborted) lost()
  if (signal?.aborted === true) aborted()
  try {
    const manifest = await copyQueue(disk, { journalEnd: kept.journalEnd, atMs: clock.wallMs() }, target, {
      before,
      signal: stop.signal,
      onPlan: (bytes) => checkRoom(to, bytes),
      ...(onProgress && { onProgress }),
    })
    await kept.confirm()
    return manifest
  } finally {
    for (const end of deaf) end()
    kept.release()
  }
}

function directoryTarget(part: string): BackupTarget {
  const disk = nodeDisk(part)
  const target = new DiskTarget(disk, { fills: false })
  return {
    add: (file, pieces) => target.add(file, pieces),
    finish: async () => {
      await markComplete(part)
      await target.finish()
      disk.abandon()
    },
    abandon: async () => {
      await target.abandon()
      disk.abandon()
    },
  }
}

/** As `sendmail` marks a message that is whole. @throws the system's error */
export async function markComplete(queue: string): Promise<void> {
  const taken = join(queue, takenDirectory)
  const names = await readdir(taken).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  })
  for (const name of names) await chmod(join(taken, name), 0o744)
}
