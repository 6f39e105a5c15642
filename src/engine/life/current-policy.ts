/** The retry policy of a queue, which may be replaced while the queue is open.
 * Invariant: lanes are those of the first one, because a life makes them when it opens; a delay
 * that has none goes to the nearest, until the queue is opened with the new policy. Invalid
 * limits are a defect that is reported, and no limits: a policy may be a program's own, and its
 * mistakes must not end this life. */
import { thrownText } from '../../base/realms.js'
import { notAwaited } from '../../delivery/call-listener.js'
import type { Prng } from '../../base/prng.js'
import type { DeliveryLimits } from '../../policy/concurrency-limits.js'
import type { RetryDecision, RetryPolicy, RetryState } from '../../policy/retry-policy.js'

export class CurrentPolicy implements Omit<RetryPolicy, 'limitsFor'> {
  /** Those that have a lane. */
  readonly intervalsMs: readonly number[]
  #policy: RetryPolicy
  /** Called with errors of a policy. */
  onDefect: (words: string) => void = () => undefined

  constructor(policy: RetryPolicy) {
    this.#policy = policy
    this.intervalsMs = policy.intervalsMs
  }

  replace(policy: RetryPolicy): void {
    this.#policy = policy
  }

  get bounceQueueLifetimeMs(): number {
    return this.#policy.bounceQueueLifetimeMs
  }

  get delayWarningAgesMs(): readonly number[] {
    return this.#policy.delayWarningAgesMs
  }

  decide(state: RetryState, prng: Prng): RetryDecision {
    return this.#policy.decide(state, prng)
  }

  limitsFor(transport: string, nexthop: string): DeliveryLimits | undefined {
    if (this.#policy.limitsFor === undefined) return undefined
    try {
      const limits: unknown = notAwaited(this.#policy.limitsFor(transport, nexthop))
      if (isLimits(limits)) return limits
      throw new TypeError('limitsFor() answers counts from 1 on, a ring, and queueonly')
    } catch (error) {
      this.onDefect(thrownText(error))
      return undefined
    }
  }

  processLimitFor(transport: string): number {
    return this.#policy.processLimitFor?.(transport) ?? 0
  }
}

function isLimits(value: unknown): value is DeliveryLimits {
  const limits = (value ?? {}) as Partial<DeliveryLimits>
  const { deliveryCountMax, transportDeliveryCountMax, ring, ringDeliveryCountMax, queueonly } = limits
  return (
    [deliveryCountMax, transportDeliveryCountMax, ringDeliveryCountMax].every(
      (count) => typeof count === 'number' && count >= 1,
    ) &&
    typeof ring === 'string' &&
    typeof queueonly === 'boolean'
  )
}
