/** A lane's log: appended through a buffer, synced by checkpoints, trusted up to the checkpointed
 * end.
 * Invariants:
 * 1. A group is appended only into allocated room (zeroes were written there), so only `extend`
 *    meets a full disk, and can wait.
 * 2. Before each sync the log is padded to a block: no later write touches a trusted block.
 * 3. A start cuts the log at the checkpointed end without reading behind it.
 * 4. A failed write or sync of content ends this life; a disk too full to extend does not. */
import { assert } from '../base/assert.js'
import type { Position } from '../base/position.js'
import { zeroes } from '../disk/zeroes.js'
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
import { LaneSegments, type LaneSegmentsOptions } from './lane-segments.js'
import { blockBytes, segmentHeaderBytes } from './segment.js'

/** Room is made in steps of this, ahead of the need. */
const extendBytesMax = 1024 * 1024
/** The same at the beginning of a segment: a lane that is not used keeps little of the disk. */
const extendBytesFirst = 256 * 1024
const bufferBytesMin = 64 * 1024
/** The bound of a pad frame at a sync or at the end of a segment. */
const padBytesMax = blockBytes + frameHeaderBytes

export interface LaneLogOptions extends LaneSegmentsOptions {
  /** The checkpointed end. */
  readonly end: Position
  /** Room was made: waiting work looks again. */
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

export class LaneLog {
  readonly files: SegmentFiles
  readonly #options: LaneLogOptions
  readonly #segments: LaneSegments
  #end: Position
  #allocatedEnd: Position
  #staged: Staged | undefined
  #wantedBytes = 0
  #extending = false
  #full = false

  constructor(options: LaneLogOptions) {
    this.#options = options
    this.files = options.files
    this.#segments = new LaneSegments(options)
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

  /** Room is being made: files may be created. */
  get isExtending(): boolean {
    return this.#extending
  }

  /** Cuts the log at its end and removes the segments behind it; some allocated room stays.
   * @throws WaybillError LOG_CORRUPT when trusted content is missing */
  async recover(): Promise<void> {
    const { grid } = this.files
    const offset = grid.offsetOf(this.#end)
    const lengthBytes = offset > segmentHeaderBytes ? offset : 0
    const roomBytesMax = this.#stepBytesAt(offset) + 2 * padBytesMax
    const room = zeroes(Math.min(roomBytesMax, grid.segmentBytes - offset))
    const roomBytes = await this.#segments.cut(grid.indexOf(this.#end), lengthBytes, room)
    if (roomBytes > 0) this.#allocatedEnd = this.#after(grid.indexOf(this.#end), offset + roomBytes)
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
    // On a full disk the owner tries again from time to time.
    if (!this.#full && this.#allocatedEnd < this.#target(this.#wantedBytes)) this.extend()
    return this.#allocatedEnd >= this.#target(groupBytes)
  }

  /** Makes room for a group, in one segment; the appends that follow without a wait belong to
   * it. */
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
    const seed = this.#segments.seedOf(staged.index) ^ (staged.offsetBytes + staged.used)
    sealFrame(staged.buffer, staged.used, kind, lane, timeMs, payload.length, seed)
    staged.used += frameBytes(payload.length)
    const endBytes = staged.offsetBytes + staged.used
    this.#end = this.#after(staged.index, endBytes)
    if (endBytes === grid.segmentBytes) this.#flush()
    return at
  }

  /** Pads to a block. Bytes appended until now can then be synced, and trusted up to the new
   * end. */
  pad(timeMs: number): Position {
    const used = this.files.grid.offsetOf(this.#end) % blockBytes
    if (used > 0) {
      const left = blockBytes - used
      this.#appendPad(left < frameHeaderBytes ? left + blockBytes : left, timeMs)
    }
    return this.#end
  }

  /** Makes durable all that was appended before the call, names included. */
  async sync(): Promise<void> {
    this.#flush()
    await this.#segments.sync(this.files.grid.indexOf(this.#end))
  }

  /** Hands all that was appended to the system, so that it can be read. */
  written(): Promise<void> {
    this.#flush()
    return this.#segments.written
  }

  /** Visits the frames in [from, end); see SegmentFiles.read. @param end trusted, or written */
  read(from: Position, end: Position, visit: PositionVisitor, window?: Buffer): Promise<Position> {
    const { grid } = this.files
    return this.files.read(from, end, async (index) => grid.at(index, grid.segmentBytes), visit, window)
  }

  /** Closes descriptors and removes unfinished segments: the lane has left the table. */
  close(): Promise<void> {
    return this.#segments.close()
  }

  /** Removes a garbage segment. @throws WaybillError DISK_FULL: call it again; DISK_FAILED */
  forget(index: number): Promise<void> {
    return this.#segments.remove(index)
  }

  /** Makes room ahead of the end, until there is enough or the disk is full. Returns at once when
   * that is under way. */
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
    for (;;) {
      const index = grid.indexOf(this.#allocatedEnd)
      const offset = grid.offsetOf(this.#allocatedEnd)
      const stepBytes = this.#stepBytesAt(offset)
      if (this.#allocatedEnd >= this.#target(this.#wantedBytes + stepBytes)) break
      const bytes = Math.min(stepBytes, grid.segmentBytes - offset)
      await this.#segments.allocate(index, offset, zeroes(bytes))
      this.#allocatedEnd = this.#after(index, offset + bytes)
    }
  }

  /** Room that is made at a time, behind so many bytes of a segment. */
  #stepBytesAt(offset: number): number {
    const most = offset < extendBytesMax ? Math.min(extendBytesFirst, extendBytesMax) : extendBytesMax
    return Math.min(most, Math.max(this.files.grid.segmentBytes / 4, blockBytes))
  }

  /** The position of an offset in a segment. */
  #after(index: number, endBytes: number): Position {
    const { grid } = this.files
    return endBytes < grid.segmentBytes ? grid.at(index, endBytes) : grid.firstOf(index + 1)
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
    const { index, offsetBytes, buffer, used } = staged
    this.#segments.write(index, offsetBytes, buffer.subarray(0, used)).catch(this.#options.onFailure)
  }
}
