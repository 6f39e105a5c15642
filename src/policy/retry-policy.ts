/** When a deferred message is tried again, and when it is given up.
 * Invariant: every delay that `decide` answers is a member of `intervalsMs`. Each interval is one lane, and a lane's append
 * order is its due order only because its interval is constant. Policies are pure; the engine asks anew after every attempt,
 * so nothing about retrying is frozen in the queue. */
import type { Prng } from '../base/prng.js'
import type { DeliveryLimits } from './delivery-limits.js'

export interface RetryState {
  /** Attempts that were made, ≥ 1. */
  readonly attempts: number
  /** Milliseconds since the queue accepted the message; negative when the clock was set back. */
  readonly ageMs: number
  readonly transport: string
  readonly nexthop: string
}

export type RetryDecision = { readonly kind: 'retry'; readonly delayMs: number } | { readonly kind: 'expire' }

export interface RetryPolicy {
  /** Every interval that `decide` may answer: ascending, distinct, milliseconds, 1 … 32 of them. */
  readonly intervalsMs: readonly number[]
  /** Age at which a report (null sender) is given up, if `decide` has not given it up before; milliseconds. */
  readonly bounceQueueLifetimeMs: number
  /** Ages at which the sender is told, once each, that the message is late; milliseconds, ascending, [] = never. */
  readonly delayWarningAgesMs: readonly number[]
  /** Asked when some recipients are left after an attempt, once for each destination that they have; answers at once. Of several delays the shortest
   * is taken; who is to expire while others are not, fails. What it throws, and an answer that is none, is a `warning` with
   * POLICY_INVALID: it is asked again later, and no mail is lost. */
  decide(state: RetryState, prng: Prng): RetryDecision
  /** What deliveries to a destination keep to, beside the scheduler's parameters; answers at once, and the
   * same as long as the policy is in use. Without it there is nothing. */
  limitsFor?(transport: string, nexthop: string): DeliveryLimits
}
