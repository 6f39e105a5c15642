/** The messages that wait for one retry interval. Append order is due order, because the interval
 * is constant.
 * Invariant: nothing behind `trustedEnd` is started. For a lane with separate logs, that is its
 * end in the last durable checkpoint. A lane in the journal goes by the journal's durable end
 * instead. */
import type { Position } from '../base/position.js'
import type { LaneLog } from '../log/lane-log.js'
import { Marks } from './marks.js'
import { Runner, type Candidate } from './runner.js'

export const incomingLane = 0
export const holdLane = 1
/** Numbers of lanes with an interval begin here. */
export const firstRetryLane = 2

export type LaneKind = 'incoming' | 'hold' | 'retry'

export interface LaneLogs {
  readonly envelopes: LaneLog
  readonly data: LaneLog
}

export interface LaneOptions {
  readonly number: number
  /** Milliseconds; 0 for `incoming`, Infinity for `hold`. */
  readonly intervalMs: number
  /** undefined: the lane stands in the journal. */
  readonly logs: LaneLogs | undefined
  readonly runner: Position
  readonly trustedEnd: Position
  readonly dataFloor: Position
  readonly lastMarks: Position
  /** Where this life found its end. */
  readonly inheritedEnd: Position
  /** The policy names its interval; otherwise mail only leaves it. */
  readonly wanted: boolean
}

export class Lane {
  readonly number: number
  readonly intervalMs: number
  readonly logs: LaneLogs | undefined
  readonly runner: Runner
  readonly marks: Marks
  /** New messages may come to it; else it is removed when it is empty. */
  wanted: boolean
  /** Earlier lives appended everything before it. */
  readonly inheritedEnd: Position
  trustedEnd: Position
  /** The first data of an envelope that is not started. */
  dataFloor: Position
  /** The newest record of the journal that names this lane. */
  namedAt: Position
  /** A message from it cannot be read, so the place of its data is unknown, and all data stays. */
  isDataHeld = false
  /** Readers and pending appends: while there are any, it stays in the table. */
  userCount = 0
  /** Bytes of the largest message that a verb has marked in this life, data included. */
  markedBytesMax = 0
  /** A checkpoint was captured that no longer names it: it is empty, and is removed when
   * that is durable. */
  isRetired = false
  /** How far the wall clock was set back, milliseconds, and the time of the envelope
   * that showed it. */
  #setBack = { byMs: 0, shownAtMs: 0 }
  /** The runner met damage: the lane stands still until the operator decides. */
  damage: Error | undefined

  constructor(options: LaneOptions) {
    this.number = options.number
    this.intervalMs = options.intervalMs
    this.logs = options.logs
    this.marks = new Marks(options.lastMarks)
    this.runner = new Runner(options.runner, this.marks)
    this.wanted = options.wanted
    this.inheritedEnd = options.inheritedEnd
    this.trustedEnd = options.trustedEnd
    this.dataFloor = options.dataFloor
    this.namedAt = options.runner
  }

  get kind(): LaneKind {
    return this.number === incomingLane ? 'incoming' : this.number === holdLane ? 'hold' : 'retry'
  }

  /** Milliseconds until a candidate is due, 0 when it is. It waits at most its interval by the
   * monotonic clock, wherever the wall clock steps. */
  waitMs({ timeMs, seenAtMs }: Candidate, wallMs: number, monotonicMs: number): number {
    const byWall = timeMs + this.intervalMs - wallMs
    const byMonotonic = this.intervalMs - (monotonicMs - seenAtMs)
    // Appended in the future: the clock was set back since. Envelopes behind one with a past time
    // were not appended by that clock either.
    const isAhead = timeMs > wallMs
    if (!isAhead) this.#setBack = { byMs: 0, shownAtMs: 0 }
    else if (byMonotonic <= 0) this.#setBack = { byMs: byWall, shownAtMs: timeMs }
    // Appended by the clock that was set back: it is due as long after the first such envelope as
    // it was appended after it. An earlier time comes from a clock that had already been set back.
    const isKnown = isAhead && timeMs >= this.#setBack.shownAtMs
    return Math.max(0, Math.min(isKnown ? byWall - this.#setBack.byMs : byWall, byMonotonic))
  }

  /** Was deferred mail appended since the last checkpoint? */
  get isAheadOfTrust(): boolean {
    const { kind, logs, runner } = this
    return kind === 'retry' && (logs === undefined ? runner.isBehind : this.trustedEnd < logs.envelopes.end)
  }

  /** Everything in it was started, up to its end. */
  get isAllStarted(): boolean {
    if (this.runner.readAheadCount > 0) return false
    return this.logs === undefined ? !this.runner.isBehind : this.runner.position >= this.logs.envelopes.end
  }
}

/** Names of queues in Postfix's words, which people and programs read. Kinds of lanes have our
 * words: `retry` is `deferred`. */
export type QueueName = 'incoming' | 'active' | 'deferred' | 'hold'

/** The name of a lane's queue. */
export function queueNameOf(where: LaneKind): Exclude<QueueName, 'active'>
export function queueNameOf(where: LaneKind | 'active'): QueueName
export function queueNameOf(where: LaneKind | 'active'): QueueName {
  return where === 'retry' ? 'deferred' : where
}
