import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  asideMsMax,
  timedIntervalsMs,
  timedWaitOf,
  slackMs,
} from '../../../src/engine/schedule/timed-wait.js'

const year = 365 * 86_400_000

/** Milliseconds that are left after each lane, when each takes `slackMs` longer than it should. */
function leftAfterLanes(leftMs: number, lateMs: number): number[] {
  const left: number[] = []
  for (let wait = timedWaitOf(leftMs); wait.kind === 'lane'; wait = timedWaitOf(leftMs))
    left.push((leftMs -= wait.intervalMs + lateMs))
  return left
}

test('no lane ends behind the time, also when each is late by all that it may be', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 * year }),
      fc.integer({ min: 0, max: slackMs }),
      (left, late) => {
        const last = leftAfterLanes(left, late).at(-1) ?? left
        expect(last).toBeGreaterThanOrEqual(0)
        expect(last).toBeLessThan(asideMsMax)
      },
    ),
  )
})

test('a message takes a lane for each binary digit of its wait at the most, and one for 12 days', () => {
  const longest = timedIntervalsMs.at(-1)!
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 * year }), (left) => {
      expect(leftAfterLanes(left, 0).length).toBeLessThanOrEqual(timedIntervalsMs.length + left / longest)
    }),
  )
})

test('what is due is due', () => {
  expect([timedWaitOf(0), timedWaitOf(-5), timedWaitOf(1)]).toEqual([
    { kind: 'due' },
    { kind: 'due' },
    { kind: 'aside', forMs: 1 },
  ])
})
