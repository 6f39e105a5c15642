/** Decides what becomes of a message when none of its recipients waits for an attempt. Pure.
 *
 * | deferred recipients | too old | | |
 * |---|---|---|---|
 * | none | – | finish | failures are reported |
 * | some | no | replace, in the lane of the next interval | failures are reported, a delay perhaps |
 * | some | yes | finish | failures and the deferred ones are reported |
 * | some | no, but before the next attempt | replace, until it expires | failures are reported |
 * | some | those for some destinations | give these up, replace with the others | all failures are reported |
 * | some, and others were not even tried | – | hold: recoveries found it again and again without progress | failures are reported | */
import type { ActiveMessage } from '../../active/active-message.js'
import { thrownText } from '../../base/realms.js'
import type { MessageId } from '../../base/message-id.js'
import type { Prng } from '../../base/prng.js'
import { notAwaited } from '../../delivery/call-listener.js'
import { WaybillError } from '../../errors.js'
import type { RetryDecision, RetryPolicy, RetryState } from '../../policy/retry-policy.js'
import type { Deferred } from './deferred.js'

export type SettleDecision =
  | { readonly kind: 'finish'; readonly expired: readonly number[] }
  | {
      readonly kind: 'replace'
      readonly delayMs: number
      readonly warns: boolean
      /** It expires before the next attempt: it only waits for that, milliseconds since 1970. */
      readonly until: number | undefined
      /** Recipients that are given up while others of the message are tried again. */
      readonly expired: readonly Deferred[]
    }
  | { readonly kind: 'hold' }

/** The part of a policy that is asked here. */
type Deciding = Omit<RetryPolicy, 'limitsFor'>

export interface SettleFacts {
  readonly message: ActiveMessage
  /** Milliseconds (message-age.ts). */
  readonly ageMs: number
  /** Now, milliseconds since 1970. */
  readonly wallMs: number
  /** All its deferred recipients. */
  readonly deferred: readonly Deferred[]
}

/** A limit keeps a delivery of it waiting. */
export interface Turn {
  readonly transport: string
  readonly nexthop: string
  /** Until it has its turn, milliseconds. */
  readonly leftMs: number
}

export type TurnDecision =
  | { readonly kind: 'finish'; readonly expired: readonly number[] }
  | {
      readonly kind: 'turn'
      readonly delayMs: number
      readonly warns: boolean
      readonly expired: readonly Deferred[]
    }

/** @throws WaybillError POLICY_INVALID if the policy throws, or its answer is invalid: it is
 * asked again later */
export function settleDecision(facts: SettleFacts, policy: Deciding, prng: Prng): SettleDecision {
  if (facts.message.pendingCount > 0) return { kind: 'hold' }
  if (facts.deferred.length === 0) return { kind: 'finish', expired: [] }
  return decisionOf(facts, policy, prng)
}

/** Some recipients are deferred. */
function decisionOf(
  { message, ageMs, wallMs, deferred }: SettleFacts,
  policy: Deciding,
  prng: Prng,
): Exclude<SettleDecision, { kind: 'hold' }> {
  const { envelope } = message
  const { expiresAt = 0, warnAt = 0 } = envelope.terms ?? {}
  if (expiresAt > 0 && wallMs >= expiresAt) return { kind: 'finish', expired: message.indexesIn('deferred') }
  const isReport = envelope.sender === ''
  const samePrng = sharingDraws(prng)
  const expired: Deferred[] = []
  let delayMs = Infinity
  for (const each of deferred) {
    const { transport, nexthop } = each
    const state = { attempts: envelope.attempts + 1, ageMs, transport, nexthop }
    const decision = decided(envelope.id, state, policy, samePrng())
    // It has its own time: the policy's last word is its longest wait.
    if (expiresAt > 0 && decision.kind === 'expire')
      delayMs = Math.min(delayMs, Math.max(...policy.intervalsMs))
    else if (decision.kind === 'expire' || (isReport && ageMs >= policy.bounceQueueLifetimeMs))
      expired.push(each)
    else delayMs = Math.min(delayMs, decision.delayMs)
  }
  if (expired.length === deferred.length) return { kind: 'finish', expired: message.indexesIn('deferred') }
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

/** Decides for a message that waits for its turn under a limit: recipients of it may be deferred as
 * well. A limit never ends it: only its age does, as if it had been attempted.
 * @throws WaybillError POLICY_INVALID */
export function turnDecision(facts: SettleFacts, turn: Turn, policy: Deciding, prng: Prng): TurnDecision {
  const { message, ageMs, deferred } = facts
  const isTooOld = isTooOldToWait(message, ageMs, turn, policy, prng)
  if (deferred.length === 0) {
    if (isTooOld) return { kind: 'finish', expired: message.indexesIn('pending') }
    return { kind: 'turn', delayMs: turn.leftMs, warns: false, expired: [] }
  }
  const decision = decisionOf(facts, policy, prng)
  switch (decision.kind) {
    case 'finish':
      return isTooOld
        ? { kind: 'finish', expired: [...message.indexesIn('pending'), ...message.indexesIn('deferred')] }
        : { kind: 'turn', delayMs: turn.leftMs, warns: false, expired: deferred }
    case 'replace': {
      // What has been deferred is attempted no sooner than without the limit.
      const { delayMs, warns, expired } = decision
      return { kind: 'turn', delayMs: Math.max(delayMs, turn.leftMs), warns, expired }
    }
  }
}

/** Does its age alone end it? A policy may count attempts: one that was not made ends nothing. */
function isTooOldToWait(
  { envelope }: ActiveMessage,
  ageMs: number,
  { transport, nexthop }: Turn,
  policy: Deciding,
  prng: Prng,
): boolean {
  // It has its own time: the next start of it, and the next attempt, look at that.
  if ((envelope.terms?.expiresAt ?? 0) > 0) return false
  if (envelope.sender === '' && ageMs >= policy.bounceQueueLifetimeMs) return true
  const attempts = Math.max(1, envelope.attempts)
  const endsAt = (age: number): boolean =>
    decided(envelope.id, { attempts, ageMs: age, transport, nexthop }, policy, prng).kind === 'expire'
  return endsAt(ageMs) && !endsAt(0)
}

/** A message waits for the shortest of several delays. Separate draws would make the shortest delay
 * too short, the more the more destinations there are, so all share one draw.
 * @returns a generator, from the first draw on */
function sharingDraws(prng: Prng): () => Prng {
  const drawn: number[] = []
  return () => {
    let next = 0
    return { uint32: () => (drawn[next++] ??= prng.uint32()) }
  }
}

/** An embedder may write a policy. A defect of it must not end this life, and each later one at the
 * same message. */
function decided(id: MessageId, state: RetryState, policy: Deciding, prng: Prng): RetryDecision {
  try {
    const decision = policy.decide(state, prng)
    if (decision.kind === 'expire' || Number.isFinite(decision.delayMs)) return decision
    notAwaited(decision)
    throw new TypeError(`${String(decision.delayMs)} is no delay`)
  } catch (error) {
    const words = thrownText(error)
    throw new WaybillError('POLICY_INVALID', `the retry policy fails: ${words}`, { id }, error)
  }
}
