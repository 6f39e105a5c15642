/** Makes restart positions durable, and releases segments that become garbage.
 * Invariants (README.md in this folder has the crash stories):
 * 1. One checkpoint is under way at a time, and none before recovery has ended.
 * 2. Its steps are in order: capture; sync the lanes' writes and names; append the record.
 * 3. When the record is durable, lanes are trusted further.
 * 4. Only when a batch behind it is durable, too, segments are released and recycled. */
import type { Timer } from '../../base/clock.js'
import { position, type Position } from '../../base/position.js'
import type { Journal } from '../../log/journal.js'
import { encodeCheckpoint } from '../../record/checkpoint.js'
import { frameBytes, kinds } from '../../record/frame.js'
import { carryOld } from './carry.js'
import { capture, readyForCapture, type Captured } from './capture.js'
import type { Parts } from '../life/parts.js'
import { checkpointing } from '../life/tracing.js'
import { isNothing, type Reclaim } from './reclaim.js'

export interface CheckpointerOptions {
  /** The number of this life. */
  readonly life: number
  /** Where the checkpoint that this life began with has its suffix. */
  readonly suffix: Position
  readonly reclaim: Reclaim
  readonly onCapture: () => void
  /** The checkpoint is durable: lanes are trusted further. */
  readonly onDurable: () => void
  /** What it made garbage is released. */
  readonly onReleased: (captured: Captured) => void
}

export class Checkpointer {
  readonly #parts: Parts
  readonly #options: CheckpointerOptions
  #running = false
  #underWay: Promise<void> | undefined
  #next: Promise<void> | undefined
  #timer: Timer | undefined
  #timerAt = Infinity
  #groupCount = -1
  /** Something else than the journal has gone on since the last capture. */
  #isOutdated = false
  #count = 0
  #suffix: Position

  constructor(parts: Parts, options: CheckpointerOptions) {
    this.#parts = parts
    this.#options = options
    this.#suffix = options.suffix
  }

  /** Checkpoints taken in this life. */
  get count(): number {
    return this.#count
  }

  /** A start now would read the journal from here on: the suffix of the last durable one. */
  get suffix(): Position {
    return this.#suffix
  }

  /** Recovery has ended: takes the first one. */
  async run(): Promise<void> {
    this.#running = true
    await this.now()
  }

  /** Something happened: there will be a checkpoint within this time, milliseconds. */
  want(withinMs: number = this.#parts.options.checkpointIntervalMs): void {
    const { clock, checkpointIntervalMs } = this.#parts.options
    if (!this.#running || !this.#saysMore) return
    // There is one within the interval: it was asked for before.
    if (this.#timer !== undefined && withinMs >= checkpointIntervalMs) return
    const at = clock.monotonicMs() + Math.min(withinMs, checkpointIntervalMs)
    if (this.#timer !== undefined && this.#timerAt <= at) return
    this.#timer?.cancel()
    this.#timerAt = at
    this.#timer = clock.after(Math.min(withinMs, checkpointIntervalMs), () => {
      this.#timer = undefined
      this.#timerAt = Infinity
      // Only the record of the last checkpoint may have been appended since: another one would say
      // the same, for ever.
      if (this.#saysMore) this.#parts.life.run(this.now())
    })
  }

  /** As `want`, though nothing was appended: another one would say more than the last. */
  wantAgain(): void {
    this.#isOutdated = true
    this.want()
  }

  /** The last one that is asked for now; undefined: none is under way. */
  get underWay(): Promise<void> | undefined {
    return this.#next ?? this.#underWay
  }

  /** A checkpoint that is captured after this call; settles when it is durable. */
  now(): Promise<void> {
    if (!this.#running) return Promise.resolve()
    if (this.#underWay === undefined) {
      const take = (): Promise<void> => this.#take()
      const taken = checkpointing.hasSubscribers
        ? checkpointing.tracePromise(take, { count: this.#count })
        : take()
      this.#underWay = taken.finally(() => {
        this.#underWay = undefined
      })
      // A failed checkpoint is not tried again, for any caller.
      this.#parts.life.run(this.#underWay)
      return this.#underWay
    }
    // The one under way was captured before this call, perhaps: the next one counts, for all who
    // ask meanwhile.
    this.#next ??= this.#underWay.then(() => {
      this.#next = undefined
      return this.now()
    })
    return this.#next
  }

  stop(): void {
    this.#running = false
    this.#timer?.cancel()
  }

  /** Another one would not say the same as the last. */
  get #saysMore(): boolean {
    return this.#isOutdated || this.#parts.journal.groupCount !== this.#groupCount
  }

  async #take(): Promise<void> {
    const { journal, lanes, spool, keys, outcomes, life } = this.#parts
    while (!readyForCapture(this.#parts)) await this.#options.reclaim.roomChange()
    // What has been active for too long gets a new start, so that the suffix stays short.
    carryOld(this.#parts, journal.end - this.#parts.options.suffixBytesMax)
    this.#isOutdated = false
    const captured = capture(this.#parts, this.#options.life)
    this.#options.onCapture()
    await Promise.all(
      [...lanes].map(async ({ logs }) => {
        await logs?.envelopes.sync()
        await logs?.data.sync()
      }),
    )
    for (const { log } of [keys, outcomes]) if (log !== undefined) await log.sync()
    await spool.syncNames()
    life.check()
    const payload = encodeCheckpoint(captured.checkpoint)
    while (this.#roomFor(payload) !== 'yes') await this.#options.reclaim.roomChange()
    await this.#append(payload)
    if (life.isOver) return
    this.#groupCount = Math.max(this.#groupCount, captured.groupCount + 1)
    for (const { lane, envelopesEnd } of captured.checkpoint.lanes) lanes.get(lane).trustedEnd = envelopesEnd
    keys.checkpointed()
    this.#suffix = captured.checkpoint.suffix
    this.#count++
    this.#options.onDurable()
    const garbage = this.#options.reclaim.confirm(captured)
    if (!isNothing(garbage)) await this.#outlive(payload)
    if (life.isOver) return
    await this.#options.reclaim.reclaim(garbage)
    if (life.isOver) return
    this.#options.onReleased(captured)
    if (this.#isOutdated || journal.groupCount > this.#groupCount) this.want()
  }

  async #append(payload: Buffer): Promise<void> {
    const { journal, options } = this.#parts
    const bytes = frameBytes(payload.length)
    journal.open(bytes)
    const at = journal.append(kinds.checkpoint, 0, options.clock.wallMs(), payload)
    journal.rememberCheckpoint(payload, at)
    await journal.whenDurable(position(at + bytes))
  }

  /** Waits for a batch behind that of the record: what is appended already, or the record again.
   * Where a full disk has no room for it, nothing is waited for: what goes may be the room. */
  async #outlive(payload: Buffer): Promise<void> {
    const { journal } = this.#parts
    let room = this.#roomFor(payload)
    for (; room === 'wait'; room = this.#roomFor(payload)) await this.#options.reclaim.roomChange()
    if (room === 'no') return
    if (journal.end > journal.durableEnd) return journal.whenDurable(journal.end)
    this.#groupCount++
    await this.#append(payload)
  }

  #roomFor(payload: Buffer): ReturnType<Journal['room']> {
    return this.#parts.journal.room(frameBytes(payload.length), 'checkpoint')
  }
}
