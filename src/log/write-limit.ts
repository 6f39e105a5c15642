/** A durable limit on how far the journal may have been written. A start looks for the last commit
 * below it, not in the whole segment.
 * Invariant: a batch is written only when a limit behind its end is durable.
 *    1. limit 1 MiB
 *    2. a batch at 1.5 MiB is settled
 *    3. power loss
 *    4. the start looks below 1 MiB
 * The file is of use and never needed. Where it cannot be read, says nothing of a segment, or has a
 * slot that does not verify, the whole segment is searched. An earlier release leaves it as it is,
 * and makes segments whose epochs it does not name. */
import type { Clock } from '../base/clock.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { ignoreRefusal } from '../disk/failure.js'
import { unlinkIfThere } from '../disk/names.js'
import { isWaybillError } from '../errors.js'
import {
  decodeLimitSlots,
  encodeLimitSlot,
  limitFileBytes,
  limitSlotAt,
  type SegmentLimit,
} from './limit-slots.js'
import { blockBytes, roundUpToBlock, segmentHeaderBytes } from './segment.js'

/** Its name in the journal's directory. */
export const limitName = 'limit'
const unfinishedName = 'limit.new'

/** Of the file, or of one that is being made. */
export const isLimitName = (name: string): boolean => name === limitName || name === unfinishedName

/** Where batches of a segment may end, bytes; undefined when the whole segment is to be searched.
 */
export type LimitOf = (index: number, epoch: readonly [number, number]) => number | undefined

/** The first limit of a segment has room for the batch that begins it. */
const firstLimitBytes = 64 * 1024
const stepBytesMin = 512 * 1024
const stepBytesMax = 8 * 1024 * 1024
/** A step that lasts for less is doubled. */
const stepMsMin = 100
const stepMsMax = 1000

/** The limits in the file; undefined when there is none, or the disk refuses it.
 * @param names in the directory */
async function readSegments(
  disk: Disk,
  directory: string,
  names: readonly string[],
): Promise<readonly SegmentLimit[] | undefined> {
  if (!names.includes(limitName)) return undefined
  try {
    const file = await disk.open(`${directory}/${limitName}`, 'read')
    const bytes = Buffer.alloc(limitFileBytes)
    try {
      const slot = decodeLimitSlots(bytes.subarray(0, await file.read(bytes, 0)))
      return slot?.segments ?? []
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!isWaybillError(error, 'DISK_FAILED')) throw error
    return undefined
  }
}

/** The limits that a start goes by. */
export async function readLimits(disk: Disk, directory: string): Promise<LimitOf> {
  const segments = (await readSegments(disk, directory, await disk.list(directory))) ?? []
  return (index, [low, high]) =>
    segments.find(
      (segment) => segment.index === index && segment.epoch[0] === low && segment.epoch[1] === high,
    )?.limitBytes
}

interface Limit extends SegmentLimit {
  limitBytes: number
  /** What of it is durable. */
  durableBytes: number
}

export interface WriteLimitOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly directory: string
  readonly segmentBytes: number
}

export class WriteLimit {
  readonly #options: WriteLimitOptions
  readonly #file: DiskFile
  #limits: Limit[]
  /** Of the first segment that is added. */
  #epoch: readonly [number, number] | undefined
  #turn = 0
  #saving: Promise<void> = Promise.resolve()
  #waiting: Promise<void> | undefined
  #stepBytes: number
  #raisedAtMs = -Infinity
  #inFlightSinceMs: number | undefined

  private constructor(options: WriteLimitOptions, file: DiskFile, segments: readonly SegmentLimit[]) {
    this.#options = options
    this.#file = file
    this.#limits = segments.map((segment) => ({ ...segment, durableBytes: segment.limitBytes }))
    this.#stepBytes = this.#part(stepBytesMin)
  }

  /** @returns undefined where a full disk has no room for the file: then starts search whole
   * segments
   * @throws WaybillError DISK_FAILED */
  static async open(options: WriteLimitOptions): Promise<WriteLimit | undefined> {
    const { disk, directory } = options
    const path = `${directory}/${limitName}`
    const names = await disk.list(directory)
    const segments = await readSegments(disk, directory, names)
    if (segments === undefined) {
      if (!(await make(disk, directory, path))) return undefined
    } else if (names.includes(unfinishedName)) {
      // Of a life that could not read the file, and began another one.
      await unlinkIfThere(disk, `${directory}/${unfinishedName}`).catch(ignoreRefusal)
    }
    return new WriteLimit(options, await disk.open(path, 'synced'), segments ?? [])
  }

  /** A segment has its name, and nothing was written in it in this life. Settles when that is
   * durable. */
  add(index: number, epoch: readonly [number, number]): Promise<void> {
    this.#epoch ??= epoch
    const limitBytes = segmentHeaderBytes + this.#part(firstLimitBytes)
    this.#limits = this.#limits.filter((limit) => limit.index < index && limit.index >= index - 2)
    this.#limits.push({ index, epoch, limitBytes, durableBytes: 0 })
    return this.#save()
  }

  /** A batch that ends there is to be written.
   * @returns what has to be waited for, or undefined when nothing has to be */
  whenReaches(index: number, endBytes: number): Promise<void> | undefined {
    const limit = this.#limitOf(index)
    if (limit === undefined || endBytes <= limit.durableBytes) return undefined
    if (endBytes <= limit.limitBytes) return this.#waiting ?? this.#saving
    return this.#raise(limit, endBytes)
  }

  /** A batch that ends there was written: raises the limit before the next ones need it.
   * @returns what is under way, or undefined when nothing need be */
  raiseAhead(index: number, endBytes: number): Promise<void> | undefined {
    const limit = this.#limitOf(index)
    const isFar = limit === undefined || endBytes + this.#stepBytes / 2 <= limit.limitBytes
    if (isFar || limit.limitBytes >= this.#options.segmentBytes) return undefined
    return this.#raise(limit, endBytes)
  }

  /** Since when the write under way waits for the disk, by the monotonic clock. */
  get inFlightSinceMs(): number | undefined {
    return this.#inFlightSinceMs
  }

  #limitOf(index: number): Limit | undefined {
    return this.#limits.find((limit) => limit.index === index)
  }

  #raise(limit: Limit, endBytes: number): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs()
    const lastedMs = nowMs - this.#raisedAtMs
    this.#raisedAtMs = nowMs
    if (lastedMs < stepMsMin) this.#stepBytes = Math.min(2 * this.#stepBytes, this.#part(stepBytesMax))
    else if (lastedMs > stepMsMax) this.#stepBytes = this.#part(stepBytesMin)
    const wanted = Math.max(limit.limitBytes, endBytes + this.#stepBytes)
    limit.limitBytes = Math.min(wanted, this.#options.segmentBytes)
    return this.#save()
  }

  /** Whole blocks, and at most an eighth of a segment. */
  #part(bytes: number): number {
    return Math.min(bytes, Math.max(roundUpToBlock(this.#options.segmentBytes / 8), blockBytes))
  }

  /** One write at a time; what is asked for while one is under way goes into the next. */
  #save(): Promise<void> {
    this.#waiting ??= this.#saving.then(() => this.#write())
    return this.#waiting
  }

  #write(): Promise<void> {
    this.#saving = this.#waiting!
    this.#waiting = undefined
    const segments = this.#limits.map(({ index, epoch, limitBytes }) => ({ index, epoch, limitBytes }))
    const isFirst = this.#turn === 0
    const slot = encodeLimitSlot({ epoch: this.#epoch!, turn: ++this.#turn, segments })
    // The slots of the life before stand beside no slot of this one.
    const bytes = isFirst
      ? Buffer.concat([slot, encodeLimitSlot({ epoch: this.#epoch!, turn: ++this.#turn, segments })])
      : slot
    this.#inFlightSinceMs = this.#options.clock.monotonicMs()
    return this.#file.write(bytes, isFirst ? 0 : limitSlotAt(this.#turn)).then(() => {
      this.#inFlightSinceMs = undefined
      for (const { index, epoch, limitBytes } of segments)
        for (const limit of this.#limits)
          if (limit.index === index && limit.epoch === epoch) limit.durableBytes = limitBytes
    })
  }
}

/** @returns false where the disk is full */
async function make(disk: Disk, directory: string, path: string): Promise<boolean> {
  const unfinished = `${directory}/${unfinishedName}`
  try {
    await unlinkIfThere(disk, unfinished)
    const file = await disk.open(unfinished, 'create')
    try {
      await file.write(Buffer.alloc(limitFileBytes), 0)
      await file.sync()
    } finally {
      await file.close()
    }
    await disk.rename(unfinished, path)
    await disk.syncDirectory(directory)
    return true
  } catch (error) {
    if (!isWaybillError(error, 'DISK_FULL')) throw error
    // It takes room that is wanted. Where it stays, the next life tries again.
    await unlinkIfThere(disk, unfinished).catch(ignoreRefusal)
    return false
  }
}
