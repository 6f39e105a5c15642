/** Performs what group-commit.ts decides: one synced write in flight, in segments that are prepared
 * ahead.
 * Invariant: the first failure of a write or a sync ends this life. Nothing is retried, and nothing
 * that was pending is ever called durable. If a full disk has no room or no name for a segment, the
 * writer waits.
 * Why no thread that spins between two writes: on an idle processor 1 to 30 producers got a tenth
 * to a fifth more; beside one busy process on two processors they got half. */
import type { Clock } from '../base/clock.js'
import { nowhere, type Position } from '../base/position.js'
import type { Prng } from '../base/prng.js'
import { Ring } from '../base/ring.js'
import type { DiskFile } from '../disk/disk.js'
import type { Kind } from '../record/frame.js'
import { GroupCommit } from './group-commit.js'
import { sparesKept, type AppendPurpose } from './append-purpose.js'
import { aloneBytes, ReservedRoom } from './reserved-room.js'
import { segmentSeed, type SegmentGrid } from './segment.js'
import type { SegmentPool } from './segment-pool.js'
import type { SyncStatistics } from './sync-statistics.js'
import type { WriteLimit } from './write-limit.js'

export interface JournalWriterOptions {
  readonly clock: Clock
  readonly prng: Prng
  readonly grid: SegmentGrid
  readonly pool: SegmentPool
  /** Where none is kept, a start searches whole segments. */
  readonly limit?: WriteLimit | undefined
  /** A write of the limit has ended. */
  readonly onLimit?: () => void
  readonly batchBytes: number
  /** The first segment of this life. */
  readonly index: number
  /** Where the last commit that counts ended. */
  readonly previousEnd: Position
  /** Everything before `end` is durable now. */
  readonly onDurable: (end: Position) => void
  /** The next segment is there: there may be room. */
  readonly onPrepared: () => void
  /** A segment was entered. */
  readonly onSegment: (index: number) => void
  readonly onFailure: (error: unknown) => void
}

/** The journal's number among the logs of a queue. */
export const journalLog = 0

interface Waiter {
  readonly end: Position
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export class JournalWriter {
  /** Room for what is on its way. */
  readonly kept: ReservedRoom = new ReservedRoom()
  readonly statistics: SyncStatistics = { syncCount: 0, writtenBytes: 0, syncLastMs: 0, syncTotalMs: 0 }
  readonly #options: JournalWriterOptions
  readonly #commits: GroupCommit
  readonly #epochs = new Map<number, readonly [number, number]>()
  /** By their ends. */
  readonly #waiters = new Ring<Waiter>()
  /** Those that wait for less than one that came before them. */
  #early: Waiter[] = []
  #file: DiskFile | undefined
  #fileIndex: number
  #next: { readonly file: Promise<DiskFile>; hasSpare: boolean }
  #pumping = false
  #inFlightSinceMs: number | undefined
  #soon = false
  /** Bytes before it are to be synced; later ones are not asked for yet. */
  #wantedEnd: Position = nowhere
  #failure: { readonly error: unknown } | undefined

  constructor(options: JournalWriterOptions) {
    this.#options = options
    this.#fileIndex = options.index - 1
    this.#next = this.#prepare(options.index)
    this.#commits = new GroupCommit({
      grid: options.grid,
      seedOf: (index) => segmentSeed(journalLog, index, this.#epochOf(index)),
      batchBytes: options.batchBytes,
      index: options.index,
      previousEnd: options.previousEnd,
    })
  }

  /** The first segment of this life is there. */
  get prepared(): Promise<unknown> {
    return this.#next.file
  }

  get durableEnd(): Position {
    return this.#commits.durableEnd
  }

  get end(): Position {
    return this.#commits.end
  }

  get stagedBytes(): number {
    return this.#commits.stagedBytes
  }

  get segmentIndex(): number {
    return this.#commits.segmentIndex
  }

  /** Since when the batch in flight waits for its segment or for the disk, or the limit for the
   * disk, by the monotonic clock. */
  get inFlightSinceMs(): number | undefined {
    const ofLimit = this.#options.limit?.inFlightSinceMs ?? Infinity
    const sinceMs = Math.min(this.#inFlightSinceMs ?? Infinity, ofLimit)
    return sinceMs === Infinity ? undefined : sinceMs
  }

  /** Begins the first segment of this life with a copy of the newest checkpoint. */
  begin(checkpoint: Buffer): void {
    this.#commits.begin(checkpoint, this.#options.clock.wallMs())
    this.want()
  }

  /** Is there room for a group, given what it is appended for? 'wait' when a segment is still being
   * made; 'no' when the disk is full. */
  room(groupBytes: number, purpose: AppendPurpose): 'yes' | 'wait' | 'no' {
    const leaves = this.#commits.leavesSegment(groupBytes + this.#leftAloneBytes(purpose))
    const entered = this.#commits.segmentIndex - this.#fileIndex
    // On a full disk outcomes may have entered a segment that is not made: groups behind them
    // become durable as late as they do.
    const isThere = entered === 0 || this.#next.hasSpare
    // New mail does not use a segment that was taken from the reserve, even if it would fit.
    if (!leaves && isThere && purpose !== 'new mail') return 'yes'
    const { pool } = this.#options
    // Segments that were entered and do not exist yet take their spares first.
    const left = (this.#next.hasSpare ? 1 : 0) + pool.readyCount - entered - (leaves ? 1 : 0)
    if (left >= sparesKept[purpose]) return 'yes'
    return pool.diskFull ? 'no' : 'wait'
  }

  /** Bytes behind the group that must stay free for others. New mail leaves whole segments. */
  #leftAloneBytes(purpose: AppendPurpose): number {
    if (purpose === 'new mail') return 0
    const { checkpointBytes } = this.#commits
    const keptBytes = this.kept.bytes(checkpointBytes)
    return purpose === 'accepted mail' ? keptBytes + aloneBytes(checkpointBytes) : keptBytes
  }

  /** Makes room for a group; see GroupCommit.open. */
  open(groupBytes: number): void {
    if (this.#commits.openHere(groupBytes)) return
    const before = this.#commits.segmentIndex
    this.#commits.open(groupBytes, this.#options.clock.wallMs())
    if (this.#commits.segmentIndex !== before) {
      this.want()
      this.#options.onSegment(this.#commits.segmentIndex)
    }
  }

  aim(): void {
    this.#commits.aim()
  }

  appendWritten(kind: Kind, lane: number, timeMs: number): Position {
    return this.#commits.appendWritten(kind, lane, timeMs)
  }

  append(kind: Kind, lane: number, timeMs: number, payload: Uint8Array): Position {
    return this.#commits.append(kind, lane, timeMs, payload)
  }

  appendData(lane: number, timeMs: number, data: Uint8Array): number {
    return this.#commits.appendData(lane, timeMs, data)
  }

  get groupBytesMost(): number {
    return this.#commits.groupBytesMost
  }

  checkFits(groupBytes: number): void {
    this.#commits.checkFits(groupBytes)
  }

  rememberCheckpoint(payload: Buffer, at: Position): void {
    this.#commits.rememberCheckpoint(payload, at)
  }

  /** Asks for a commit of what is appended. It begins at the end of this turn of the event loop, so
   * that all appends in it share it. */
  want(): void {
    this.#wantedEnd = this.end
    if (this.#soon || this.#pumping) return
    this.#soon = true
    this.#options.clock.soon(() => {
      this.#soon = false
      void this.#pump()
    })
  }

  /** Settles when everything before `end` is durable; rejects with the failure that
   * ended this life. */
  whenDurable(end: Position): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error)
    if (end <= this.durableEnd) return Promise.resolve()
    this.want()
    return new Promise((resolve, reject) => {
      const { length } = this.#waiters
      const last = length === 0 ? undefined : this.#waiters.at(length - 1)
      const waiters = last !== undefined && end < last.end ? this.#early : this.#waiters
      waiters.push({ end, resolve, reject })
    })
  }

  /** Ends this life: all waits reject, and nothing is written any more. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = { error }
    for (let waiter = this.#waiters.shift(); waiter !== undefined; waiter = this.#waiters.shift())
      waiter.reject(error)
    for (const waiter of this.#early.splice(0)) waiter.reject(error)
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return
    this.#pumping = true
    try {
      do {
        const batch = this.#commits.take(this.#options.clock.wallMs())
        if (batch === undefined) this.#wantedEnd = nowhere
        if (batch === undefined || this.#failure !== undefined) break
        this.#inFlightSinceMs = this.#options.clock.monotonicMs()
        if (batch.index !== this.#fileIndex) await this.#enter(batch.index)
        const { limit, onFailure, onLimit } = this.#options
        const endBytes = batch.offsetBytes + batch.used
        const reaches = limit?.whenReaches(batch.index, endBytes)
        if (reaches !== undefined) await reaches
        if (!this.#isOver()) await this.#write(batch.buffer.subarray(0, batch.used), batch.offsetBytes)
        if (this.#isOver()) break
        this.#commits.written()
        limit?.raiseAhead(batch.index, endBytes)?.then(onLimit, onFailure)
        this.#inFlightSinceMs = undefined
        this.#settle()
      } while (this.#commits.hasSealed)
    } catch (error) {
      this.#options.onFailure(error)
    }
    this.#pumping = false
    // One turn later, so that callers who resume now share the next sync.
    if (this.durableEnd < this.#wantedEnd && !this.#isOver()) this.want()
  }

  #isOver(): boolean {
    return this.#failure !== undefined
  }

  #settle(): void {
    const end = this.durableEnd
    for (
      let waiter = this.#waiters.peek();
      waiter !== undefined && waiter.end <= end;
      waiter = this.#waiters.peek()
    ) {
      this.#waiters.shift()
      waiter.resolve()
    }
    if (this.#early.length > 0) this.#settleEarly(end)
    this.#options.onDurable(end)
  }

  #settleEarly(end: Position): void {
    const early = this.#early
    this.#early = early.filter((waiter) => waiter.end > end)
    for (const waiter of early) if (waiter.end <= end) waiter.resolve()
  }

  async #write(bytes: Buffer, offsetBytes: number): Promise<void> {
    const { clock } = this.#options
    const startedAt = clock.monotonicMs()
    await this.#file!.write(bytes, offsetBytes)
    const { statistics } = this
    statistics.syncLastMs = clock.monotonicMs() - startedAt
    statistics.syncTotalMs += statistics.syncLastMs
    statistics.syncCount++
    statistics.writtenBytes += bytes.length
  }

  /** Moves on to a segment whose predecessors are all durable: batches are written in
   * order, each synced. */
  async #enter(index: number): Promise<void> {
    const file = await this.#next.file
    await this.#file?.close()
    this.#file = file
    this.#fileIndex = index
    this.#epochs.delete(index)
    this.#next = this.#prepare(index + 1)
  }

  #prepare(index: number): { readonly file: Promise<DiskFile>; hasSpare: boolean } {
    const { pool, limit, onPrepared, onFailure } = this.#options
    const spares = pool.readyCount
    const epoch = this.#epochOf(index)
    const prepared = pool.prepare(index, epoch)
    const added = limit && prepared.then(() => limit.add(index, epoch))
    const file = added === undefined ? prepared : added.then(() => prepared)
    const next = { file, hasSpare: pool.readyCount < spares }
    next.file.then(() => {
      next.hasSpare = true
      onPrepared()
      this.#options.onLimit?.()
    }, onFailure)
    pool.refill().catch(onFailure)
    return next
  }

  #epochOf(index: number): readonly [number, number] {
    const { prng } = this.#options
    const epoch = this.#epochs.get(index) ?? [prng.uint32(), prng.uint32()]
    this.#epochs.set(index, epoch)
    return epoch
  }
}
