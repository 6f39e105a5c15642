/** The idempotency keys of earlier submissions, and the messages that they became.
 * Invariants:
 * 1. A key is durable with its message, because the message's envelope says it.
 * 2. A checkpoint passes an envelope only when the log of keys has its key, durably, or the key has
 *    expired:
 *    1. A message with a key is delivered, and a checkpoint passes it.
 *    2. Its segment is recycled, and the machine crashes.
 *    3. The submitter, which has not heard the answer, submits again: the message goes out twice.
 * 3. Of two submissions with one key the second waits for the first. Where the first fails, the
 *    second takes its place.
 * Why a separate log: a key outlives its message, for `keyRetentionMs`. */
import { nowhere, position, type Position } from '../../base/position.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import type { LaneLog } from '../../log/lane-log.js'
import type { SideLogPositions } from '../../record/checkpoint.js'
import { frameBytes, kindAt, kinds, payloadAt } from '../../record/frame.js'
import { decodeKeys, encodeKeys, keysPerRecordMax, type AcceptedKey } from '../../record/keys.js'
import type { KeyedEnvelope } from '../../recovery/read-suffix.js'
import { SideLog, type SideLogOptions } from '../side-logs/side-log.js'
import { keyHash, KeyTable } from './key-table.js'

/** What a submission comes to. */
export interface Accepted {
  readonly id: AcceptedKey['id']
  /** Its key was known: the id is that of the earlier submission, and no message was made. */
  readonly isDuplicate?: true
}

/** One that no durable checkpoint has passed. */
interface Fresh extends KeyedEnvelope {
  /** Of its record in the log of keys, `nowhere` while it has none. */
  place: Position
}

export interface KnownKeysOptions extends SideLogOptions {
  /** The time; the time had nobody set the clock; and what the clock would show now by each earlier
   * setting by which it can have shown that time. Milliseconds since 1970. */
  readonly clock: { wallMs(): number; unsetWallMs(): number; nowsSince(shownMs: number): number[] }
  /** What the work comes to, or the end of this life. */
  readonly orEnd: <T>(work: Promise<T>) => Promise<T>
  readonly retentionMs: number
  readonly countMax: number
  /** Keys wait for a full record while the journal has not grown by so many bytes since the first
   * of them: each checkpoint that records some takes a block. */
  readonly lagBytesMax: number
}

/** Keys of one segment of the log that came within a part of the retention: they are forgotten
 * together. */
interface KeySlice {
  readonly segment: number
  readonly table: KeyTable
  readonly beganAt: number
  newestAt: number
}

/** That part: so much longer than it must a key may be counted. */
const slicePart = 8

/** Of a key in a record, its text apart. */
const entryBytes = 40

const recordBytesOf = (key: string): number => 3 * key.length + entryBytes

export class KnownKeys {
  readonly #options: KnownKeysOptions
  readonly #checkpointed: SideLogPositions | undefined
  readonly #fresh = new Map<string, Fresh>()
  #unrecordedBytes = 0
  /** Recorded by the capture under way. */
  #recorded: Fresh[] = []
  /** By segment of the log, ascending. */
  #slices: KeySlice[] = []
  readonly #underWay = new Map<string, Promise<Accepted>>()
  readonly #side: SideLog
  readonly #restored: Promise<void>
  #hasRestored = false
  #isRestored!: () => void

  /** @param checkpointed what the checkpoint says of the log; undefined: there is none */
  constructor(options: KnownKeysOptions, checkpointed: SideLogPositions | undefined) {
    this.#options = options
    this.#side = new SideLog(options)
    this.#checkpointed = checkpointed
    this.#restored = new Promise((resolve) => {
      this.#isRestored = () => {
        this.#hasRestored = true
        resolve()
      }
    })
  }

  /** undefined: no key has come yet. */
  get log(): LaneLog | undefined {
    return this.#side.log
  }

  get count(): number {
    let count = this.#fresh.size
    for (const { table } of this.#slices) count += table.count
    return count
  }

  /** Takes over what earlier lives knew, before the first checkpoint of this one.
   * @param keyed of the working suffix, in order
   * @returns undefined when there is nothing to wait for */
  restore(keyed: readonly KeyedEnvelope[]): Promise<void> | undefined {
    const from = this.#checkpointed?.from ?? nowhere
    for (const key of keyed) if (key.envelope >= from) this.appended(key)
    const opened =
      this.#checkpointed !== undefined
        ? this.#reopen(this.#checkpointed)
        : this.#fresh.size > 0
          ? this.#side.opened().then(
              () => undefined,
              (error) => this.#failedToOpen(error),
            )
          : undefined
    if (opened === undefined) this.#isRestored()
    return opened?.then(() => this.#isRestored())
  }

  /** Submits, unless the key is known.
   * @throws WaybillError KEYS_TOO_MANY, DISK_FULL, LOG_CORRUPT by rejection; as `submit` */
  once(key: string, submit: () => Promise<Accepted>): Promise<Accepted> {
    const earlier = this.#underWay.get(key)
    if (earlier !== undefined)
      return earlier.then(
        ({ id }) => ({ id, isDuplicate: true }),
        () => this.once(key, submit),
      )
    const answer = this.#isSurelyNew(key) ? submit() : this.#answer(key, submit)
    this.#underWay.set(key, answer)
    const leave = (): void => void this.#underWay.delete(key)
    answer.then(leave, leave)
    return answer
  }

  /** The message with the key was appended in this step. */
  appended(key: KeyedEnvelope): void {
    // Fresh keys stand in the order of their envelopes.
    this.#fresh.delete(key.key)
    this.#fresh.set(key.key, { place: nowhere, ...key })
    this.#unrecordedBytes += recordBytesOf(key.key)
  }

  /** Is there room to record what has no record yet? When not, room is being made, or the disk is
   * full. */
  get hasRoom(): boolean {
    const { log } = this
    const most = (log?.files.grid.segmentBytes ?? 0) / 2
    return log !== undefined && log.hasRoom(Math.min(this.#unrecordedBytes + entryBytes * 16, most))
  }

  /** A checkpoint is being captured: records what has no record.
   * @returns what it says of keys, and the first envelope of the journal that it may not pass */
  capture(journalEnd: Position, timeMs: number): { said: SideLogPositions | undefined; from: Position } {
    this.#recorded = []
    this.#forgetExpired()
    const { log } = this
    const unrecorded = [...this.#fresh.values()].filter(({ place }) => place === nowhere)
    const first = unrecorded[0]?.envelope ?? journalEnd
    const isDue = unrecorded.length >= keysPerRecordMax || journalEnd - first >= this.#options.lagBytesMax
    if (log !== undefined && isDue) this.#record(log, unrecorded, timeMs)
    const from = unrecorded.find(({ place }) => place === nowhere)?.envelope ?? journalEnd
    if (log === undefined) {
      // There was no room for it when keys were found in the suffix, which they hold since.
      if (unrecorded.length > 0) this.#side.opened().catch((error) => this.#failedToOpen(error))
      return { said: undefined, from }
    }
    const end = log.pad(timeMs)
    return { said: { floor: this.#floor(log), end, from }, from }
  }

  /** The captured checkpoint is durable. */
  checkpointed(): void {
    for (const recorded of this.#recorded) {
      this.#add(recorded, recorded.place)
      if (this.#fresh.get(recorded.key) === recorded) this.#fresh.delete(recorded.key)
    }
    this.#recorded = []
  }

  async #answer(key: string, submit: () => Promise<Accepted>): Promise<Accepted> {
    await this.#options.orEnd(this.#restored)
    const id = await this.#find(key)
    if (id !== undefined) return { id, isDuplicate: true }
    if (this.count >= this.#options.countMax) this.#forgetExpired()
    if (this.count >= this.#options.countMax)
      throw new WaybillError('KEYS_TOO_MANY', `${this.count} idempotency keys are remembered, and no more`)
    await this.#options.orEnd(this.#side.opened())
    return submit()
  }

  async #find(key: string): Promise<AcceptedKey['id'] | undefined> {
    const fresh = this.#fresh.get(key)
    if (fresh !== undefined) return this.#isExpired(fresh.acceptedAt) ? undefined : fresh.id
    const hash = keyHash(key)
    for (const { table } of this.#slices)
      for (const place of table.placesOf(hash)) {
        const { payload } = await this.#side.log!.files.frame(place)
        for (const known of decodeKeys(payload))
          if (known.key === key && !this.#isExpired(known.acceptedAt)) return known.id
      }
    return undefined
  }

  /** Without a wait, which costs more than all else of a submission. */
  #isSurelyNew(key: string): boolean {
    if (!this.#hasRestored || this.#side.log === undefined || this.#fresh.has(key)) return false
    if (this.count >= this.#options.countMax) return false
    const hash = keyHash(key)
    for (const { table } of this.#slices) if (table.placesOf(hash).length > 0) return false
    return true
  }

  /** By every clock, so that one that is set far ahead, or back for a while, forgets nothing. */
  #isExpired(acceptedAt: number): boolean {
    const { clock, retentionMs } = this.#options
    const nowMs = Math.min(clock.wallMs(), clock.unsetWallMs())
    if (nowMs - acceptedAt <= retentionMs) return false
    return clock.nowsSince(acceptedAt).every((ms) => ms - acceptedAt > retentionMs)
  }

  #record(log: LaneLog, unrecorded: readonly Fresh[], timeMs: number): void {
    for (let i = 0; i < unrecorded.length; i += keysPerRecordMax) {
      const keys = unrecorded.slice(i, i + keysPerRecordMax)
      const payload = encodeKeys(keys)
      const bytes = frameBytes(payload.length)
      if (!log.hasRoom(bytes)) return
      log.open(bytes, timeMs)
      const place = log.append(kinds.keys, 0, timeMs, payload)
      for (const key of keys) key.place = place
      this.#recorded.push(...keys)
    }
    this.#unrecordedBytes = 0
  }

  /** Where the first segment begins that has a key which is remembered, or the current one. */
  #floor(log: LaneLog): Position {
    const { grid } = log.files
    const current = grid.indexOf(log.end)
    const [slice] = this.#slices
    if (slice !== undefined) return grid.firstOf(Math.min(slice.segment, current))
    // What the capture has recorded may stand in the segment before.
    const [first] = this.#recorded
    return grid.firstOf(first === undefined ? current : grid.indexOf(first.place))
  }

  /** Others come in their place, also when each new key is refused:
   *    1. as many keys are remembered as may be
   *    2. each submission with a new one is refused, so the log of keys does not grow
   *    3. its last segment is forgotten when it is full: never */
  #forgetExpired(): void {
    this.#slices = this.#slices.filter(({ newestAt }) => !this.#isExpired(newestAt))
    for (const [key, { acceptedAt, place }] of this.#fresh) {
      if (!this.#isExpired(acceptedAt)) return
      this.#fresh.delete(key)
      if (place === nowhere) this.#unrecordedBytes -= recordBytesOf(key)
    }
  }

  #add({ key, acceptedAt }: AcceptedKey, place: Position): void {
    const segment = this.#side.log!.files.grid.indexOf(place)
    const sliceMs = this.#options.retentionMs / slicePart
    let slice = this.#slices.at(-1)
    // The wall clock may have been ahead when the slice began.
    if (slice?.segment !== segment || Math.abs(acceptedAt - slice.beganAt) >= sliceMs) {
      slice = { segment, table: new KeyTable(), beganAt: acceptedAt, newestAt: 0 }
      this.#slices.push(slice)
    }
    slice.table.add(keyHash(key), place)
    slice.newestAt = Math.max(slice.newestAt, acceptedAt)
  }

  #failedToOpen(error: unknown): void {
    if (!isWaybillError(error, 'DISK_FULL')) this.#options.onFailure(error)
  }

  /** Rot costs the keys that stand behind it in its segment. */
  async #reopen({ floor, end }: SideLogPositions): Promise<void> {
    await this.#side.reopen(end)
    const log = this.#side.log!
    const { grid } = log.files
    const last = grid.indexOf(position(end - 1))
    for (let index = grid.indexOf(floor); index <= last; index++) {
      const segmentEnd = position(Math.min(end, grid.at(index + 1, 0)))
      await this.#readSegment(log, grid.firstOf(index), segmentEnd).catch((error) => this.#side.lost(error))
    }
  }

  async #readSegment(log: LaneLog, from: Position, end: Position): Promise<void> {
    await log.read(from, end, (window, at, place) => this.#readRecord(window, at, place))
  }

  #readRecord(window: Buffer, at: number, place: Position): void {
    if (kindAt(window, at) !== kinds.keys) return
    for (const known of decodeKeys(payloadAt(window, at))) this.#add(known, place)
  }
}
