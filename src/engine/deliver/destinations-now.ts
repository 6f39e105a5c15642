/** The scheduler's destinations, with times of the wall clock. */
import type { Clock } from '../../base/clock.js'
import { comparableDomain } from '../../base/mail-address.js'
import type { DestinationSnapshot } from '../../scheduler/scheduler.js'
import { siteKey } from '../../policy/rate-limits.js'
import type { LimitedSite } from './rate-limiter.js'
import { everyName, type Suspension, type Suspensions } from '../life/suspensions.js'

/** The scheduler goes by the monotonic clock. */
export function byWallClock(
  destinations: Iterable<DestinationSnapshot>,
  clock: Clock,
): readonly DestinationSnapshot[] {
  const offsetMs = clock.wallMs() - clock.monotonicMs()
  return [...destinations].map((destination) => {
    const { state, limit } = destination
    if (state.kind === 'ready' && limit === undefined) return destination
    const byWall = <T extends { readonly untilMs: number }>(one: T): T => ({
      ...one,
      untilMs: Math.round(one.untilMs + offsetMs),
    })
    return {
      ...destination,
      state: state.kind === 'ready' ? state : byWall(state),
      ...(limit === undefined ? undefined : { limit: byWall(limit) }),
    }
  })
}

/** With the limits that mail waits for. A site of which nothing else waits has a separate line. */
export function withLimits(
  destinations: Iterable<DestinationSnapshot>,
  sites: Iterable<LimitedSite>,
): Iterable<DestinationSnapshot> {
  const byKey = new Map<string, LimitedSite>()
  for (const site of sites) byKey.set(siteKey(site), site)
  if (byKey.size === 0) return destinations
  const unused = new Set(byKey.values())
  const used = [...destinations].map((destination) => {
    const site = byKey.get(siteKey(destination))
    if (site === undefined) return destination
    unused.delete(site)
    return { ...destination, limit: site.limit }
  })
  return [...used, ...[...unused].map(limitedAlone)]
}

function limitedAlone({ transport, nexthop, limit }: LimitedSite): DestinationSnapshot {
  const name = comparableDomain(nexthop)
  const state = { kind: 'ready' } as const
  return { transport, nexthop, name, window: 0, busy: 0, todo: 0, state, recovery: 'none', rate: 0, limit }
}

/** With the state of those that an operator has suspended. What is suspended and not in use has a
 * separate line. */
export function withSuspensions(
  destinations: readonly DestinationSnapshot[],
  suspensions: Suspensions,
): readonly DestinationSnapshot[] {
  const unused = new Set(suspensions.all())
  if (unused.size === 0) return destinations
  const used = destinations.map((destination) => {
    const { transport, nexthop } = destination
    const own = suspensions.of({ transport, nexthop })
    if (own !== undefined) unused.delete(own)
    const over = suspensions.over(transport, nexthop)
    return over === undefined ? destination : { ...destination, state: stateOf(over) }
  })
  return [...used, ...[...unused].map(unusedOf)]
}

const stateOf = ({ transport, nexthop, untilAt }: Suspension): DestinationSnapshot['state'] => ({
  kind: 'suspended',
  untilMs: untilAt,
  order: { transport, nexthop },
})

function unusedOf(suspension: Suspension): DestinationSnapshot {
  const { transport = everyName, nexthop = everyName } = suspension
  const state = stateOf(suspension)
  const name = comparableDomain(nexthop)
  return { transport, nexthop, name, window: 0, busy: 0, todo: 0, state, recovery: 'none', rate: 0 }
}

/** Is just this what an operator has suspended? So each suspension counts once in a list. */
export function isOrdered({ transport, nexthop, state }: DestinationSnapshot): boolean {
  if (state.kind !== 'suspended' || state.order === undefined) return false
  const { order } = state
  return (
    (order.transport ?? everyName) === transport &&
    comparableDomain(order.nexthop ?? everyName) === comparableDomain(nexthop)
  )
}
