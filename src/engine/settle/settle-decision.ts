/** What is done with a message when none of its recipients waits for an attempt: a decision over
 * what is known, no more.
 *
 * | deferred recipients | too old | | |
 * |---|---|---|---|
 * | none | – | finish | failures are reported |
 * | some | no | replace, in the lane of the next interval | failures are reported, a delay perhaps |
 * | some | yes | finish | failures and the deferred ones are reported |
 * | some | no, but before the next attempt | replace, until it expires | failures are reported |
 * | some | those for some destinations | give these up, replace with the others | all who failed are reported |
 * | some, and others were not even tried | – | hold: recoveries found it again and again without progress | failures are reported | */
import type { ActiveMessage } from '../../active/active-message.js'
import type { MessageId } from '../../base/message-id.js'
import type { Prng } from '../../base/prng.js'
import { WaybillError } from '../../errors.js'
import type { RetryDecision, RetryPolicy, RetryState } from '../../policy/retry-policy.js'
import type { Waiters } from './waiters.js'

export type SettleDecision =
  | { readonly kind: 'finish'; readonly expired: readonly number[] }
  | {
      readonly kind: 'replace'
      readonly delayMs: number
      readonly warns: boolean
      /** It expires before the next attempt: it only waits for that, milliseconds since 1970. */
      readonly until: number | undefined
      /** Recipients that are given up while others of the message are tried again. */
      readonly expired: readonly Waiters[]
    }
  | { readonly kind: 'hold' }

/** What is asked of a policy here. */
type Deciding = Omit<RetryPolicy, 'limitsFor'>

export interface SettleFacts {
  readonly message: ActiveMessage
  /** Milliseconds (message-age.ts). */
  readonly ageMs: number
  /** Now, milliseconds since 1970. */
  readonly wallMs: number
  /** All recipients that are deferred. */
  readonly waiters: readonly Waiters[]
}

/** @throws WaybillError POLICY_INVALID if the policy throws, or its answer is invalid: it is
 * asked again later */
export function settleDecision(
  { message, ageMs, wallMs, waiters }: SettleFacts,
  policy: Deciding,
  prng: Prng,
): SettleDecision {
  const { envelope } = message
  if (message.pendingCount > 0) return { kind: 'hold' }
  if (waiters.length === 0) return { kind: 'finish', expired: [] }
  const { expiresAt = 0, warnAt = 0 } = envelope.terms ?? {}
  if (expiresAt > 0 && wallMs >= expiresAt) return { kind: 'finish', expired: message.indexesIn('deferred') }
  const isReport = envelope.sender === ''
  const draws = new Draws(prng)
  const expired: Waiters[] = []
  let delayMs = Infinity
  for (const each of waiters) {
    const { transport, nexthop } = each
    const state = { attempts: envelope.attempts + 1, ageMs, transport, nexthop }
    const decision = decided(envelope.id, state, policy, draws.again())
    // It has its own time: the policy's last word is its longest wait.
    if (expiresAt > 0 && decision.kind === 'expire')
      delayMs = Math.min(delayMs, Math.max(...policy.intervalsMs))
    else if (decision.kind === 'expire' || (isReport && ageMs >= policy.bounceQueueLifetimeMs))
      expired.push(each)
    else delayMs = Math.min(delayMs, decision.delayMs)
  }
  if (expired.length === waiters.length) return { kind: 'finish', expired: message.indexesIn('deferred') }
  const warningAgeMs = policy.delayWarningAgesMs[message.warnings]
  return {
    kind: 'replace',
    delayMs,
    warns:
      !isReport &&
      ((warningAgeMs !== undefined && ageMs >= warningAgeMs) || (warnAt > 0 && wallMs >= warnAt)),
    until: expiresAt > 0 && wallMs + delayMs >= expiresAt ? expiresAt : undefined,
    expired,
  }
}

/** A message waits for the shortest of several delays. Separate draws would make the shortest delay
 * too short, the more the more destinations there are, so all share one draw. */
class Draws {
  readonly #prng: Prng
  readonly #drawn: number[] = []

  constructor(prng: Prng) {
    this.#prng = prng
  }

  /** From the first draw on. */
  again(): Prng {
    let next = 0
    return { uint32: () => (this.#drawn[next++] ??= this.#prng.uint32()) }
  }
}

/** A policy may be anybody's. What it does wrong must not end this life, and each later one at
 * the same message. */
function decided(id: MessageId, state: RetryState, policy: Deciding, prng: Prng): RetryDecision {
  try {
    const decision = policy.decide(state, prng)
    if (decision.kind === 'expire' || Number.isFinite(decision.delayMs)) return decision
    throw new TypeError(`${String(decision.delayMs)} is no delay`)
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    throw new WaybillError('POLICY_INVALID', `the retry policy fails: ${words}`, { id }, error)
  }
}
