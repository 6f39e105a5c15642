/** The waiting entries and the deliveries under way for one nexthop of one transport (Postfix's
 * "queue").
 * Invariant: `window` is 0 exactly while the destination is dead; `contribution` is what the
 * transport's sums hold of it. */
import { assert } from '../base/assert.js'
import type { QueuedEntry } from './entry.js'
import type { DestinationSnapshot, DestinationState } from './interface.js'
import type { SharedBounds } from './shared-bounds.js'
import type { Timer } from './timers.js'
import type { Transport } from './transport.js'

/** The state of a destination that may get deliveries. */
export const ready: DestinationState = { kind: 'ready' }

/** The bound of a destination while memory is crowded. */
export interface Pace {
  readonly sinceMs: number
  /** When it was looked at last. */
  seenAtMs: number
  /** Entries that may wait. */
  readonly keptMax: number
}

/** The last starts of deliveries to one destination, so that a rate limit holds in EVERY interval,
 * not only in aligned ones.
 * Invariant: `#startsMs` holds the last `limit` starts; the next may come one interval after the
 * oldest of them. */
class RateRing {
  readonly #startsMs: Float64Array
  readonly #intervalMs: number
  #oldest = 0

  /** @param limit starts per interval, ≥ 1 */
  constructor(limit: number, intervalMs: number) {
    this.#startsMs = new Float64Array(limit).fill(-Infinity)
    this.#intervalMs = intervalMs
  }

  start(nowMs: number): void {
    this.#startsMs[this.#oldest] = nowMs
    this.#oldest = (this.#oldest + 1) % this.#startsMs.length
  }

  /** When the next delivery may start; in the past when it may at once. */
  get freeAtMs(): number {
    return this.#startsMs[this.#oldest]! + this.#intervalMs
  }

  /** When the last start stops to count. */
  get emptyAtMs(): number {
    const newest = (this.#oldest + this.#startsMs.length - 1) % this.#startsMs.length
    return this.#startsMs[newest]! + this.#intervalMs
  }

  /** Starts that count now. */
  countAt(nowMs: number): number {
    let count = 0
    for (const startMs of this.#startsMs) if (startMs + this.#intervalMs > nowMs) count++
    return count
  }

  clear(): void {
    this.#startsMs.fill(-Infinity)
  }
}

/** The rate limit of a transport's destinations; undefined when the transport has none. */
export function rateRingOf({ settings }: Transport): RateRing | undefined {
  const { destinationRateLimit: limit, destinationRateInterval } = settings
  return limit > 0 ? new RateRing(limit, destinationRateInterval * 1000) : undefined
}

export class Destination {
  readonly transport: Transport
  /** Its key: the nexthop in lower case, or `localpart@nexthop`. */
  readonly name: string
  readonly nexthop: string
  /** In the order of creation. */
  older: Destination | undefined = undefined
  newer: Destination | undefined = undefined
  sameHash: Destination | undefined = undefined
  state: DestinationState = ready
  window: number
  busy = 0
  todo = 0
  firstTodo: QueuedEntry | undefined = undefined
  lastTodo: QueuedEntry | undefined = undefined
  success = 0
  failure = 0
  failCohorts = 0
  /** It blocks jobs while this equals its transport's. */
  blockerTag = 0
  contribution = 0
  /** What it may have together with others; undefined: there are no such bounds. */
  bounds: SharedBounds | undefined = undefined
  /** A delivery has ended without trouble of the site. */
  hasAnswered = false
  /** In its transport's line of idle destinations, and its neighbours there. */
  isInLine = false
  linePrevious: Destination | undefined = undefined
  lineNext: Destination | undefined = undefined
  /** Deliveries that ended since `pace.sinceMs`, while memory is crowded (crowding.ts). */
  endCount = 0
  pace: Pace | undefined = undefined
  timer: Timer | undefined = undefined
  recovery: DestinationSnapshot['recovery'] = 'none'
  recoveryUntilMs = 0
  rate: RateRing | undefined

  constructor(transport: Transport, name: string, nexthop: string) {
    this.transport = transport
    this.name = name
    this.nexthop = nexthop
    this.window = transport.settings.initialWindow
    this.rate = rateRingOf(transport)
  }

  /** One more delivery may start. */
  get hasRoom(): boolean {
    const isOpen = this.bounds === undefined || this.bounds.hasRoom
    return this.window > this.busy && this.state === ready && !this.isHeldBack && isOpen
  }

  /** It has not answered yet, and others may need its processes. */
  get isHeldBack(): boolean {
    if (this.hasAnswered || this.busy === 0) return false
    const { settings, busy } = this.transport
    return settings.unansweredProcessLimit < settings.processLimit && busy >= settings.unansweredProcessLimit
  }

  get isIdle(): boolean {
    return this.busy === 0 && this.todo === 0
  }

  snapshot(nowMs: number): DestinationSnapshot {
    const { nexthop, name, window, busy, todo, state, recovery } = this
    const rate = this.rate?.countAt(nowMs) ?? 0
    return { transport: this.transport.name, nexthop, name, window, busy, todo, state, recovery, rate }
  }

  /** Brings the transport's sums up to date: to be called after every change of state, window,
   * busy, todo or recovery. What a recovery keeps below what is under way is no window that
   * shrank: it lacks nothing. */
  recount(): void {
    const places = this.window - this.busy
    const free = this.recovery === 'none' ? places : Math.max(places, 0)
    const now = this.state === ready ? Math.min(free, this.todo) : 0
    const waitsIdle = this.busy === 0 && now > 0
    if (waitsIdle !== this.isInLine) this.transport.line(this, waitsIdle)
    if (now !== this.contribution) this.#contribute(now)
  }

  /** The sums hold nothing of it, until it is recounted. */
  withdrawContribution(): void {
    this.#contribute(0)
  }

  #contribute(now: number): void {
    const before = this.contribution
    const sums = this.bounds ?? this.transport
    if (before > 0) sums.open -= before
    else sums.deficit += before
    if (now > 0) sums.open += now
    else sums.deficit -= now
    this.contribution = now
  }
}

/** A new destination with the initial window. */
export function addDestination(transport: Transport, name: string, nexthop: string): Destination {
  const destination = new Destination(transport, name, nexthop)
  transport.destinations.add(destination)
  return destination
}

/** Removes a destination from its transport. @throws InvariantError unless it is idle and ready */
export function removeDestination(destination: Destination): void {
  assert(
    destination.isIdle && destination.state.kind === 'ready',
    'a destination that leaves is idle and ready',
  )
  destination.transport.destinations.remove(destination)
}
