import { expect, test } from 'vitest'
import { below, seededPrng } from '../../src/base/prng.js'

test('the same seed gives the same numbers, another seed others', () => {
  const draw = (seed: number): number[] => {
    const prng = seededPrng(seed)
    return Array.from({ length: 50 }, () => prng.uint32())
  }
  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
})

test('numbers below a bound are integers from 0 to below it, each about as often', () => {
  const prng = seededPrng(3)
  const counts = Array.from({ length: 6 }, () => 0)
  for (let i = 0; i < 60_000; i++) counts[below(prng, 6)]!++
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500)
})
