import { expect, test } from 'vitest'
import { seededPrng } from '../../src/base/prng.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { refusal } from './refusal.js'

const decide = (policy: ReturnType<typeof fixedRetry>, attempts: number, ageMs = 0): unknown =>
  policy.decide({ attempts, ageMs, transport: 'smtp', nexthop: 'example.org' }, seededPrng(1))

test('the n-th attempt waits the n-th interval and the last one repeats', () => {
  const policy = fixedRetry([2000, 1000, 2000, 5000])
  expect(policy.intervalsMs).toEqual([1000, 2000, 5000])
  expect([1, 2, 3, 4, 5, 99].map((attempts) => decide(policy, attempts))).toEqual(
    [2000, 1000, 2000, 5000, 5000, 5000].map((delayMs) => ({ kind: 'retry', delayMs })),
  )
})

test('a change of the list afterwards changes no policy', () => {
  const intervalsMs = [1000, 2000]
  const policy = fixedRetry(intervalsMs)
  intervalsMs.fill(7)
  expect(decide(policy, 1)).toEqual({ kind: 'retry', delayMs: 1000 })
})

test('a message expires at its lifetime, 5 days by default', () => {
  expect(decide(fixedRetry([1000]), 1, 5 * 86_400_000 - 1)).toEqual({ kind: 'retry', delayMs: 1000 })
  expect(decide(fixedRetry([1000]), 1, 5 * 86_400_000)).toEqual({ kind: 'expire' })
  expect(decide(fixedRetry([1000], 10), 1, 9)).toEqual({ kind: 'retry', delayMs: 1000 })
  expect(decide(fixedRetry([1000], 10), 1, 10)).toEqual({ kind: 'expire' })
})

test('a report is given up at the age at which other mail is', () => {
  expect(fixedRetry([1000]).bounceQueueLifetimeMs).toBe(5 * 86_400_000)
  expect(fixedRetry([1000], 10).bounceQueueLifetimeMs).toBe(10)
})

test('a lifetime of 0 means one attempt', () => {
  expect(decide(fixedRetry([1000], 0), 1)).toEqual({ kind: 'expire' })
})

test.each([
  [[]],
  [[0]],
  [[1.5]],
  [[-1]],
  [[Number.NaN]],
  [60_000 as unknown as number[]],
  [Array.from({ length: 31 }, (_, i) => i + 1)],
  [Array.from({ length: 1001 }, () => 1)],
])('%j is refused as OPTION_INVALID', (intervalsMs) => {
  expect(refusal(() => fixedRetry(intervalsMs))?.code).toBe('OPTION_INVALID')
})
