/** The one log that is synced: append a group, wait until it is durable, read, forget segments.
 * Invariant: only log/ and recovery/ know of batches. */
import type { Position } from '../base/position.js'
import { frameBytes, type Kind } from '../record/frame.js'
import { payload } from '../record/payload-writer.js'
import type { AppendPurpose } from './append-purpose.js'
import { JournalReader } from './journal-reader.js'
import type { ReservedRoom } from './reserved-room.js'
import type { JournalWriter } from './journal-writer.js'
import type { SyncStatistics } from './sync-statistics.js'
import type { Frame, PositionVisitor, SegmentFiles } from './segment-files.js'
import type { SegmentPool } from './segment-pool.js'
import type { SegmentGrid } from './segment.js'

export const journalDirectory = 'journal'

export class Journal {
  readonly grid: SegmentGrid
  readonly files: SegmentFiles
  readonly #writer: JournalWriter
  readonly #reader: JournalReader
  readonly #pool: SegmentPool
  #groupCount = 0

  constructor(writer: JournalWriter, files: SegmentFiles, pool: SegmentPool) {
    this.grid = files.grid
    this.files = files
    this.#writer = writer
    this.#reader = new JournalReader(files)
    this.#pool = pool
  }

  /** Makes room for a group of frames; the `append`s that follow without a wait belong to it.
   * @param groupBytes the sum of its frames, `frameBytes` each
   * @throws WaybillError MESSAGE_TOO_LARGE when no segment could hold it */
  open(groupBytes: number): void {
    this.#groupCount++
    this.#writer.open(groupBytes)
  }

  /** Appends a frame of the open group. It is durable when `durableEnd` has passed its end. */
  append(kind: Kind, lane: number, timeMs: number, payload: Uint8Array): Position {
    return this.#writer.append(kind, lane, timeMs, payload)
  }

  /** Appends a message's data as a frame of the open group.
   * @returns its CRC-32 as it stands there */
  appendData(lane: number, timeMs: number, data: Uint8Array): number {
    return this.#writer.appendData(lane, timeMs, data)
  }

  /** The payload that is written next (record/payload-writer.ts) is written into the batch itself,
   * which saves an object and a copy. All frequent records are written so. */
  aim(): void {
    this.#writer.aim()
  }

  /** Appends the written payload as the last frame of the open group. */
  appendWritten(kind: Kind, lane: number, timeMs: number): Position {
    return this.#writer.appendWritten(kind, lane, timeMs)
  }

  /** Appends the written payload as a frame that is a group by itself. */
  appendAlone(kind: Kind, lane: number, timeMs: number): Position {
    this.open(frameBytes(payload.bytes))
    return this.#writer.appendWritten(kind, lane, timeMs)
  }

  /** The largest group that fits a segment, bytes. */
  get groupBytesMost(): number {
    return this.#writer.groupBytesMost
  }

  /** @throws WaybillError MESSAGE_TOO_LARGE when no segment could hold the group */
  checkFits(groupBytes: number): void {
    this.#writer.checkFits(groupBytes)
  }

  /** Is there room for a group, given what it is appended for? 'wait': a segment is being made;
   * 'no': the disk is full. */
  room(groupBytes: number, purpose: AppendPurpose): 'yes' | 'wait' | 'no' {
    return this.#writer.room(groupBytes, purpose)
  }

  /** Reserves room for later groups; these are then appended without asking `room`. */
  get kept(): ReservedRoom {
    return this.#writer.kept
  }

  /** Asks for a sync of all that is appended, without waiting. */
  want(): void {
    this.#writer.want()
  }

  /** Settles when everything before `end` is durable.
   * @throws by rejection: the error that has ended this life */
  whenDurable(end: Position): Promise<void> {
    return this.#writer.whenDurable(end)
  }

  /** Everything before it is durable. */
  get durableEnd(): Position {
    return this.#writer.durableEnd
  }

  /** Everything before it is appended. */
  get end(): Position {
    return this.#writer.end
  }

  /** Groups appended in this life. */
  get groupCount(): number {
    return this.#groupCount
  }

  /** Bytes appended and not yet durable. */
  get stagedBytes(): number {
    return this.#writer.stagedBytes
  }

  /** When the batch in flight was handed to the disk, by the monotonic clock; undefined: none
   * is. */
  get inFlightSinceMs(): number | undefined {
    return this.#writer.inFlightSinceMs
  }

  /** Synced writes of this life. */
  get statistics(): Readonly<SyncStatistics> {
    return this.#writer.statistics
  }

  /** Spare segments ready, and whether the disk was too full to make one. */
  get spares(): { readonly readyCount: number; readonly diskFull: boolean } {
    return { readyCount: this.#pool.readyCount, diskFull: this.#pool.diskFull }
  }

  /** The checkpoint that was appended last, at `at`: commits name it from here on, and every
   * segment to come begins with a copy. */
  rememberCheckpoint(payload: Buffer, at: Position): void {
    this.#writer.rememberCheckpoint(payload, at)
  }

  /** The frame at a position. @throws WaybillError LOG_CORRUPT */
  frame(at: Position, payloadBytes?: number): Promise<Frame> {
    return this.files.frame(at, payloadBytes)
  }

  /** Visits the frames in [from, end); see SegmentFiles.read. */
  read(from: Position, end: Position, visit: PositionVisitor, window?: Buffer): Promise<Position> {
    return this.#reader.read(from, end, visit, window)
  }

  /** Recycles garbage segments. */
  async forget(indexes: readonly number[]): Promise<void> {
    for (const index of indexes) await this.#reader.forget(index)
    await this.#pool.recycle(indexes)
    await this.#pool.refill()
  }

  /** The last spare is for the end of a recovery, from here until `keepLastSpare`. */
  releaseLastSpare(): void {
    this.#pool.keepLast(false)
  }

  keepLastSpare(): void {
    this.#pool.keepLast(true)
  }

  /** Tries again to make spares, when the disk was full. */
  refill(): Promise<void> {
    return this.#pool.refill()
  }

  /** The disk is short of room: unlinks spares beyond the reserve. */
  shrink(): Promise<void> {
    return this.#pool.shrink()
  }

  /** Ends this life: all waits reject. */
  fail(error: unknown): void {
    this.#writer.fail(error)
  }
}
