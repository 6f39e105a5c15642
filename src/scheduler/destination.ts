/** What waits and what is under way for one nexthop of one transport (Postfix's "queue").
 * Invariant: `window` is 0 exactly while the destination is dead; `contribution` is what the transport's sums hold of it. */
import { assert } from '../base/assert.js'
import type { QueuedEntry } from './entry.js'
import type { DestinationSnapshot, DestinationState } from './face.js'
import { RateRing } from './rate-ring.js'
import type { Timer } from './timers.js'
import type { Transport } from './transport.js'

export const ready: DestinationState = { kind: 'ready' }

export class Destination {
  readonly transport: Transport
  /** Its key: the nexthop in lower case, or `localpart@nexthop`. */
  readonly name: string
  readonly nexthop: string
  /** In the order of creation. */
  previous: Destination | undefined = undefined
  next: Destination | undefined = undefined
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
  timer: Timer | undefined = undefined
  recovery: DestinationSnapshot['recovery'] = 'none'
  recoveryUntilMs = 0
  readonly rate: RateRing | undefined

  constructor(transport: Transport, name: string, nexthop: string) {
    const { initialWindow, destinationRateLimit, destinationRateInterval } = transport.settings
    this.transport = transport
    this.name = name
    this.nexthop = nexthop
    this.window = initialWindow
    this.rate =
      destinationRateLimit > 0
        ? new RateRing(destinationRateLimit, destinationRateInterval * 1000)
        : undefined
  }

  /** One more delivery may start. */
  get hasRoom(): boolean {
    return this.window > this.busy && this.state === ready
  }

  get isIdle(): boolean {
    return this.busy === 0 && this.todo === 0
  }

  snapshot(nowMs: number): DestinationSnapshot {
    const { nexthop, name, window, busy, todo, state, recovery } = this
    const rate = this.rate?.countAt(nowMs) ?? 0
    return { transport: this.transport.name, nexthop, name, window, busy, todo, state, recovery, rate }
  }

  /** Brings the transport's sums up to date: to be called after every change of state, window, busy, todo or recovery. What a recovery
   * keeps below what is under way is no window that shrank: it lacks nothing. */
  recount(): void {
    const places = this.window - this.busy
    const free = this.recovery === 'none' ? places : Math.max(places, 0)
    const now = this.state === ready ? Math.min(free, this.todo) : 0
    const before = this.contribution
    if (now === before) return
    const transport = this.transport
    if (before > 0) transport.open -= before
    else transport.deficit += before
    if (now > 0) transport.open += now
    else transport.deficit -= now
    this.contribution = now
  }
}

/** A new destination with the initial window. */
export function addDestination(transport: Transport, name: string, nexthop: string): Destination {
  const destination = new Destination(transport, name, nexthop)
  transport.destinations.set(name, destination)
  destination.previous = transport.lastDestination
  if (transport.lastDestination === undefined) transport.firstDestination = destination
  else transport.lastDestination.next = destination
  transport.lastDestination = destination
  return destination
}

export function removeDestination(destination: Destination): void {
  assert(
    destination.isIdle && destination.state.kind === 'ready',
    'a destination that leaves is idle and ready',
  )
  const { transport, previous, next } = destination
  transport.destinations.delete(destination.name)
  if (previous === undefined) transport.firstDestination = next
  else previous.next = next
  if (next === undefined) transport.lastDestination = previous
  else next.previous = previous
}
