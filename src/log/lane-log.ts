/** A lane's log: frames appended through a buffer, synced only by a checkpoint, trusted only up to the checkpointed end.
 * Invariants:
 * 1. A group is appended only where room is allocated (zeroes were written there), so a full disk is met by `extend`, where
 *    waiting is possible, and never by the content.
 * 2. Before each sync the log is padded to a block: no later write touches a block that a checkpoint vouches for.
 * 3. A start cuts the log at the checkpointed end without looking at what lies behind.
 * 4. A failed write or sync of content is the end of this life; a disk too full to extend is not. */
import { assert } from '../base/assert.js'
import type { Position } from '../base/position.js'
import type { Prng } from '../base/prng.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { isWaybillError, WaybillError } from '../errors.js'
import {
  frameBytes,
  frameHeaderBytes,
  kinds,
  payloadBytesMax,
  sealFrame,
  type Kind,
} from '../record/frame.js'
import type { PositionVisitor, SegmentFiles } from './segment-files.js'
import {
  blockBytes,
  encodeSegmentHeader,
  segmentHeaderBytes,
  segmentIndexOf,
  segmentName,
  segmentSeed,
} from './segment.js'

/** Room is made in steps of this, ahead of the need. */
const extendBytesMax = 1024 * 1024
const bufferBytesMin = 64 * 1024
/** What a pad frame at a sync or at the end of a segment may take beyond the group. */
const padBytesMax = blockBytes + frameHeaderBytes

export interface LaneLogOptions {
  readonly disk: Disk
  readonly directory: string
  readonly log: number
  readonly life: number
  readonly prng: Prng
  readonly files: SegmentFiles
  /** The checkpointed end. */
  readonly end: Position
  /** A segment of this log exists. */
  readonly onSegment: (index: number) => void
  /** Room was made: who waits looks again. */
  readonly onRoom: () => void
  /** The disk is too full to make room: `extend` is to be called again when there may be some. */
  readonly onFull: () => void
  /** The end of this life. */
  readonly onFailure: (error: unknown) => void
}

interface Staged {
  readonly index: number
  readonly offsetBytes: number
  buffer: Buffer
  used: number
}

interface OpenFile {
  readonly file: DiskFile
  readonly seed: number
}

export class LaneLog {
  readonly files: SegmentFiles
  readonly #options: LaneLogOptions
  readonly #open = new Map<number, OpenFile>()
  readonly #touched = new Set<number>()
  #end: Position
  #allocatedEnd: Position
  #staged: Staged | undefined
  #writing: Promise<void> = Promise.resolve()
  #wantedBytes = 0
  #extending = false
  #full = false
  #namesChanged = false

  constructor(options: LaneLogOptions) {
    this.#options = options
    this.files = options.files
    this.#end = options.end
    this.#allocatedEnd = options.end
  }

  get end(): Position {
    return this.#end
  }

  /** The last attempt to make room met a full disk. */
  get diskFull(): boolean {
    return this.#full
  }

  /** Cuts the log at its end; segments behind it are removed.
   * @throws WaybillError LOG_CORRUPT when trusted content is missing */
  async recover(): Promise<void> {
    const { disk, directory } = this.#options
    const { grid } = this.files
    const last = grid.indexOf(this.#end)
    const holdsContent = grid.offsetOf(this.#end) > segmentHeaderBytes
    let found = false
    for (const name of await disk.list(directory)) {
      const index = segmentIndexOf(name)
      if (index === undefined)
        throw new WaybillError('LOG_CORRUPT', 'the file is no segment', { path: `${directory}/${name}` })
      if (index < last || (index === last && holdsContent)) {
        this.#options.onSegment(index)
        found ||= index === last
      } else {
        await disk.unlink(`${directory}/${name}`)
        this.#namesChanged = true
      }
    }
    if (!holdsContent) return
    if (!found) throw this.files.corrupt(this.#end, 'the segment is missing')
    await this.#reopen(last)
  }

  /** @throws WaybillError MESSAGE_TOO_LARGE when no segment could hold the group */
  checkFits(groupBytes: number): void {
    const most = this.#groupBytesMost
    if (groupBytes > most)
      throw new WaybillError(
        'MESSAGE_TOO_LARGE',
        `${groupBytes} bytes do not fit a lane's segment, which holds ${most}`,
        { log: this.files.name },
      )
  }

  /** Can a group of this size be appended? When not, room is made for it: `onRoom` tells. */
  hasRoom(groupBytes: number): boolean {
    this.#wantedBytes = Math.max(this.#wantedBytes, groupBytes)
    if (this.#allocatedEnd < this.#target(this.#wantedBytes)) this.extend()
    return this.#allocatedEnd >= this.#target(groupBytes)
  }

  /** Makes place for a group; the appends that follow without a wait belong to it. It lies in one segment. */
  open(groupBytes: number, timeMs: number): void {
    assert(this.#allocatedEnd >= this.#target(groupBytes), 'a lane is appended to only where it has room')
    assert(groupBytes <= this.#groupBytesMost, 'a group fits a segment of its lane')
    const left = this.#leftInSegment()
    if (groupBytes + frameHeaderBytes > left) this.#appendPad(left, timeMs)
    this.#stage(groupBytes)
  }

  append(kind: Kind, lane: number, timeMs: number, payload: Uint8Array): Position {
    const staged = this.#staged!
    const { grid } = this.files
    assert(payload.length <= payloadBytesMax, 'a payload is as long as a frame can say')
    const at = this.#end
    staged.buffer.set(payload, staged.used + frameHeaderBytes)
    const seed = this.#open.get(staged.index)!.seed ^ (staged.offsetBytes + staged.used)
    sealFrame(staged.buffer, staged.used, kind, lane, timeMs, payload.length, seed)
    staged.used += frameBytes(payload.length)
    const endBytes = staged.offsetBytes + staged.used
    if (endBytes < grid.segmentBytes) this.#end = grid.at(staged.index, endBytes)
    else {
      this.#end = grid.firstOf(staged.index + 1)
      this.#flush()
    }
    return at
  }

  /** Pads to a block. What was appended until now can be synced, and vouched for up to the new end. */
  pad(timeMs: number): Position {
    const used = this.files.grid.offsetOf(this.#end) % blockBytes
    if (used > 0) {
      const left = blockBytes - used
      this.#appendPad(left < frameHeaderBytes ? left + blockBytes : left, timeMs)
    }
    return this.#end
  }

  /** Makes durable what was appended before the call, names included. */
  async sync(): Promise<void> {
    this.#flush()
    // Taken in this step: what is flushed while we wait touches its segment anew, for the next sync.
    //    // 1. sync waits for writes  2. more is flushed to segment 8  3. 8 is synced before that is written, and counts as synced
    const touched = [...this.#touched]
    this.#touched.clear()
    await this.#writing
    for (const index of touched) await this.#open.get(index)!.file.sync()
    await this.#closeBefore(this.files.grid.indexOf(this.#end))
    if (!this.#namesChanged) return
    this.#namesChanged = false
    await this.#options.disk.syncDirectory(this.#options.directory)
  }

  /** Visits the frames in [from, end); see SegmentFiles.read. @param end trusted */
  read(from: Position, end: Position, visit: PositionVisitor): Promise<Position> {
    const { grid } = this.files
    return this.files.read(from, end, async (index) => grid.at(index, grid.segmentBytes), visit)
  }

  /** Drops its descriptors: the lane has left the table. */
  async close(): Promise<void> {
    this.#touched.clear()
    await this.#closeBefore(Infinity)
  }

  /** Removes a segment that nobody needs. */
  async forget(index: number): Promise<void> {
    const { disk, directory } = this.#options
    await this.files.forget(index)
    await disk.unlink(`${directory}/${segmentName(index)}`)
    this.#namesChanged = true
  }

  /** Makes room ahead of the end, until there is enough or the disk is full. Returns at once when that is under way. */
  extend(): void {
    if (this.#extending) return
    this.#extending = true
    this.#extendWhileNeeded().then(
      () => {
        this.#extending = false
        this.#full = false
        this.#options.onRoom()
      },
      (error: unknown) => {
        this.#extending = false
        this.#full = isWaybillError(error, 'DISK_FULL')
        if (this.#full) this.#options.onFull()
        else this.#options.onFailure(error)
      },
    )
  }

  async #extendWhileNeeded(): Promise<void> {
    const { grid } = this.files
    const stepBytes = Math.min(extendBytesMax, Math.max(grid.segmentBytes / 4, blockBytes))
    const zeroes = Buffer.alloc(stepBytes)
    while (this.#allocatedEnd < this.#target(this.#wantedBytes + stepBytes)) {
      const index = grid.indexOf(this.#allocatedEnd)
      const offset = grid.offsetOf(this.#allocatedEnd)
      const segment = this.#open.get(index) ?? (await this.#create(index))
      const bytes = Math.min(stepBytes, grid.segmentBytes - offset)
      await segment.file.write(zeroes.subarray(0, bytes), offset)
      const end = offset + bytes
      this.#allocatedEnd = end === grid.segmentBytes ? grid.firstOf(index + 1) : grid.at(index, end)
    }
  }

  /** How far room must be allocated for a group of this size and the pad behind it. */
  #target(groupBytes: number): Position {
    const { grid } = this.files
    const index = grid.indexOf(this.#end)
    if (groupBytes + frameHeaderBytes > this.#leftInSegment())
      return grid.at(index + 1, Math.min(segmentHeaderBytes + groupBytes + padBytesMax, grid.segmentBytes))
    return grid.at(index, Math.min(grid.offsetOf(this.#end) + groupBytes + padBytesMax, grid.segmentBytes))
  }

  get #groupBytesMost(): number {
    return this.files.grid.segmentBytes - segmentHeaderBytes - frameHeaderBytes
  }

  #leftInSegment(): number {
    return this.files.grid.segmentBytes - this.files.grid.offsetOf(this.#end)
  }

  #appendPad(bytes: number, timeMs: number): void {
    this.#stage(bytes)
    this.append(kinds.pad, 0, timeMs, Buffer.alloc(bytes - frameHeaderBytes))
  }

  #stage(bytes: number): void {
    if (this.#staged !== undefined && this.#staged.used + bytes > this.#staged.buffer.length) this.#flush()
    const { grid } = this.files
    this.#staged ??= {
      index: grid.indexOf(this.#end),
      offsetBytes: grid.offsetOf(this.#end),
      buffer: Buffer.allocUnsafeSlow(Math.max(Math.min(bufferBytesMin, grid.segmentBytes), bytes)),
      used: 0,
    }
  }

  /** Hands what is staged to the system, in order behind earlier content. */
  #flush(): void {
    const staged = this.#staged
    if (staged === undefined) return
    this.#staged = undefined
    const { file } = this.#open.get(staged.index)!
    this.#touched.add(staged.index)
    this.#writing = this.#writing.then(() =>
      file.write(staged.buffer.subarray(0, staged.used), staged.offsetBytes),
    )
    this.#writing.catch(this.#options.onFailure)
  }

  async #create(index: number): Promise<OpenFile> {
    const { disk, directory, log, life, prng } = this.#options
    const { segmentBytes } = this.files.grid
    const epoch = [prng.uint32(), prng.uint32()] as const
    const path = `${directory}/${segmentName(index)}`
    const file = await disk.open(path, 'create')
    try {
      await file.write(encodeSegmentHeader({ log, index, segmentBytes, epoch, life }), 0)
    } catch (error) {
      await file.close()
      await disk.unlink(path)
      throw error
    }
    const opened = { file, seed: segmentSeed(log, index, epoch) }
    this.#open.set(index, opened)
    this.#touched.add(index)
    this.#options.onSegment(index)
    this.#namesChanged = true
    return opened
  }

  async #reopen(index: number): Promise<void> {
    const { disk, directory } = this.#options
    const seed = await this.files.with(index, async (segment) => segment.seed)
    const file = await disk.open(`${directory}/${segmentName(index)}`, 'write')
    const lengthBytes = this.files.grid.offsetOf(this.#end)
    if ((await file.size()) < lengthBytes) throw this.files.corrupt(this.#end, 'the segment is cut short')
    await file.truncate(lengthBytes)
    this.#open.set(index, { file, seed })
  }

  async #closeBefore(index: number): Promise<void> {
    for (const [opened, { file }] of this.#open) {
      if (opened >= index || this.#touched.has(opened)) continue
      this.#open.delete(opened)
      await file.close()
    }
  }
}
