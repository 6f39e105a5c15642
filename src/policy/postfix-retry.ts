/** Postfix's retry rule: the next delay is the message's age, within limits, so attempts spread out
 * as a message grows old.
 * Invariant: intervals double from the minimal to the maximal backoff time (300, 600, 1200, 2400,
 * 4000 s by default), and none is shorter or longer than these two. An age between two of them is
 * met on average, by chance; up to three intervals beside each scatter what was deferred together.
 * Why: Postfix has no jitter, so a site that was down gets all its mail at once, every 4000 s.
 * @see QSHAPE_README, "thundering herd" */
import { assert } from '../base/assert.js'
import { checkOptionNames, type OptionNames } from '../base/options.js'
import { WaybillError } from '../errors.js'
import { checkDurationMs } from './duration.js'
import { checkJitter, intervalFor, intervalsOf, jitterDefault, oneOf, scattered } from './intervals.js'
import type { RetryPolicy } from './retry-policy.js'

/** Postfix's parameters and defaults, in milliseconds: whole numbers, at most a hundred years. */
export interface PostfixRetryOptions {
  /** The shortest interval, ≥ 1. Default 300 000. */
  readonly minimalBackoffTimeMs?: number | undefined
  /** The longest, not below the shortest. Default 4 000 000. */
  readonly maximalBackoffTimeMs?: number | undefined
  /** Age at which a message is returned; 0 = after the first attempt. Default five days. */
  readonly maximalQueueLifetimeMs?: number | undefined
  /** The same for reports; counts as no longer than maximalQueueLifetimeMs. Default five days. */
  readonly bounceQueueLifetimeMs?: number | undefined
  /** Age at which a delay is reported to the sender; 0, the default, = never. */
  readonly delayWarningTimeMs?: number | undefined
  /** How far a delay may be moved, as a share of it: 0 (off, and one interval for each delay) …
   * 0.5. Default 0.1. */
  readonly jitter?: number | undefined
}

const names: OptionNames<PostfixRetryOptions> = {
  minimalBackoffTimeMs: true,
  maximalBackoffTimeMs: true,
  maximalQueueLifetimeMs: true,
  bounceQueueLifetimeMs: true,
  delayWarningTimeMs: true,
  jitter: true,
}

const fiveDaysMs = 5 * 86_400_000

/** @throws WaybillError OPTION_INVALID
 * @see Postfix postconf(5), minimal_backoff_time and its neighbours */
export function postfixRetry(options: PostfixRetryOptions = {}): RetryPolicy {
  checkOptionNames(options, names)
  const lowMs = checkDurationMs(options.minimalBackoffTimeMs ?? 300_000, 'minimalBackoffTimeMs', 1)
  const highMs = checkDurationMs(options.maximalBackoffTimeMs ?? 4_000_000, 'maximalBackoffTimeMs', 1)
  const lifetimeMs = checkDurationMs(
    options.maximalQueueLifetimeMs ?? fiveDaysMs,
    'maximalQueueLifetimeMs',
    0,
  )
  const bounceMs = checkDurationMs(options.bounceQueueLifetimeMs ?? fiveDaysMs, 'bounceQueueLifetimeMs', 0)
  const warningMs = checkDurationMs(options.delayWarningTimeMs ?? 0, 'delayWarningTimeMs', 0)
  const jitter = checkJitter(options.jitter ?? jitterDefault)
  if (lowMs > highMs)
    throw new WaybillError('OPTION_INVALID', 'the minimal backoff time exceeds the maximal one', {
      option: 'minimalBackoffTimeMs',
    })

  const delaysMs = [highMs]
  for (let delayMs = lowMs; delayMs < highMs; delayMs *= 2) delaysMs.push(delayMs)
  const centresMs = intervalsOf(delaysMs)
  const groups = scattered(centresMs, jitter)
  const intervalsMs = intervalsOf([...groups.values()].flat())
  return {
    intervalsMs,
    bounceQueueLifetimeMs: Math.min(bounceMs, lifetimeMs),
    delayWarningAgesMs: warningMs === 0 ? [] : [warningMs],
    decide: (state, prng) => {
      assert(state.attempts >= 1, 'a policy is asked after an attempt')
      if (state.ageMs >= lifetimeMs) return { kind: 'expire' }
      const delayMs = Math.min(Math.max(state.ageMs, lowMs), highMs)
      const centreMs = intervalFor(centresMs, delayMs, jitter, prng)
      return { kind: 'retry', delayMs: oneOf(groups.get(centreMs)!, prng) }
    },
  }
}
