/** The scheduler's destinations, with times of the wall clock, limits and suspensions.
 * Invariant: choosing a few of very many costs a look at each, and no object. */
import type { Clock } from '../../base/clock.js'
import { comparableDomain } from '../../base/mail-address.js'
import type { DestinationSnapshot, KnownDestination } from '../../scheduler/scheduler.js'
import { siteKey } from '../../policy/rate-limits.js'
import type { LimitedSite } from './rate-limiter.js'
import { everyName, type Suspension, type Suspensions } from '../life/suspensions.js'

/** Which destinations a snapshot has: all; those with deliveries under way; those whose mail waits
 * for a limit; none. */
export type DestinationChoice = 'all' | 'busy' | 'limited' | 'none'

export const destinationChoices = ['all', 'busy', 'limited', 'none'] as const

interface Known {
  readonly sites: Iterable<LimitedSite>
  readonly suspensions: Suspensions
  readonly clock: Clock
}

/** @param scheduler may have a hundred thousand: snapshots of all would be a step of the program of
 * tens of milliseconds */
export function destinationsNow(
  scheduler: { destinations(isWanted: (known: KnownDestination) => boolean): Iterable<DestinationSnapshot> },
  { sites, suspensions, clock }: Known,
  choice: DestinationChoice,
): readonly DestinationSnapshot[] {
  if (choice === 'none') return []
  const limited = new Map<string, LimitedSite>()
  for (const site of sites) limited.set(siteKey(site), site)
  if (choice === 'limited' && limited.size === 0) return []
  const isWanted = {
    all: () => true,
    busy: ({ busy }: KnownDestination) => busy > 0,
    limited: ({ transport, nexthop }: KnownDestination) =>
      limited.has(siteKey({ transport: transport.name, nexthop })),
  }[choice]
  const wanted = withSuspensions(
    byWallClock(withLimits(scheduler.destinations(isWanted), limited), clock),
    suspensions,
  )
  // Lines were added for what is not in use.
  if (choice === 'all') return wanted
  return wanted.filter(({ busy, limit }) => (choice === 'busy' ? busy > 0 : limit !== undefined))
}

/** The scheduler goes by the monotonic clock. */
function byWallClock(
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
function withLimits(
  destinations: Iterable<DestinationSnapshot>,
  byKey: ReadonlyMap<string, LimitedSite>,
): Iterable<DestinationSnapshot> {
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
function withSuspensions(
  destinations: readonly DestinationSnapshot[],
  suspensions: Suspensions,
): readonly DestinationSnapshot[] {
  const unused = new Set(suspensions.all())
  if (unused.size === 0) return destinations
  const used = destinations.map((destination) => {
    const { transport, nexthop } = destination
    const own = suspensions.of(transport === everyName ? { nexthop } : { transport, nexthop })
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

/** The destination with the most active mail; of equal ones the first.
 * @returns undefined when there is none */
export function largestOf<Destination extends Pick<DestinationSnapshot, 'busy' | 'todo'>>(
  destinations: readonly Destination[],
): Destination | undefined {
  let largest = destinations[0]
  for (const destination of destinations)
    if (largest === undefined || activeCountOf(destination) > activeCountOf(largest)) largest = destination
  return largest
}

const activeCountOf = ({ busy, todo }: Pick<DestinationSnapshot, 'busy' | 'todo'>): number => busy + todo
