/** The age of a message, whatever the wall clock said when it was accepted, and says now.
 * Invariant: an age is at most the one by the wall clock, and at most the one by a clock that
 * nobody has set since this life began. So a clock that is set far ahead makes no mail old.
 * Nor does one that is set back for a while: mail that it dated has the age by that setting.
 * Where no clock can tell, the age begins anew with the next attempt:
 *   1. A machine without a battery starts in 1970, or ten years ahead. It accepts mail.
 *   2. The clock is set right, or the relay starts again with the right time.
 *   3. By the wall clock the mail is 56 years old, and would be given up at its first failure.
 *      Or it comes to its age in 2046.
 * Smaller errors only make mail younger, by as much as they are. */

import { nowsSince, stepMinMs, type EarlierSetting } from '../life/earlier-settings.js'
import { clockErrorMinMs, type LifeClock } from '../life/life.js'

/** Milliseconds since 1970. */
export interface Now {
  readonly wallMs: number
  /** The wall time, had nobody set the clock since this life began. */
  readonly unsetWallMs: number
  readonly earlier: readonly EarlierSetting[]
}

/** 2020-01-01: what says less was not set. */
const setMinMs = 1_577_836_800_000

/** @returns milliseconds, not negative */
export function ageOf(acceptedAt: number, { wallMs, unsetWallMs, earlier }: Now): number {
  const times = [wallMs, unsetWallMs, ...nowsSince(acceptedAt, earlier)].filter((nowMs) =>
    tells(acceptedAt, nowMs),
  )
  return times.length === 0 ? 0 : Math.max(0, Math.min(...times) - acceptedAt)
}

/** What the next envelope of the message says. Where the wall clock has left the one by which the
 * message was accepted, it is said by the new one, so that a later life tells the same age. That
 * life does not know the earlier settings of this one.
 * A time that an earlier setting may have shown, too, is not said: it would be taken for one.
 *    1. the clock is two hours behind for a minute, and mail of four days waits
 *    2. that mail counts as two hours younger, and its next envelope says so
 *    3. so does each further attempt: the mail is kept for days longer */
export function acceptedAtFrom(acceptedAt: number, now: Now): number {
  const expected = now.wallMs - ageOf(acceptedAt, now)
  const isDrift = Math.abs(expected - acceptedAt) < clockErrorMinMs
  const isMoved = !isDrift || (isByEarlier(acceptedAt, now) && !isByEarlier(expected, now))
  return isMoved ? Math.max(0, expected) : acceptedAt
}

/** Is the age that of an earlier setting? The present one says less only as it drifts. */
const isByEarlier = (acceptedAt: number, now: Now): boolean =>
  Math.abs(ageOf(acceptedAt, { ...now, earlier: [] }) - ageOf(acceptedAt, now)) >= stepMinMs

/** @param clock of this life */
export const nowOf = (clock: LifeClock): Now => ({
  wallMs: clock.wallMs(),
  unsetWallMs: clock.unsetWallMs(),
  earlier: clock.earlierSettings(),
})

/** Can the message have been accepted by the clock that shows this time? */
const tells = (acceptedAt: number, nowMs: number): boolean =>
  acceptedAt < nowMs + clockErrorMinMs && acceptedAt >= setMinMs === nowMs >= setMinMs
