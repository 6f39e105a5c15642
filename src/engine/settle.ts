/** The end of an attempt: what is left to do is decided, read, composed, and room is found for it; ending.ts appends it.
 * Invariant: until its end is appended a message stays active, and what cannot be done now is done later. Nothing here waits for a
 * sync, but at the bound on replacements that no checkpoint vouches for. */
import { toRanges } from '../base/ranges.js'
import { Ring } from '../base/ring.js'
import type { ActiveMessage } from '../active/active-message.js'
import { isWaybillError } from '../errors.js'
import type { Lane, LaneLogs } from '../lane/lane.js'
import { frameBytes } from '../record/frame.js'
import {
  Ending,
  farthest,
  journalGroup,
  laneGroup,
  type EndingCallbacks,
  type Replacement,
} from './ending.js'
import type { Route } from './options.js'
import type { Parts } from './parts.js'
import { fixedData, remainderOf, replacementFacts } from './replacement.js'
import { outcomesOf, report, type Report, type ReportedOutcome } from './reporting.js'
import { settleDecision } from './settle-decision.js'

/** Messages being settled at once that need reading or composing. */
const workersMax = 64
/** A message that could not be read is tried again after this. */
const retryMs = 60_000

export interface SettleOptions extends EndingCallbacks {
  /** So many replacements may be appended before a checkpoint vouches for them. */
  readonly unvouchedMax: number
}

export class Settle {
  readonly #parts: Parts
  readonly #options: SettleOptions
  readonly #ending: Ending
  readonly #queue = new Ring<ActiveMessage>()
  readonly #waiting: (() => void)[] = []
  /** Those whose lane is full. */
  readonly #parked: ActiveMessage[] = []
  #workers = 0
  /** Replacements appended since the last capture, and since the one before. */
  #unvouched = 0
  #captured = 0

  constructor(parts: Parts, options: SettleOptions) {
    this.#parts = parts
    this.#options = options
    this.#ending = new Ending(parts, options)
  }

  /** Replacements that no durable checkpoint vouches for. */
  get unvouchedCount(): number {
    return this.#unvouched + this.#captured
  }

  /** No recipient waits for an attempt, or none is to be attempted. */
  settle(message: ActiveMessage): void {
    const done = message.deliveredCount === message.envelope.recipientCount
    if (done && message.replacement === undefined) {
      this.#ending.finish(message, undefined, [])
      return
    }
    this.#queue.push(message)
    this.#work()
  }

  /** A checkpoint is being captured: it vouches for what is appended by now. */
  capture(): void {
    this.#captured += this.#unvouched
    this.#unvouched = 0
  }

  /** The captured checkpoint is durable. */
  vouched(): void {
    this.#captured = 0
    this.roomChanged()
  }

  /** Room may have come. */
  roomChanged(): void {
    for (const look of this.#waiting.splice(0)) look()
    if (this.#parked.length === 0 || this.#parts.life.isOver) return
    for (const message of this.#parked.splice(0)) this.#queue.push(message)
    this.#work()
  }

  #work(): void {
    const { life } = this.#parts
    while (this.#workers < workersMax && this.#queue.length > 0) {
      this.#workers++
      life.run(
        this.#settle(this.#queue.shift()!).finally(() => {
          this.#workers--
          if (!life.isOver) this.#work()
        }),
      )
    }
  }

  /** What cannot be read or composed now is tried again; nothing was appended, so nothing is lost. */
  async #settle(message: ActiveMessage): Promise<void> {
    const { life, events, options } = this.#parts
    try {
      await this.#end(message)
    } catch (error) {
      if (life.isOver || !isWaybillError(error)) throw error
      events.emit('warning', { code: error.code, message: error.message, id: message.envelope.id })
      options.clock.after(retryMs, () => {
        if (!life.isOver) this.settle(message)
      })
    }
  }

  async #end(message: ActiveMessage): Promise<void> {
    const { lanes, options } = this.#parts
    const { replacement } = message
    if (replacement !== undefined) {
      const lane = lanes.has(replacement.lane) ? lanes.get(replacement.lane) : lanes.forDelay(0)
      return this.#replace(message, lane, replacement.timeMs, false)
    }
    const nowMs = options.clock.wallMs()
    const route = await this.#routeOfDeferred(message)
    const decision = settleDecision({ message, nowMs, ...route }, options.retry, options.prng)
    switch (decision.kind) {
      case 'finish':
        return this.#reportAndFinish(message, decision.expired)
      case 'replace':
        return this.#replace(message, lanes.forDelay(decision.delayMs), undefined, decision.warns)
      case 'hold':
        return this.#replace(message, lanes.hold, undefined, false)
    }
  }

  async #reportAndFinish(message: ActiveMessage, expired: readonly number[]): Promise<void> {
    const outcomes = [...failures(message), ...deferrals(message, expired, 'failed')]
    const written = await report(this.#parts, message, outcomes)
    while (!this.#hasRoomFor(written, 0)) await this.#roomChange()
    this.#ending.finish(message, written, written === undefined ? [] : outcomes.map(({ index }) => index))
  }

  /** @param timeMs the time of a replacement that is made again; undefined: now */
  async #replace(
    message: ActiveMessage,
    lane: Lane,
    timeMs: number | undefined,
    warns: boolean,
  ): Promise<void> {
    lane.userCount++
    try {
      await this.#replaceIn(lane, message, timeMs, warns)
    } finally {
      lane.userCount--
    }
  }

  async #replaceIn(
    lane: Lane,
    message: ActiveMessage,
    timeMs: number | undefined,
    warns: boolean,
  ): Promise<void> {
    if (!this.#hasSomeRoom(lane, message)) {
      this.#parked.push(message)
      return
    }
    const { reader } = this.#parts
    const failed = failures(message)
    const late = warns ? deferrals(message, message.indexesIn('deferred'), 'delayed') : []
    const remainder = await remainderOf(message, reader)
    const data = fixedData(message) ?? ((await reader.data(message)) as Buffer)
    // Last, because its spool file, if it needs one, is used from here on.
    const written = await report(this.#parts, message, [...failed, ...late])
    const warnings = message.warnings + (warns && written !== undefined ? 1 : 0)
    const replacement: Replacement = {
      message,
      lane,
      timeMs,
      facts: replacementFacts(message, remainder.notes, warnings),
      recipients: remainder.recipients,
      data,
      written,
      reported: toRanges(written === undefined ? [] : failed.map(({ index }) => index)),
    }
    if (lane.logs === undefined) await this.#replaceInJournal(replacement)
    else await this.#replaceInLane(replacement, lane.logs)
  }

  async #replaceInLane(replacement: Replacement, logs: LaneLogs): Promise<void> {
    const { data, written, reported } = replacement
    const dataBytes = Buffer.isBuffer(data) ? frameBytes(data.length) : 0
    const envelopeBytes = laneGroup(replacement, farthest).bytes
    const hasRoom = (): boolean =>
      this.unvouchedCount < this.#options.unvouchedMax &&
      logs.envelopes.hasRoom(envelopeBytes) &&
      (dataBytes === 0 || logs.data.hasRoom(dataBytes))
    const reportedBytes = 5 * reported.length
    this.#parts.journal.checkFits((written?.group.bytes ?? 0) + reportedBytes + noteBytesMax)
    while (!hasRoom() || !this.#hasRoomFor(written, reportedBytes)) await this.#roomChange()
    this.#unvouched++
    this.#ending.replaceInLane(replacement, logs)
  }

  async #replaceInJournal(replacement: Replacement): Promise<void> {
    const bytes = journalGroup(replacement).bytes
    while (!this.#hasRoomFor(replacement.written, bytes)) await this.#roomChange()
    this.#ending.replaceInJournal(replacement)
  }

  /** Is there room of about the size that will be needed? Asked before anything is read: many may have to wait for a full lane. */
  #hasSomeRoom({ logs }: Lane, { envelope, place }: ActiveMessage): boolean {
    if (logs === undefined) return true
    const dataBytes = Math.min(envelope.dataBytes, this.#parts.options.inlineBytesMax)
    return (
      this.unvouchedCount < this.#options.unvouchedMax &&
      logs.envelopes.hasRoom(place.bytes) &&
      logs.data.hasRoom(frameBytes(dataBytes))
    )
  }

  /** Is there room in the journal for the record with its report, and for more in the same group? */
  #hasRoomFor(written: Report | undefined, moreBytes: number): boolean {
    const bytes = (written?.group.bytes ?? 0) + moreBytes + noteBytesMax
    return this.#parts.journal.room(bytes, 'accepted mail') === 'yes'
  }

  /** Whoever waits looks again himself, in the step in which he appends: others who waited may have taken the room.
   *    // 1. two find room for one  2. both go on behind their `await`  3. the second appends where nothing is allocated */
  async #roomChange(): Promise<void> {
    await new Promise<void>((look) => this.#waiting.push(look))
    this.#parts.life.check()
  }

  /** The retry policy is asked about the first recipient that waits. */
  async #routeOfDeferred(message: ActiveMessage): Promise<Route> {
    const { reader, options } = this.#parts
    const [first] = message.indexesIn('deferred')
    if (first === undefined) return routeUnknown
    const [address] = await reader.recipients(message, first, 1)
    try {
      return options.route(address!)
    } catch {
      // The recipient was deferred because it has no route: its outcome says so.
      return routeUnknown
    }
  }
}

/** More than a finish or a note takes, its ranges apart. */
const noteBytesMax = 4096
const routeUnknown: Route = { transport: '', nexthop: '' }

const failures = (message: ActiveMessage): ReportedOutcome[] =>
  outcomesOf(message.notesOf('failed'), message.unreportedFailures(), ({ status, text }) => ({
    action: 'failed',
    status,
    text,
  }))

/** Recipients that are still deferred, given up or late. */
const deferrals = (
  message: ActiveMessage,
  indexes: readonly number[],
  action: ReportedOutcome['action'],
): ReportedOutcome[] =>
  outcomesOf(message.notesOf('deferred'), indexes, ({ status, text }) => ({
    action,
    status: action === 'failed' ? '5.4.7' : status,
    text: action === 'failed' ? `delivery time expired; the last attempt: ${text}` : text,
  }))
