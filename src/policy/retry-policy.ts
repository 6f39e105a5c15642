/** A policy: when a deferred message is tried again, and when it is given up.
 * Invariant: every delay that `decide` answers is a member of `intervalsMs`. Each interval is one
 * lane, and a lane's append order is its due order only because its interval is constant.
 * Policies are pure; the engine asks anew after every attempt, so nothing about retrying is
 * frozen in the queue. */
import type { Prng } from '../base/prng.js'
import type { DeliveryLimits } from './concurrency-limits.js'

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
  /** Age at which a report (null sender) is given up, if `decide` has not given it up
   * before; milliseconds. */
  readonly bounceQueueLifetimeMs: number
  /** Ages at which a delay is reported to the sender, once each; milliseconds,
   * ascending, [] = never. */
  readonly delayWarningAgesMs: readonly number[]
  /** Called after an attempt that left some recipients, once for each of their destinations;
   * answers at once. The shortest delay is taken; recipients that expire while others do not have
   * failed. An error, or an invalid answer, emits `warning` with POLICY_INVALID; the policy is
   * asked again later, and no mail is lost. */
  decide(state: RetryState, prng: Prng): RetryDecision
  /** What deliveries to a destination keep to, beside the scheduler's parameters; answers at once,
   * and the same as long as the policy is in use. Without it there is nothing. */
  limitsFor?(transport: string, nexthop: string): DeliveryLimits
  /** The process limit that a transport needs for these limits, where the scheduler's parameters
   * say none; 0: its default will do. */
  processLimitFor?(transport: string): number
}
