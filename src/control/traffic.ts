/** Counts mail for watchers.
 * Invariant: without a watcher there are no listeners and no costs; counts begin with the
 * first watcher. */
import type { Clock } from '../base/clock.js'
import { RoomReading } from '../engine/accept/room-reading.js'
import type { RecipientEvent } from '../engine/life/events.js'
import type { DestinationSnapshot } from '../scheduler/scheduler.js'
import type { Sample, WatchedDestination } from './protocol.js'
import type { ControlledQueue } from './session.js'

/** Destinations in a sample. */
const destinationCountMax = 100
/** Destinations that are counted; beyond, idle ones are forgotten. */
const countedMax = 10_000

export class Traffic {
  readonly #queue: ControlledQueue
  readonly #clock: Clock
  #watcherCount = 0
  #accepted = 0
  #delivered = 0
  #deferred = 0
  #failed = 0
  readonly #byDestination = new Map<string, number>()
  readonly #room: RoomReading

  constructor(queue: ControlledQueue, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
    this.#room = new RoomReading(queue)
  }

  /** @returns a function to call when the watcher has left */
  watch(): () => void {
    if (++this.#watcherCount === 1) this.#listen('on')
    return () => {
      if (--this.#watcherCount === 0) this.#listen('off')
    }
  }

  sample(): Sample {
    const { destinations, ...statistics } = this.#queue.stats()
    this.#room.ask()
    if (this.#byDestination.size > countedMax) this.#forget(destinations)
    return {
      atMs: this.#clock.monotonicMs(),
      wallMs: this.#clock.wallMs(),
      acceptedCount: this.#accepted,
      deliveredCount: this.#delivered,
      deferredCount: this.#deferred,
      failedCount: this.#failed,
      statistics,
      room: this.#room.last,
      destinationCount: destinations.length,
      destinations: [...destinations]
        .sort(byTrouble)
        .slice(0, destinationCountMax)
        .map((destination): WatchedDestination => {
          const deliveredCount = this.#byDestination.get(keyOf(destination)) ?? 0
          return { ...destination, deliveredCount }
        }),
    }
  }

  #listen(change: 'on' | 'off'): void {
    this.#queue[change]('accepted', this.#onAccepted)
    this.#queue[change]('delivered', this.#onDelivered)
    this.#queue[change]('deferred', this.#onDeferred)
    this.#queue[change]('failed', this.#onFailed)
    this.#queue[change]('expired', this.#onExpired)
  }

  readonly #onAccepted = (): void => void this.#accepted++
  readonly #onDeferred = (event: RecipientEvent): void => void (this.#deferred += event.recipients.length)
  readonly #onFailed = (event: RecipientEvent): void => void (this.#failed += event.recipients.length)
  readonly #onExpired = ({ recipientCount }: { readonly recipientCount: number }): void =>
    void (this.#failed += recipientCount)
  readonly #onDelivered = (event: RecipientEvent): void => {
    this.#delivered += event.recipients.length
    const key = keyOf(event)
    this.#byDestination.set(key, (this.#byDestination.get(key) ?? 0) + event.recipients.length)
  }

  #forget(destinations: readonly DestinationSnapshot[]): void {
    const inUse = new Set(destinations.map(keyOf))
    for (const key of this.#byDestination.keys()) if (!inUse.has(key)) this.#byDestination.delete(key)
  }
}

const keyOf = ({ transport, nexthop }: { readonly transport: string; readonly nexthop: string }): string =>
  `${transport} ${nexthop}`

const trouble = ({ state, limit }: DestinationSnapshot): number =>
  ['dead', 'suspended', 'ready'].indexOf(state.kind) + (state.kind === 'ready' && limit === undefined ? 1 : 0)
const byTrouble = (a: DestinationSnapshot, b: DestinationSnapshot): number =>
  trouble(a) - trouble(b) || b.todo + b.busy - (a.todo + a.busy)
