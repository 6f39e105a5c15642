/** Which entry is delivered next.
 * Invariant: a destination has at most its window, a transport at most its process limit under way; pure: time and
 * recipients come in as arguments, effects go out through SchedulerHost. */
import { assert } from '../base/assert.js'
import type {
  DeferReason,
  DeliveryReport,
  DestinationSnapshot,
  Entry,
  RecipientBatch,
  SchedulerHost,
} from './face.js'
import {
  type CheckedParameters,
  checkedParameters,
  type SchedulerOptions,
  type TransportSettings,
} from './parameters.js'

export type * from './face.js'
export type {
  SchedulerOptions,
  SchedulerParameters,
  TransportOptions,
  TransportParameters,
} from './parameters.js'

interface Destination {
  readonly nexthop: string
  readonly todo: WaitingEntry[]
  busy: number
}

interface Transport {
  readonly name: string
  readonly settings: TransportSettings
  readonly destinations: Map<string, Destination>
  busy: number
}

interface WaitingEntry extends Entry<object> {
  readonly state: MessageState
  readonly from: Destination
  readonly via: Transport
  readonly recipients: number[]
}

interface MessageState {
  readonly message: object
  readCount: number
  complete: boolean
  reading: boolean
  entryCount: number
}

export class Scheduler<M extends object> {
  readonly #host: SchedulerHost<M>
  readonly #parameters: CheckedParameters
  readonly #transports = new Map<string, Transport>()
  readonly #messages = new Map<object, MessageState>()

  /** @throws WaybillError OPTION_INVALID */
  constructor(options: SchedulerOptions, host: SchedulerHost<M>) {
    this.#parameters = checkedParameters(options)
    this.#host = host
  }

  get activeCount(): number {
    return this.#messages.size
  }

  get hasRoom(): boolean {
    return this.#messages.size < this.#parameters.qmgrMessageActiveLimit
  }

  get wakeAtMs(): number {
    return Infinity
  }

  admit(message: M, _queuedAtMs: number, nowMs: number): void {
    assert(!this.#messages.has(message), 'a message is admitted once')
    this.#messages.set(message, { message, readCount: 0, complete: false, reading: false, entryCount: 0 })
    this.#advance(this.#messages.get(message)!, nowMs)
  }

  supply(message: M, batch: RecipientBatch, nowMs: number): void {
    const state = this.#messages.get(message)
    if (state === undefined || !state.reading) return
    state.reading = false
    this.#take(state, batch)
    this.#advance(state, nowMs)
  }

  next(_nowMs: number): Entry<M> | undefined {
    for (const transport of this.#transports.values()) {
      if (transport.busy >= transport.settings.processLimit) continue
      for (const destination of transport.destinations.values()) {
        const entry = destination.todo[0]
        const limit = transport.settings.destinationConcurrencyLimit || Infinity
        if (entry === undefined || destination.busy >= limit) continue
        destination.todo.shift()
        destination.busy++
        transport.busy++
        return entry as unknown as Entry<M>
      }
    }
    return undefined
  }

  report(entry: Entry<M>, _result: DeliveryReport, nowMs: number, _reason?: DeferReason): void {
    const { state, from, via } = entry as unknown as WaitingEntry
    from.busy--
    via.busy--
    if (from.busy === 0 && from.todo.length === 0) via.destinations.delete(from.nexthop)
    state.entryCount--
    this.#advance(state, nowMs)
  }

  transportFailed(transport: string, nowMs: number, reason: DeferReason): void {
    for (const destination of this.#transports.get(transport)?.destinations.values() ?? [])
      for (const entry of destination.todo.splice(0)) {
        this.#host.deferred(entry.message as M, entry.recipients, reason)
        entry.state.entryCount--
        this.#advance(entry.state, nowMs)
      }
  }

  tick(_nowMs: number): void {}

  withdraw(message: M): void {
    const state = this.#messages.get(message)
    if (state === undefined) return
    state.complete = true
    state.reading = false
    for (const transport of this.#transports.values())
      for (const { todo } of transport.destinations.values()) {
        const kept = todo.filter((entry) => entry.state !== state)
        state.entryCount -= todo.length - kept.length
        todo.splice(0, Infinity, ...kept)
      }
    this.#advance(state, 0)
  }

  *destinations(): Generator<DestinationSnapshot> {
    for (const transport of this.#transports.values())
      for (const { nexthop, busy, todo } of transport.destinations.values())
        yield {
          transport: transport.name,
          nexthop,
          name: nexthop,
          window: transport.settings.destinationConcurrencyLimit,
          busy,
          todo: todo.length,
          state: { kind: 'ready' },
          recovery: 'none',
          rate: 0,
        }
  }

  resume(_transport: string, _nexthop: string, _nowMs: number): boolean {
    return false
  }

  /** Reads on when nothing of the message is left in memory; forgets it when nothing is left at all. */
  #advance(state: MessageState, _nowMs: number): void {
    const message = state.message as M
    while (state.entryCount === 0 && !state.reading) {
      if (state.complete) {
        this.#messages.delete(message)
        this.#host.done(message)
        return
      }
      const batch = this.#host.read(message, state.readCount, 5000)
      if (batch === undefined) state.reading = true
      else this.#take(state, batch)
    }
  }

  #take(state: MessageState, batch: RecipientBatch): void {
    state.readCount += batch.recipients.length
    state.complete = batch.complete
    for (const { transport: name, nexthop, index } of batch.recipients) {
      const via = this.#transportOf(name)
      let from = via.destinations.get(nexthop)
      if (from === undefined) via.destinations.set(nexthop, (from = { nexthop, todo: [], busy: 0 }))
      const last = from.todo.at(-1)
      const limit = via.settings.destinationRecipientLimit || Infinity
      if (last?.state === state && last.recipients.length < limit) {
        last.recipients.push(index)
        continue
      }
      from.todo.push({
        message: state.message,
        transport: name,
        nexthop,
        recipients: [index],
        state,
        from,
        via,
      })
      state.entryCount++
    }
  }

  #transportOf(name: string): Transport {
    let transport = this.#transports.get(name)
    if (transport === undefined) {
      const settings = this.#parameters.transports.get(name) ?? this.#parameters.defaults
      transport = { name, settings, destinations: new Map(), busy: 0 }
      this.#transports.set(name, transport)
    }
    return transport
  }
}
