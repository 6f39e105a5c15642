/** Retries at given intervals, `--retry 1s,2s,5s`.
 * Invariant: the n-th attempt is followed by exactly the n-th interval, or by the last one: no
 * jitter. For tests, demonstrations, and operators who want exact times. */
import { assert } from '../base/assert.js'
import { WaybillError } from '../errors.js'
import { checkDurationMs } from './duration.js'
import { intervalCountMax } from './intervals.js'
import type { RetryPolicy } from './retry-policy.js'

/** Entries of the list; more than anyone writes by hand. */
const listLengthMax = 1000

/** @param intervalsMs 1 … 1000 entries, at most 30 distinct, each at least 1 ms
 * @param lifetimeMs age at which a message, or a report, is given up; 5 days
 * @throws WaybillError OPTION_INVALID */
export function fixedRetry(intervalsMs: readonly number[], lifetimeMs: number = 5 * 86_400_000): RetryPolicy {
  checkDurationMs(lifetimeMs, 'lifetimeMs', 0)
  const delaysMs = Array.isArray(intervalsMs) ? [...(intervalsMs as readonly number[])] : []
  const distinctMs = [...new Set(delaysMs)].sort((a, b) => a - b)
  if (delaysMs.length === 0 || delaysMs.length > listLengthMax || distinctMs.length > intervalCountMax)
    throw new WaybillError(
      'OPTION_INVALID',
      `expected 1 to ${listLengthMax} intervals, at most ${intervalCountMax} of them distinct`,
      { option: 'intervalsMs' },
    )
  for (const intervalMs of distinctMs) checkDurationMs(intervalMs, 'intervalsMs', 1)
  return {
    intervalsMs: distinctMs,
    bounceQueueLifetimeMs: lifetimeMs,
    delayWarningAgesMs: [],
    decide: (state) => {
      assert(state.attempts >= 1, 'a policy is asked after an attempt')
      if (state.ageMs >= lifetimeMs) return { kind: 'expire' }
      const delayMs = delaysMs[Math.min(state.attempts, delaysMs.length) - 1]
      assert(delayMs !== undefined, 'a fixed policy has at least one interval')
      return { kind: 'retry', delayMs }
    },
  }
}
