/** What is done with a message when none of its recipients waits for an attempt: a decision over what is known, no more.
 *
 * | deferred recipients | too old | | |
 * |---|---|---|---|
 * | none | – | finish | failures are reported |
 * | some | no | replace, in the lane of the next interval | failures are reported, a delay perhaps |
 * | some | yes | finish | failures and the deferred ones are reported |
 * | some, and others were not even tried | – | hold: recoveries found it again and again without progress | failures are reported | */
import type { ActiveMessage } from '../active/active-message.js'
import type { Prng } from '../base/prng.js'
import { WaybillError } from '../errors.js'
import type { RetryDecision, RetryPolicy } from '../policy/retry-policy.js'

export type SettleDecision =
  | { readonly kind: 'finish'; readonly expired: readonly number[] }
  | { readonly kind: 'replace'; readonly delayMs: number; readonly warns: boolean }
  | { readonly kind: 'hold' }

export interface SettleFacts {
  readonly message: ActiveMessage
  readonly nowMs: number
  readonly transport: string
  readonly nexthop: string
}

/** @throws WaybillError POLICY_INVALID when the policy throws, or its answer is none: whoever settles asks again later */
export function settleDecision(facts: SettleFacts, policy: RetryPolicy, prng: Prng): SettleDecision {
  const { message, nowMs } = facts
  const { envelope } = message
  const deferred = message.indexesIn('deferred')
  if (message.pendingCount > 0) return { kind: 'hold' }
  if (deferred.length === 0) return { kind: 'finish', expired: [] }
  const ageMs = nowMs - envelope.acceptedAt
  const decision = decided(facts, ageMs, policy, prng)
  const isReport = envelope.sender === ''
  if (decision.kind === 'expire' || (isReport && ageMs >= policy.bounceQueueLifetimeMs))
    return { kind: 'finish', expired: deferred }
  const warningAgeMs = policy.delayWarningAgesMs[message.warnings]
  return {
    kind: 'replace',
    delayMs: decision.delayMs,
    warns: !isReport && warningAgeMs !== undefined && ageMs >= warningAgeMs,
  }
}

/** A policy may be anybody's. What it does wrong must not end this life, and each later one at the same message. */
function decided(
  { message: { envelope }, transport, nexthop }: SettleFacts,
  ageMs: number,
  policy: RetryPolicy,
  prng: Prng,
): RetryDecision {
  try {
    const decision = policy.decide({ attempts: envelope.attempts + 1, ageMs, transport, nexthop }, prng)
    if (decision.kind === 'expire' || Number.isFinite(decision.delayMs)) return decision
    throw new TypeError(`${String(decision.delayMs)} is no delay`)
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    throw new WaybillError('POLICY_INVALID', `the retry policy fails: ${words}`, { id: envelope.id }, error)
  }
}
