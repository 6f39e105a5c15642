/** Group commit: many appends, one sync.
 * Invariant: appended bytes are durable only when a write that STARTED after the append RETURNED
 * has returned; the write in flight proves nothing about them. One batch is in flight at a time, in
 * the order of positions. A batch lies in one segment, and a group in one batch.
 * Pure: journal-writer.ts performs the writes that `take` hands out.
 *
 *      durableEnd         sealed, waiting             filling
 *   ────┤ batch in flight ├──────────────┤├───────────────┤→ end
 *
 * Why not one sync per append: bench/commit.ts holds the numbers. */
import { assert } from '../base/assert.js'
import { crc32Of } from '../base/checksum.js'
import type { Position } from '../base/position.js'
import { Ring } from '../base/ring.js'
import { WaybillError } from '../errors.js'
import {
  frameBytes,
  frameHeaderBytes,
  kinds,
  payloadBytesMax,
  sealFrame,
  type Kind,
} from '../record/frame.js'
import { payload as writer } from '../record/payload-writer.js'
import { checksumWith, commitBytesAt, commitBytesMin, sealBatch } from './commit-frame.js'
import { blockBytes, roundUpToBlock, segmentHeaderBytes, type SegmentGrid } from './segment.js'

/** A commit frame at its longest. */
const commitBytesMax = blockBytes + commitBytesMin
const freeBuffersMax = 4

/** One write: `buffer` up to `used`, at `offsetBytes` of segment `index`. */
export interface Batch {
  readonly index: number
  readonly offsetBytes: number
  readonly seed: number
  buffer: Buffer
  used: number
  /** Checksum of its frames (commit-frame.ts). */
  checksum: number
}

export interface GroupCommitOptions {
  readonly grid: SegmentGrid
  /** The seed of a segment that is about to be entered. */
  readonly seedOf: (index: number) => number
  /** A batch is sealed when it reaches this; a longer group makes a longer batch. */
  readonly batchBytes: number
  /** The segment to begin. */
  readonly index: number
  /** Where the last commit that counts ended. */
  readonly previousEnd: Position
}

export class GroupCommit {
  readonly #grid: SegmentGrid
  readonly #seedOf: (index: number) => number
  readonly #bufferBytes: number
  readonly #sealed = new Ring<Batch>()
  readonly #freeBuffers: Buffer[] = []
  #filling: Batch
  #inFlight: Batch | undefined
  #previousEnd: Position
  #durableEnd: Position
  #sealedBytes = 0
  /** The newest checkpoint appended: every segment begins with a copy of it. */
  #checkpoint: Buffer = Buffer.alloc(0)
  /** Offset in the segment that is being filled of the newest checkpoint in it. */
  #checkpointOffset = 0

  constructor({ grid, seedOf, batchBytes, index, previousEnd }: GroupCommitOptions) {
    this.#grid = grid
    this.#seedOf = seedOf
    this.#bufferBytes = batchBytes + commitBytesMax
    this.#previousEnd = previousEnd
    this.#durableEnd = previousEnd
    this.#filling = this.#batch(index, segmentHeaderBytes)
  }

  /** Everything before is durable. */
  get durableEnd(): Position {
    return this.#durableEnd
  }

  /** Where the next frame goes, unless a new segment has to be entered for it. */
  get end(): Position {
    return this.#grid.at(this.#filling.index, this.#filling.offsetBytes + this.#filling.used)
  }

  /** Bytes appended and not yet durable; when they are too many, submitters wait. */
  get stagedBytes(): number {
    return (this.#inFlight?.used ?? 0) + this.#sealedBytes + this.#filling.used
  }

  /** A batch is complete and waits for its turn. */
  get hasSealed(): boolean {
    return this.#sealed.length > 0
  }

  get segmentIndex(): number {
    return this.#filling.index
  }

  /** Bytes of the newest checkpoint's frame. */
  get checkpointBytes(): number {
    return frameBytes(this.#checkpoint.length)
  }

  /** The largest group that fits a segment, bytes. */
  get groupBytesMost(): number {
    return this.#grid.segmentBytes - segmentHeaderBytes - this.checkpointBytes - commitBytesMax
  }

  /** @throws WaybillError MESSAGE_TOO_LARGE when no segment could hold the group */
  checkFits(groupBytes: number): void {
    const most = this.groupBytesMost
    if (groupBytes > most)
      throw new WaybillError(
        'MESSAGE_TOO_LARGE',
        `a group of ${groupBytes} bytes does not fit a segment, which holds ${most}`,
      )
  }

  /** Would this group have to enter the next segment? If what is staged must be sealed first, its
   * padding counts. */
  leavesSegment(groupBytes: number): boolean {
    const staged = this.#filling.offsetBytes + this.#filling.used
    if (staged + groupBytes + 2 * commitBytesMax <= this.#grid.segmentBytes) return false
    const from = this.#sealsFor(groupBytes) ? staged + commitBytesAt(staged) : staged
    return roundUpToBlock(from + groupBytes + commitBytesMin) > this.#grid.segmentBytes
  }

  /** Makes room for a group in the batch that is being filled: the common and fast case of `open`.
   * @returns false if the batch has to be sealed first */
  openHere(groupBytes: number): boolean {
    return this.#filling.used > 0 && !this.#sealsFor(groupBytes) && !this.leavesSegment(groupBytes)
  }

  /** Makes room for a group; the `append`s that follow without a wait belong to it.
   * @param groupBytes the sum of its frames, in bytes
   * @throws WaybillError MESSAGE_TOO_LARGE */
  open(groupBytes: number, timeMs: number): void {
    this.checkFits(groupBytes)
    if (this.leavesSegment(groupBytes)) this.#enterNextSegment(groupBytes, timeMs)
    else {
      if (this.#sealsFor(groupBytes)) this.#seal(timeMs)
      this.#fit(groupBytes)
    }
  }

  /** The payload that is written next is to stand where its frame will be: `appendWritten` then has
   * nothing to copy, and its group needs no more room than the batch has. */
  aim(): void {
    const { buffer, used, offsetBytes } = this.#filling
    const end = Math.min(buffer.length, this.#grid.segmentBytes - offsetBytes)
    writer.aim(buffer, used + frameHeaderBytes, end - commitBytesMax - 7)
  }

  /** Appends the payload that was written, as the next frame of the group that was opened. */
  appendWritten(kind: Kind, lane: number, timeMs: number): Position {
    const batch = this.#filling
    const at = batch.used
    if (!writer.isAt(batch.buffer, at + frameHeaderBytes))
      return this.append(kind, lane, timeMs, writer.end())
    const payloadBytes = writer.bytes
    writer.drop()
    const seed = batch.seed ^ (batch.offsetBytes + at)
    sealFrame(batch.buffer, at, kind, lane, timeMs, payloadBytes, seed)
    return this.#appended(frameBytes(payloadBytes))
  }

  /** Appends one frame of the group that was opened. */
  append(kind: Kind, lane: number, timeMs: number, payload: Uint8Array): Position {
    const { buffer, used: at, seed, offsetBytes } = this.#copied(payload)
    sealFrame(buffer, at, kind, lane, timeMs, payload.length, seed ^ (offsetBytes + at))
    return this.#appended(frameBytes(payload.length))
  }

  /** Appends a message's data as a frame of the group that was opened. Its checksum is computed
   * once, for frame and envelope, and from the copy, which nobody else can change:
   *    1. the checksum of the caller's buffer is taken
   *    2. another thread writes into that buffer
   *    3. the copy is sealed with the old checksum, and the batch is settled
   *    4. at the next start the batch does not verify: its mail is cut
   * @returns CRC-32 of the data */
  appendData(lane: number, timeMs: number, data: Uint8Array): number {
    const { buffer, used: at, seed, offsetBytes } = this.#copied(data)
    const dataAt = at + frameHeaderBytes
    const checksum = crc32Of(buffer, dataAt, dataAt + data.length, 0)
    sealFrame(buffer, at, kinds.data, lane, timeMs, data.length, seed ^ (offsetBytes + at), checksum)
    this.#appended(frameBytes(data.length))
    return checksum
  }

  /** Begins the log's first segment of this life, with a copy of the newest checkpoint. */
  begin(checkpoint: Buffer, timeMs: number): void {
    this.open(frameBytes(checkpoint.length), timeMs)
    this.#checkpoint = checkpoint
    this.#copyCheckpoint(timeMs)
  }

  /** Keeps the checkpoint that was appended last, for the commits and the segments to come. */
  rememberCheckpoint(payload: Buffer, at: Position): void {
    this.#checkpoint = payload
    this.#checkpointOffset = this.#grid.offsetOf(at)
  }

  /** The next batch to write, if none is in flight and there is one. */
  take(timeMs: number): Batch | undefined {
    if (this.#inFlight !== undefined) return undefined
    if (this.#sealed.length === 0 && this.#filling.used > 0) this.#seal(timeMs)
    this.#inFlight = this.#sealed.shift()
    this.#sealedBytes -= this.#inFlight?.used ?? 0
    return this.#inFlight
  }

  /** The batch that was taken is durable. */
  written(): void {
    const batch = this.#inFlight
    assert(batch !== undefined, 'a batch that was written had been taken')
    this.#inFlight = undefined
    this.#durableEnd = this.#grid.at(batch.index, batch.offsetBytes + batch.used)
    if (batch.buffer.length === this.#bufferBytes && this.#freeBuffers.length < freeBuffersMax)
      this.#freeBuffers.push(batch.buffer)
  }

  /** The batch that is being filled, with the payload where the next frame has it. */
  #copied(payload: Uint8Array): Batch {
    const batch = this.#filling
    assert(payload.length <= payloadBytesMax, 'a payload is as long as a frame can say')
    assert(
      batch.used + frameBytes(payload.length) <= batch.buffer.length,
      'a group takes no more than it asked for',
    )
    batch.buffer.set(payload, batch.used + frameHeaderBytes)
    return batch
  }

  /** The next frame is sealed. */
  #appended(bytes: number): Position {
    const batch = this.#filling
    const at = batch.used
    batch.checksum = checksumWith(batch.checksum, batch.buffer, at)
    batch.used += bytes
    return this.#grid.at(batch.index, batch.offsetBytes + at)
  }

  /** Is the batch that is being filled too full for this group? */
  #sealsFor(groupBytes: number): boolean {
    const { used, buffer } = this.#filling
    return used > 0 && used + groupBytes + commitBytesMax > buffer.length
  }

  #enterNextSegment(groupBytes: number, timeMs: number): void {
    if (this.#filling.used > 0) this.#seal(timeMs)
    this.#filling = this.#batch(this.#filling.index + 1, segmentHeaderBytes)
    this.#fit(groupBytes + this.checkpointBytes)
    this.#copyCheckpoint(timeMs)
  }

  #copyCheckpoint(timeMs: number): void {
    const at = this.append(kinds.checkpoint, 0, timeMs, this.#checkpoint)
    this.#checkpointOffset = this.#grid.offsetOf(at)
  }

  #seal(timeMs: number): void {
    const batch = this.#filling
    batch.used = sealBatch(batch.buffer, batch.used, batch.offsetBytes, batch.seed, timeMs, {
      previousEnd: this.#previousEnd,
      checksum: batch.checksum,
      checkpoint: this.#checkpointOffset,
    })
    const endBytes = batch.offsetBytes + batch.used
    this.#previousEnd = this.#grid.at(batch.index, endBytes)
    this.#sealed.push(batch)
    this.#sealedBytes += batch.used
    this.#filling = this.#batch(batch.index, endBytes, batch.seed)
  }

  #fit(groupBytes: number): void {
    const needed = this.#filling.used + groupBytes + commitBytesMax
    if (needed > this.#filling.buffer.length) this.#filling.buffer = Buffer.allocUnsafeSlow(needed)
  }

  #batch(index: number, offsetBytes: number, seed = this.#seedOf(index)): Batch {
    const buffer = this.#freeBuffers.pop() ?? Buffer.allocUnsafeSlow(this.#bufferBytes)
    return { index, offsetBytes, seed, buffer, used: 0, checksum: 0 }
  }
}
