import { expect, test } from 'vitest'
import { seededPrng, type Prng } from '../../src/base/prng.js'
import { postfixRetry, type PostfixRetryOptions } from '../../src/policy/postfix-retry.js'
import type { RetryPolicy } from '../../src/policy/retry-policy.js'
import { refusal } from './refusal.js'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const delayAt = (policy: RetryPolicy, ageMs: number, prng: Prng = seededPrng(1)): number => {
  const decision = policy.decide({ attempts: 1, ageMs, transport: 'smtp', nexthop: 'example.org' }, prng)
  return decision.kind === 'retry' ? decision.delayMs : Number.NaN
}

test('the defaults make five lanes, doubling up to the maximal backoff time', () => {
  expect(postfixRetry().intervalsMs).toEqual([300_000, 600_000, 1_200_000, 2_400_000, 4_000_000])
})

test('the minimal backoff time may be the maximal one: then there is one lane', () => {
  const policy = postfixRetry({ minimalBackoffTimeMs: 60_000, maximalBackoffTimeMs: 60_000 })
  expect(policy.intervalsMs).toEqual([60_000])
  expect([delayAt(policy, 0), delayAt(policy, dayMs)]).toEqual([60_000, 60_000])
})

test.each([
  [-5000, 300_000],
  [0, 300_000],
  [400_000, 300_000],
  [500_000, 600_000],
  [2_000_000, 2_400_000],
  [3 * hourMs, 4_000_000],
])('without jitter a message %d ms old waits %d ms', (ageMs, delayMs) => {
  expect(delayAt(postfixRetry({ jitter: 0 }), ageMs)).toBe(delayMs)
})

test('a message expires at the maximal queue lifetime and not before', () => {
  const policy = postfixRetry()
  const state = { attempts: 99, transport: 'smtp', nexthop: 'example.org' }
  expect(policy.decide({ ...state, ageMs: 5 * dayMs - 1 }, seededPrng(1)).kind).toBe('retry')
  expect(policy.decide({ ...state, ageMs: 5 * dayMs }, seededPrng(1)).kind).toBe('expire')
})

test('a lifetime of 0 means one attempt', () => {
  const policy = postfixRetry({ maximalQueueLifetimeMs: 0 })
  expect(delayAt(policy, 0)).toBeNaN()
})

test('a report lives no longer than other mail', () => {
  expect(postfixRetry({ maximalQueueLifetimeMs: dayMs }).bounceQueueLifetimeMs).toBe(dayMs)
  expect(postfixRetry({ bounceQueueLifetimeMs: dayMs }).bounceQueueLifetimeMs).toBe(dayMs)
})

test('delay warnings are off unless a time is given', () => {
  expect(postfixRetry().delayWarningAgesMs).toEqual([])
  expect(postfixRetry({ delayWarningTimeMs: 4 * hourMs }).delayWarningAgesMs).toEqual([4 * hourMs])
})

test('jitter is on by default, and moves one in sixteen of a herd, to the lane next to its own only', () => {
  const policy = postfixRetry()
  const prng = seededPrng(42)
  const counts = new Map<number, number>()
  for (let i = 0; i < 10_000; i++) {
    const delayMs = delayAt(policy, dayMs, prng)
    counts.set(delayMs, (counts.get(delayMs) ?? 0) + 1)
  }
  expect([...counts.keys()].sort((a, b) => a - b)).toEqual([2_400_000, 4_000_000])
  expect(counts.get(2_400_000)).toBeGreaterThan(500)
  expect(counts.get(2_400_000)).toBeLessThan(750)
})

test('of a herd that starts as one, less than a third is still together after a day', () => {
  const policy = postfixRetry()
  const prng = seededPrng(42)
  const nextAt = (jittered: RetryPolicy): Map<number, number> => {
    const counts = new Map<number, number>()
    for (let i = 0; i < 1000; i++) {
      let ageMs = 0
      while (ageMs < dayMs) ageMs += delayAt(jittered, ageMs, prng)
      counts.set(ageMs, (counts.get(ageMs) ?? 0) + 1)
    }
    return counts
  }
  expect(Math.max(...nextAt(postfixRetry({ jitter: 0 })).values())).toBe(1000)
  expect(Math.max(...nextAt(policy).values())).toBeLessThan(333)
})

test('the same seed gives the same delays', () => {
  const run = (): number[] => {
    const prng = seededPrng(3)
    return Array.from({ length: 100 }, (_, i) => delayAt(postfixRetry(), i * 60_000, prng))
  }
  expect(run()).toEqual(run())
})

test.each<PostfixRetryOptions>([
  { minimalBackoffTimeMs: 0 },
  { minimalBackoffTimeMs: 5_000_000 },
  { maximalBackoffTimeMs: 1.5 },
  { maximalQueueLifetimeMs: -1 },
  { bounceQueueLifetimeMs: Number.NaN },
  { delayWarningTimeMs: Infinity },
  { jitter: 0.6 },
  { jitter: -0.1 },
  { jitter: Number.NaN },
])('%j is refused as OPTION_INVALID', (options) => {
  expect(refusal(() => postfixRetry(options))?.code).toBe('OPTION_INVALID')
})

test('a parameter that there is not is refused', () => {
  const options = { minimalBackoffTime: 60_000 } as PostfixRetryOptions
  expect(refusal(() => postfixRetry(options))).toMatchObject({
    code: 'OPTION_INVALID',
    place: { option: 'minimalBackoffTime' },
  })
})
