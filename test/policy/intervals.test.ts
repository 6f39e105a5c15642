import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededPrng } from '../../src/base/prng.js'
import { intervalCountMax, intervalFor, intervalsOf } from '../../src/policy/intervals.js'

const postfixS = [300, 600, 1200, 2400, 4000]

test('intervals are distinct and ascending', () => {
  expect(intervalsOf([5, 1, 5, 3, 1])).toEqual([1, 3, 5])
})

test('of more intervals than lanes, the closest neighbours go and both ends stay', () => {
  const all = Array.from({ length: 60 }, (_, i) => 1000 * (i + 1))
  const kept = intervalsOf(all)
  expect(kept).toHaveLength(intervalCountMax)
  expect([kept[0], kept.at(-1)]).toEqual([1000, 60_000])
  expect(kept.slice(0, 10)).toEqual(all.slice(0, 10))
  const doubled = intervalsOf(Array.from({ length: 40 }, (_, i) => 2 ** i))
  expect(doubled).toHaveLength(intervalCountMax)
  expect([doubled[0], doubled.at(-1)]).toEqual([1, 2 ** 39])
})

test('without jitter a delay is rounded to the nearest interval', () => {
  const nearest = (delayS: number): number => intervalFor(postfixS, delayS, 0, seededPrng(1))
  expect([1, 300, 449, 450, 4000, 9999].map(nearest)).toEqual([300, 300, 300, 600, 4000, 4000])
})

test('the choice is an interval at most one lane from the wanted delay', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9000 }),
      fc.double({ min: 0, max: 0.1, noNaN: true }),
      fc.integer(),
      (delayS, jitter, seed) => {
        const chosen = postfixS.indexOf(intervalFor(postfixS, delayS, jitter, seededPrng(seed)))
        const below = postfixS.findLastIndex((intervalS) => intervalS <= delayS)
        expect(chosen).toBeGreaterThanOrEqual(Math.max(below - 1, 0))
        expect(chosen).toBeLessThanOrEqual(below + 2)
      },
    ),
  )
})

test('the mean over two neighbouring lanes is the wanted delay', () => {
  const prng = seededPrng(7)
  const draws = Array.from({ length: 20_000 }, () => intervalFor(postfixS, 900, 0.1, prng))
  expect(new Set(draws)).toEqual(new Set([600, 1200]))
  const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length
  expect(Math.abs(mean - 900)).toBeLessThan(10)
})

test('jitter never jumps to a lane more than twice as long', () => {
  const prng = seededPrng(7)
  for (let i = 0; i < 5000; i++) {
    expect(intervalFor([60, 3000], 200, 0.1, prng)).toBe(60)
    expect(intervalFor([60, 121], 80, 0.1, prng)).toBe(60)
  }
})
