/** The events that may happen next in a simulated world.
 * Invariant: everything except promise callbacks waits here: answers of the disk and `soon` are
 * *ready*, in no guaranteed order; timers wait for their instant.
 * Orders: 'seeded' takes any ready event, and sometimes lets time pass while calls are under way.
 * 'fifo' takes ready events in order and moves time only when there is none. 'slow syncs' is
 * 'seeded' with syncs last, as on most disks. */
import type { Timer } from '../../base/clock.js'
import { below, type Prng } from '../../base/prng.js'

export type EventOrder = 'seeded' | 'fifo' | 'slow syncs'

interface SimTimer {
  readonly dueMs: number
  /** Decides between timers of one instant. */
  readonly rank: number
  callback: (() => void) | undefined
}

/** One event in so many is a timer that overtakes calls under way. */
const overtakeOneIn = 16
/** A timer that is due later overtakes nothing, milliseconds: a call takes no longer than that. */
const overtakeMsMaxDefault = 600_000
/** Ready events taken in order before their places are given back. */
const takenMax = 1024

export class EventQueue {
  nowMs = 0
  readonly #order: EventOrder
  readonly #prng: Prng
  readonly #overtakeMsMax: number
  #ready: (() => void)[] = []
  #readyHead = 0
  /** Events that come when nothing else is ready. */
  readonly #last: (() => void)[] = []
  /** Latest first, so that the next is popped. */
  readonly #timers: SimTimer[] = []
  #timersMade = 0

  constructor(order: EventOrder, prng: Prng, overtakeMsMax: number = overtakeMsMaxDefault) {
    this.#order = order
    this.#prng = prng
    this.#overtakeMsMax = overtakeMsMax
  }

  /** @param makesDurable its answer means that something is durable */
  enqueue(callback: () => void, makesDurable = false): void {
    if (makesDurable && this.#order === 'slow syncs') this.#last.push(callback)
    else this.#ready.push(callback)
  }

  at(dueMs: number, callback: () => void): Timer {
    this.#timersMade++
    const rank = this.#order === 'fifo' ? this.#timersMade : this.#prng.uint32()
    const timer: SimTimer = { dueMs, rank, callback }
    let low = 0
    let high = this.#timers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isLater(this.#timers[middle] as SimTimer, timer)) low = middle + 1
      else high = middle
    }
    this.#timers.splice(low, 0, timer)
    return { cancel: () => (timer.callback = undefined) }
  }

  /** Something may happen before time passes. */
  get hasReady(): boolean {
    return this.#readyHead < this.#ready.length || this.#last.length > 0
  }

  /** Takes the next event and moves time to it; `undefined` when none is due up to `untilMs`. */
  next(untilMs: number): (() => void) | undefined {
    if (this.#readyHead === this.#ready.length) this.#ready.push(...this.#last.splice(0, 1))
    const readyCount = this.#ready.length - this.#readyHead
    const overtake = readyCount > 0 && this.#order !== 'fifo' && below(this.#prng, overtakeOneIn) === 0
    if (readyCount === 0 || overtake) {
      const due = this.#nextTimer(overtake ? Math.min(untilMs, this.nowMs + this.#overtakeMsMax) : untilMs)
      if (due !== undefined || readyCount === 0) return due
    }
    return this.#order === 'fifo' ? this.#firstReady() : this.#anyReady()
  }

  #nextTimer(untilMs: number): (() => void) | undefined {
    // Ends: each turn but the last drops a cancelled timer.
    for (;;) {
      const timer = this.#timers.at(-1)
      if (timer === undefined) return undefined
      if (timer.callback !== undefined && timer.dueMs > untilMs) return undefined
      this.#timers.pop()
      if (timer.callback === undefined) continue
      this.nowMs = Math.max(this.nowMs, timer.dueMs)
      return timer.callback
    }
  }

  #firstReady(): (() => void) | undefined {
    const callback = this.#ready[this.#readyHead++]
    if (this.#readyHead === this.#ready.length || this.#readyHead === takenMax) {
      this.#ready.splice(0, this.#readyHead)
      this.#readyHead = 0
    }
    return callback
  }

  #anyReady(): (() => void) | undefined {
    const index = below(this.#prng, this.#ready.length)
    const callback = this.#ready[index]
    const last = this.#ready.pop()
    if (last !== undefined && index < this.#ready.length) this.#ready[index] = last
    return callback
  }
}

const isLater = (a: SimTimer, b: SimTimer): boolean =>
  a.dueMs > b.dueMs || (a.dueMs === b.dueMs && a.rank > b.rank)
