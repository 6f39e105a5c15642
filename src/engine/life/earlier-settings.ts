/** Settings of the wall clock before the present one, in this life.
 * Invariant: a time that the clock has shown in this life is followed by a setting that shows what
 * has passed since.
 * Why: mail that was accepted by a clock that was wrong for a while gets its lifetime.
 *    1. the clock goes back by two months, and mail is accepted
 *    2. the clock is set right again
 *    3. by every clock the mail is two months old: its first failure bounces it */

import type { Clock } from '../../base/clock.js'

export interface EarlierSetting {
  /** What the clock showed last, before it was set anew; milliseconds since 1970. */
  readonly untilMs: number
  /** What it would show now. */
  readonly nowMs: number
}

/** Smaller steps only make mail that much older, or younger. */
export const stepMinMs = 60_000
/** The oldest settings are forgotten. */
const settingCountMax = 16
/** The clock is read several times for each message: within this it is not compared again. */
const lookMs = 1000

interface Setting {
  /** Wall time less monotonic time. */
  offsetMs: number
  /** The most that the clock has shown. */
  shownMs: number
}

export class EarlierSettings {
  readonly #earlier: Setting[] = []
  #present: Setting | undefined
  #lookedAtMs = 0

  /** The clocks show these times now. */
  note(wallMs: number, clock: Pick<Clock, 'monotonicMs'>): void {
    const present = this.#present
    if (present !== undefined && Math.abs(wallMs - this.#lookedAtMs) < lookMs) {
      if (wallMs > present.shownMs) present.shownMs = wallMs
      return
    }
    this.#lookedAtMs = wallMs
    const offsetMs = wallMs - clock.monotonicMs()
    if (present === undefined || Math.abs(offsetMs - present.offsetMs) >= stepMinMs) {
      if (present !== undefined) this.#earlier.push(present)
      if (this.#earlier.length > settingCountMax) this.#earlier.shift()
      this.#present = { offsetMs, shownMs: wallMs }
    } else {
      // A clock that drifts is not set.
      present.offsetMs = offsetMs
      present.shownMs = Math.max(present.shownMs, wallMs)
    }
  }

  at(monotonicMs: number): EarlierSetting[] {
    return this.#earlier.map(({ offsetMs, shownMs }) => ({
      untilMs: shownMs,
      nowMs: Math.floor(offsetMs + monotonicMs),
    }))
  }
}

/** @returns what the clock would show now, by each setting by which it can have shown that time */
export const nowsSince = (shownMs: number, earlier: readonly EarlierSetting[]): number[] =>
  earlier.filter(({ untilMs }) => shownMs <= untilMs).map(({ nowMs }) => nowMs)
