import { expect, test } from 'vitest'
import { seededPrng, type Prng } from '../../src/base/prng.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { postfixRetry, type PostfixRetryOptions } from '../../src/policy/postfix-retry.js'
import type { RetryPolicy } from '../../src/policy/retry-policy.js'
import { refusal } from './refusal.js'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const delayAt = (policy: RetryPolicy, ageMs: number, prng: Prng = seededPrng(1)): number => {
  const decision = policy.decide({ attempts: 1, ageMs, transport: 'smtp', nexthop: 'example.org' }, prng)
  return decision.kind === 'retry' ? decision.delayMs : Number.NaN
}

test('without jitter the defaults make five lanes, doubling up to the maximal backoff time', () => {
  expect(postfixRetry({ jitter: 0 }).intervalsMs).toEqual([300_000, 600_000, 1_200_000, 2_400_000, 4_000_000])
})

test('jitter has three more lanes beside each, none beyond the backoff times', () => {
  const { intervalsMs } = postfixRetry()
  expect(intervalsMs).toHaveLength(20)
  expect([intervalsMs[0], intervalsMs.at(-1)]).toEqual([300_000, 4_000_000])
  expect(intervalsMs.slice(4, 8)).toEqual([555_000, 600_000, 620_400, 658_800])
})

test('a policy with many doublings has fewer lanes beside each, and never more than a queue takes', () => {
  expect(postfixRetry({ minimalBackoffTimeMs: 1000 }).intervalsMs).toHaveLength(26)
  expect(postfixRetry({ minimalBackoffTimeMs: 1, maximalBackoffTimeMs: 1e9 }).intervalsMs).toHaveLength(30)
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

/** Messages that are deferred together at each round, and the most that are due in one
 * second after each. */
function herdOf(policy: RetryPolicy, messageCount: number, roundCount: number): number[] {
  const prng = seededPrng(42)
  const ages = Array.from({ length: messageCount }, () => 0)
  return Array.from({ length: roundCount }, () => {
    const dueInSecond = new Map<number, number>()
    for (const [i, ageMs] of ages.entries()) {
      ages[i] = ageMs + delayAt(policy, ageMs, prng)
      const second = Math.floor(ages[i]! / 1000)
      dueInSecond.set(second, (dueInSecond.get(second) ?? 0) + 1)
    }
    return Math.max(...dueInSecond.values())
  })
}

test('of 10 000 messages deferred together, at most 5 % are due in one second after three rounds', () => {
  const most = herdOf(postfixRetry(), 10_000, 6)
  expect(Math.max(...most.slice(2))).toBeLessThan(500)
  expect(most.at(-1)).toBeLessThan(60)
})

test('without jitter they stay together, and with fixed intervals, which are exact', () => {
  expect(herdOf(postfixRetry({ jitter: 0 }), 100, 6).every((count) => count === 100)).toBe(true)
  expect(herdOf(fixedRetry([60_000, 120_000]), 100, 6).every((count) => count === 100)).toBe(true)
})

test('jitter waits neither less than the minimal backoff time nor more than the maximal one', () => {
  const policy = postfixRetry()
  const prng = seededPrng(7)
  const delays = (ageMs: number): number[] =>
    Array.from({ length: 2000 }, () => delayAt(policy, ageMs, prng)).sort((a, b) => a - b)
  expect([delays(0)[0], delays(0).at(-1)]).toEqual([300_000, 658_800])
  expect([delays(dayMs)[0], delays(dayMs).at(-1)]).toEqual([2_220_000, 4_000_000])
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
