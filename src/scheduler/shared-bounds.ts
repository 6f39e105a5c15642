/** Bounds that destinations share: deliveries at once of a ring, of a transport, of all transports.
 * Invariant: a delivery begins only while each of these three counts is below the bound that its
 * destination has for it. Destinations with the same bounds have one object here, so that a count
 * that is full takes all of them out of the transport's sums without a walk.
 * @see ZMailer manual, Scheduler: maxring, maxchannel, maxta; SCHEDULER.md, Beyond Postfix */
import type { DeliveryLimits } from '../policy/concurrency-limits.js'
import { releaseAll } from './blockers.js'
import type { Destination } from './destination.js'
import type { SchedulerState } from './state.js'
import type { Transport } from './transport.js'

/** Deliveries under way. */
export interface Count {
  busy: number
}

/** Of all destinations whose policy names the ring, whatever their transport. */
export interface Ring extends Count {
  readonly name: string
  /** Bounds that count with it. */
  userCount: number
}

export class SharedBounds {
  readonly key: string
  readonly ring: Ring
  /** Sums of the destinations that have these bounds, as those of a transport. */
  open = 0
  deficit = 0
  memberCount = 0
  /** A job is a blocker because these bounds are reached. */
  holdsBack = false
  readonly #limits: DeliveryLimits
  readonly #transport: Count
  readonly #total: Count

  constructor(key: string, limits: DeliveryLimits, ring: Ring, transport: Count, total: Count) {
    this.key = key
    this.ring = ring
    this.#limits = limits
    this.#transport = transport
    this.#total = total
  }

  /** One more delivery may start. */
  get hasRoom(): boolean {
    const { ringDeliveryCountMax, transportDeliveryCountMax, deliveryCountMax } = this.#limits
    return (
      this.ring.busy < ringDeliveryCountMax &&
      this.#transport.busy < transportDeliveryCountMax &&
      this.#total.busy < deliveryCountMax
    )
  }
}

const keyOf = (limits: DeliveryLimits): string => {
  const { ring, ringDeliveryCountMax, transportDeliveryCountMax, deliveryCountMax } = limits
  return `${ringDeliveryCountMax} ${transportDeliveryCountMax} ${deliveryCountMax} ${ring}`
}

/** A destination is made: it gets the bounds that its policy names. */
export function joinBounds(state: SchedulerState, destination: Destination): void {
  const { transport, nexthop } = destination
  const limits = state.host.limitsOf?.(transport.name, nexthop)
  if (limits === undefined) return
  const key = keyOf(limits)
  const bounds = transport.bounds.get(key) ?? newBounds(state, transport, key, limits)
  bounds.memberCount++
  bounds.ring.busy += destination.busy
  destination.bounds = bounds
}

function newBounds(
  state: SchedulerState,
  transport: Transport,
  key: string,
  limits: DeliveryLimits,
): SharedBounds {
  const known = state.rings.get(limits.ring)
  const ring = known ?? { name: limits.ring, busy: 0, userCount: 0 }
  if (known === undefined) state.rings.set(ring.name, ring)
  ring.userCount++
  const bounds = new SharedBounds(key, limits, ring, transport, state.total)
  transport.bounds.set(key, bounds)
  return bounds
}

/** The destination goes, or gets other bounds. Its contribution is no part of the sums any more. */
export function leaveBounds(state: SchedulerState, destination: Destination): void {
  const { bounds, transport } = destination
  if (bounds === undefined) return
  destination.bounds = undefined
  bounds.ring.busy -= destination.busy
  if (--bounds.memberCount > 0) return
  transport.bounds.delete(bounds.key)
  if (--bounds.ring.userCount === 0) state.rings.delete(bounds.ring.name)
}

/** The policy is another one: bounds are asked for again. What is under way goes on, and counts. */
export function renewBounds(state: SchedulerState): void {
  for (const transport of state.transports.values()) {
    for (const destination of transport.destinations) {
      destination.withdrawContribution()
      leaveBounds(state, destination)
      joinBounds(state, destination)
      destination.recount()
    }
    releaseAll(transport)
  }
}

/** Deliveries have ended: jobs that waited for a bound go on when there is room below it.
 * Cost: one step per transport and kind of bounds. */
export function releaseBounded(state: SchedulerState): void {
  if (state.rings.size === 0) return
  for (const transport of state.transports.values()) {
    let isReleased = false
    for (const bounds of transport.bounds.values()) {
      if (!bounds.holdsBack || !bounds.hasRoom) continue
      bounds.holdsBack = false
      isReleased = true
    }
    if (isReleased) releaseAll(transport)
  }
}
