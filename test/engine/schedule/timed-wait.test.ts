import fc from 'fast-check'
import { expect, test } from 'vitest'
import { asideMsMax, hopIntervalsMs, hopOf, slackMs } from '../../../src/engine/schedule/hop.js'

const year = 365 * 86_400_000

/** Milliseconds that are left behind each hop, when each takes `slackMs` longer than it should. */
function hops(leftMs: number, lateMs: number): number[] {
  const left: number[] = []
  for (let hop = hopOf(leftMs); hop.kind === 'lane'; hop = hopOf(leftMs))
    left.push((leftMs -= hop.intervalMs + lateMs))
  return left
}

test('no lane ends behind the time, also when each hop is late by all that it may be', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 * year }),
      fc.integer({ min: 0, max: slackMs }),
      (left, late) => {
        const last = hops(left, late).at(-1) ?? left
        expect(last).toBeGreaterThanOrEqual(0)
        expect(last).toBeLessThan(asideMsMax)
      },
    ),
  )
})

test('a message takes a hop for each binary digit of its wait at the most, and one for 12 days', () => {
  const longest = hopIntervalsMs.at(-1)!
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 * year }), (left) => {
      expect(hops(left, 0).length).toBeLessThanOrEqual(hopIntervalsMs.length + left / longest)
    }),
  )
})

test('what is due is due', () => {
  expect([hopOf(0), hopOf(-5), hopOf(1)]).toEqual([
    { kind: 'due' },
    { kind: 'due' },
    { kind: 'aside', forMs: 1 },
  ])
})
