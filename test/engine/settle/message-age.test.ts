/** Mail that was accepted by a clock that was wrong by years gets its lifetime, and no more. */
import { expect, test } from 'vitest'
import { acceptedAtFrom, ageOf, type Now } from '../../../src/engine/settle/message-age.js'

const hourMs = 3_600_000
const unset = 60_000
const now = Date.UTC(2026, 10, 25)
const ahead = Date.UTC(2036, 10, 25)

/** @param wallMs what the clock shows, @param begunMs what it would show had nobody set it since
 * the life began */
const at = (wallMs: number, begunMs: number, ...earlier: Now['earlier']): Now => ({
  wallMs,
  unsetWallMs: begunMs,
  earlier,
})

const back = now - 1440 * hourMs
/** An hour ago the clock was set right, which had been two months behind for a minute. */
const wasBack = at(now + hourMs, now + hourMs, { untilMs: back + unset, nowMs: back + hourMs })

test.each<[string, number, Now, number]>([
  ['by a clock that is right', now - 5 * hourMs, at(now, now), 5 * hourMs],
  ['in 1970, in this life, before the clock was set', unset, at(now, unset + hourMs), hourMs],
  ['in 1970, in an earlier life', unset, at(now, now), 0],
  ['ten years ahead, in this life, before the clock was set', ahead, at(now, ahead + hourMs), hourMs],
  ['ten years ahead, in an earlier life', ahead, at(now, now), 0],
  ['rightly; then the clock was set ten years ahead', now, at(ahead, now + hourMs), hourMs],
  ['rightly; this life began ten years ahead, and was set right', now, at(now + hourMs, ahead), hourMs],
  ['rightly; this life began in 1970, and was set right', now, at(now + hourMs, unset), hourMs],
  ['rightly; now it is 1970', now, at(unset, unset), 0],
  ['rightly; then the clock was set back to 1970', now, at(unset, now + hourMs), hourMs],
  [
    'rightly; this life began ten years ahead, behind one that was right',
    now,
    at(ahead, now + hourMs),
    hourMs,
  ],
  ['rightly; now the clock is a week behind', now, at(now - 168 * hourMs, now - 168 * hourMs), 0],
  ['by a clock that was two months behind for a minute', back, wasBack, hourMs],
  ['before a clock was two months behind for a minute', now, wasBack, hourMs],
  ['a second ahead of a clock that was set back', now + 1000, at(now, now), 0],
])('accepted %s: its age is what a clock can tell', (_, acceptedAt, moment, ageMs) => {
  expect(ageOf(acceptedAt, moment)).toBe(ageMs)
})

test.each<[string, number, Now, number]>([
  ['that a clock tells', now - hourMs, at(now, now), now - hourMs],
  ['of 1970 is that of the clock that was set since', unset, at(now, unset + hourMs), now - hourMs],
  ['of 1970, from an earlier life, is now', unset, at(now, now), now],
  ['of ten years ahead, from an earlier life, is now', ahead, at(now, now), now],
  ['is told by the clock that was set ahead', now, at(ahead, now + hourMs), ahead - hourMs],
  ['is that of the clock that was set right', back, wasBack, now],
  ['stays when the clock is a week behind', now, at(now - 168 * hourMs, now), now],
])('the time of acceptance %s', (_, acceptedAt, moment, next) => {
  expect(acceptedAtFrom(acceptedAt, moment)).toBe(next)
})

test('with the times of the next envelope a later life tells the age that this one told', () => {
  for (const [acceptedAt, moment] of [
    [unset, at(now, unset + hourMs)],
    [unset, at(now, now)],
    [ahead, at(now, now)],
    [now - hourMs, at(now, now)],
    [now - 168 * hourMs, at(now, now, { untilMs: now - 167 * hourMs, nowMs: now - 166 * hourMs })],
  ] as const) {
    const later = at(now + hourMs, now + hourMs)
    expect(ageOf(acceptedAtFrom(acceptedAt, moment), later)).toBe(ageOf(acceptedAt, moment) + hourMs)
  }
})

/** Attempts each hour for so many hours, each with an envelope: the age by the last. */
function ageAfter(hours: number, acceptedAt: number, earlierAt: (wallMs: number) => Now['earlier']): number {
  let said = acceptedAt
  for (let hour = 1; hour < hours; hour++) {
    const wallMs = now + hour * hourMs
    said = acceptedAtFrom(said, at(wallMs, wallMs, ...earlierAt(wallMs)))
  }
  const wallMs = now + hours * hourMs
  return ageOf(said, at(wallMs, wallMs, ...earlierAt(wallMs)))
}

test('a clock that was behind for a minute makes old mail younger once, not with each attempt', () => {
  const wasBehind = (wallMs: number): Now['earlier'] => [
    { untilMs: now - 2 * hourMs + unset, nowMs: wallMs - 2 * hourMs },
  ]
  expect(ageAfter(20, now - 96 * hourMs, wasBehind)).toBe(114 * hourMs)
  // Accepted in the minute that the clock showed twice.
  expect(ageAfter(20, now - 2 * hourMs, wasBehind)).toBe(20 * hourMs)
})

test('a clock that drifts from the one of its life dates no mail anew', () => {
  const acceptedAt = now - 96 * hourMs
  const begunMs = now - 2 * hourMs
  const moment = at(now, begunMs, { untilMs: begunMs - hourMs, nowMs: begunMs - 7 })
  expect(acceptedAtFrom(acceptedAt, moment)).toBe(acceptedAt)
})
