/** The only start of a life: lock, recover, accept. The journal's end is repaired before the first
 * submission is accepted; messages that were being worked on are resumed meanwhile. The result is
 * wired (beginning.ts) and running; queue.ts is its public face. */
import { pause } from '../base/clock.js'
import { readQueueHeader, queueLockName } from '../directory/header.js'
import { completeQueue, Completion } from '../directory/incomplete.js'
import { journalFiles } from '../directory/log-files.js'
import { makeQueue, unmakeQueue } from '../directory/make-queue.js'
import { withOwnNames } from '../directory/own-names.js'
import { spoolDirectory, spoolNumberOf } from '../directory/paths.js'
import type { Disk, LockReport } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { isWaybillError, WaybillError } from '../errors.js'
import { journalDirectory } from '../log/journal.js'
import { readLimits } from '../log/write-limit.js'
import { emptyTail, findTail } from '../recovery/journal-tail.js'
import { Beginning, type FoundQueue, type OpenedEngine } from './beginning.js'
import { engineOptions, inlineBytesMost, type EngineOptions, type QueueOptions } from './life/options.js'
import { Ownership } from './life/ownership.js'
import { readStateFirst } from './recover/recovered-state.js'

export type { OpenedEngine } from './beginning.js'

export interface OpenedQueue extends OpenedEngine {
  /** Where it lies, when that is a file system. */
  readonly directory?: string
}

/** @param whenCertain runs when all that the journal holds is durable for certain, before a segment
 * is recycled
 * @throws as openQueue; what `whenCertain` throws */
export async function openEngine(
  directory: string,
  options: QueueOptions,
  whenCertain?: (disk: Disk) => Promise<void>,
): Promise<OpenedEngine> {
  if (typeof directory !== 'string' || directory === '' || directory.includes('\0'))
    throw new WaybillError('OPTION_INVALID', 'a queue is opened in a directory', { option: 'directory' })
  const given = options?.disk ?? nodeDisk(directory)
  const disk = withOwnNames(given)
  const checked = { ...engineOptions(options, given), disk }
  try {
    await disk.makeDirectory('')
    const ownership = new Ownership()
    ownership.taken(await locked(disk, ownership, checked))
    const found = await findQueue(disk, checked)
    const inlineBytesMax = Math.min(checked.inlineBytesMax, inlineBytesMost(found.header))
    const opened = await open({ ...checked, inlineBytesMax }, disk, ownership, found, whenCertain)
    for (const message of ownership.warnings)
      // Later, so that a program that awaits the queue can listen first.
      checked.clock.soon(() => opened.parts.events.emit('warning', { code: 'FILE_SYSTEM', message }))
    return opened
  } catch (error) {
    disk.abandon()
    throw error
  }
}

/** Looks for the lock so often while another process has it, milliseconds. */
const lockLookMs = 100

/** @throws WaybillError QUEUE_LOCKED when another process keeps it for longer than `lockWaitMs` */
async function locked(
  disk: Disk,
  ownership: Ownership,
  { clock, lockWaitMs }: Pick<EngineOptions, 'clock' | 'lockWaitMs'>,
): Promise<LockReport> {
  const startedAt = clock.monotonicMs()
  for (;;) {
    try {
      return await disk.lock(queueLockName, ownership.lost)
    } catch (error) {
      const isOver = clock.monotonicMs() - startedAt >= lockWaitMs
      if (isOver || !isWaybillError(error, 'QUEUE_LOCKED')) throw error
    }
    await pause(clock, lockLookMs, undefined)
  }
}

/** Opens, unless the life ends meanwhile: nobody listens yet, and calls that were under way
 * may never settle. */
function open(
  options: EngineOptions,
  disk: Disk,
  ownership: Ownership,
  found: FoundQueue,
  whenCertain: ((disk: Disk) => Promise<void>) | undefined,
): Promise<OpenedEngine> {
  return new Promise((resolve, reject) => {
    begin(options, disk, ownership, found, reject, whenCertain).then(resolve, reject)
  })
}

/** @param onFailure called with the reason if the life ends before it has begun */
async function begin(
  given: EngineOptions,
  disk: Disk,
  ownership: Ownership,
  found: FoundQueue,
  onFailure: (error: unknown) => void,
  whenCertain: ((disk: Disk) => Promise<void>) | undefined,
): Promise<OpenedEngine> {
  const { header, tail } = found
  const spools = (await disk.list(spoolDirectory)).map(spoolNumberOf).filter((number) => number !== undefined)
  const recoveredState = await readStateFirst(disk, header, tail, spools, given.layout === 'single')
  const beginning = new Beginning(given, tail.sealedAtMs, disk, ownership, header, onFailure)
  return beginning.run(found, spools, recoveredState, whenCertain)
}

/** The queue in the directory, or a new one. */
async function findQueue(disk: Disk, { segmentBytes, laneSegmentBytes }: EngineOptions): Promise<FoundQueue> {
  const existing = await readQueueHeader(disk)
  let cutBytes = 0
  if (existing !== undefined) {
    const limitOf = await readLimits(disk, journalDirectory)
    const tail = await findTail(journalFiles(disk, existing), await disk.list(journalDirectory), limitOf)
    if (tail.index >= 0) return { header: existing, tail, completion: await completeQueue(disk) }
    await unmakeQueue(disk)
    cutBytes = tail.cutBytes
  }
  const header = await makeQueue(disk, segmentBytes, laneSegmentBytes)
  return { header, tail: { ...emptyTail, cutBytes }, completion: new Completion(disk, false) }
}
