/** Decides which entry is delivered next: the Postfix queue manager's scheduler (SCHEDULER.md).
 * Invariant: a destination has at most its window, a transport at most its process limit under way;
 * every recipient that was read comes out once. Pure: time and recipients come in as arguments,
 * effects go out through SchedulerHost; nothing happens between calls. */
import { assert } from '../base/assert.js'
import { releaseHeldBack } from './blockers.js'
import { advance, entryDone } from './completion.js'
import { blame, praise, whileDead } from './concurrency.js'
import { deferTransport, deferWaiting, putOffWaiting, relieve } from './deferral.js'
import { watchWhenCrowded } from './crowding.js'
import { QueuedEntry } from './entry.js'
import type {
  DeferReason,
  DeliveryReport,
  DestinationSnapshot,
  Entry,
  FiredTimer,
  RecipientBatch,
  SchedulerHost,
  TransportSnapshot,
} from './interface.js'
import { inspect, type SchedulerInspection } from './inspect.js'
import { readFirst, takePromised, takeStarved } from './intake.js'
import { unblock } from './job-life.js'
import { Message } from './message.js'
import { checkedParameters } from './parameter-bounds.js'
import type { SchedulerOptions } from './parameters.js'
import { checkedChange, applyParameters } from './reconfigure.js'
import { fireTimer, restingDestination, resumeDestination, reviveTransport } from './revival.js'
import { selectEntry } from './selection.js'
import { releaseBounded, renewBounds } from './shared-bounds.js'
import { SchedulerState } from './state.js'
import { withdrawMessage } from './withdrawal.js'

export type * from './interface.js'
export { inScheduler } from './message.js'
export type { DestinationInspection, JobInspection, SchedulerInspection } from './inspect.js'
export type {
  SchedulerOptions,
  SchedulerParameters,
  TransportOptions,
  TransportParameters,
} from './parameters.js'

const unexplained: DeferReason = { status: '4.4.0', text: 'trouble of the site' }

/** What a choice of destinations goes by. */
export interface KnownDestination {
  readonly transport: { readonly name: string }
  readonly nexthop: string
  readonly busy: number
}

const every = (): boolean => true

export class Scheduler<M extends object> {
  readonly #state: SchedulerState

  /** @throws WaybillError OPTION_INVALID with the parameter, its value and its bound */
  constructor(options: SchedulerOptions, host: SchedulerHost<M>) {
    this.#state = new SchedulerState(checkedParameters(options), host as SchedulerHost<object>)
  }

  /** Other limits, from now on. What is under way goes on, and what is dead or suspended stays so
   * until the time that was set then.
   * @throws WaybillError OPTION_INVALID, also for a parameter that is fixed: all is as it was */
  reconfigure(options: SchedulerOptions): void {
    applyParameters(this.#state, checkedChange(this.#state.parameters, options))
  }

  /** Would `reconfigure` take them? @throws WaybillError OPTION_INVALID */
  checkReconfiguration(options: SchedulerOptions): void {
    checkedChange(this.#state.parameters, options)
  }

  /** Messages in memory. */
  get activeCount(): number {
    return this.#state.messages.count
  }

  /** Recipients in memory, and those that reads under way may bring. */
  get recipientCount(): number {
    return this.#state.recipientCount
  }

  /** The most that `recipientCount` can be, with the transports used so far. */
  get recipientBound(): number {
    return this.#state.recipientBound
  }

  /** Can a further message be admitted and read? One that is admitted without room waits inside. */
  get hasRoom(): boolean {
    const { messages, parameters, recipientCount, recipientBound } = this.#state
    return messages.count < parameters.qmgrMessageActiveLimit && recipientCount < recipientBound
  }

  /** When `tick` wants to be called, Infinity if never. */
  get wakeAtMs(): number {
    return Math.min(this.#state.timers.nextDueMs, this.#state.relieveAtMs)
  }

  /** A message enters; its first batch is asked for.
   * @param queuedAtMs its place among the others and its age, by the clock of `nowMs`: when it
   * became active, so mostly `nowMs` itself. An earlier time costs one step per job that is
   * younger.
   * @param nowMs here and everywhere: milliseconds of one clock that does not go back */
  admit(message: M, queuedAtMs: number, nowMs: number): void {
    const state = this.#state
    state.nowMs = nowMs
    const minimum = state.parameters.qmgrMessageRecipientMinimum
    const entered =
      state.freeMessages.take()?.renew(message, queuedAtMs, minimum) ??
      new Message(message, queuedAtMs, minimum)
    state.messages.add(entered)
    watchWhenCrowded(state)
    readFirst(state, entered)
    if (entered.entryCount === 0) advance(state, entered)
  }

  /** The batch that `SchedulerHost.read` put off. One for a message that was withdrawn is
   * ignored. */
  supply(message: M, batch: RecipientBatch, nowMs: number): void {
    const state = this.#state
    state.nowMs = nowMs
    const known = state.messages.of(message)
    if (known === undefined || known.promisedCount === 0) return
    takePromised(state, known, batch)
    for (let job = known.firstJob; job !== undefined; job = job.messageNext) if (job.isBlocker) unblock(job)
    if (known.entryCount === 0) advance(state, known)
    this.#feedStarved()
  }

  /** Selects the next entry and counts it as under way; undefined when none can start now. */
  next(nowMs: number): Entry<M> | undefined {
    const state = this.#state
    state.nowMs = nowMs
    for (let passed = 0; passed < state.rotation.size;) {
      const transport = state.rotation.takeFree()
      if (transport === undefined) return undefined
      const { batchCount } = state
      const entry = selectEntry(state, transport)
      if (entry !== undefined) return entry as unknown as Entry<M>
      // What it read may be for one that has had its turn.
      passed = state.batchCount === batchCount ? passed + 1 : 0
    }
    return undefined
  }

  /** How a delivery ended.
   * @param reason the reason of its recipients, and of later ones, if the destination dies
   * @returns when the destination died of it: until when, by the clock of `nowMs` */
  report(
    entry: Entry<M>,
    result: DeliveryReport,
    nowMs: number,
    reason: DeferReason = unexplained,
  ): number | undefined {
    const state = this.#state
    state.nowMs = nowMs
    const done = entry as unknown as QueuedEntry
    assert(done instanceof QueuedEntry && done.phase === 'busy', 'a delivery is reported once')
    const { destination } = done
    const { transport } = destination
    transport.busy--
    state.total.busy--
    if (destination.bounds !== undefined) destination.bounds.ring.busy--
    if (result !== 'site' && result !== 'crash' && result !== 'untried') destination.hasAnswered = true
    const trouble = result === 'crash' ? state.siteTroubleSeen : result === 'site'
    if (result !== 'crash' && result !== 'untried') state.siteTroubleSeen = trouble || result === 'okreason'
    const wasDead = destination.state.kind === 'dead'
    if (trouble && !wasDead && blame(state, destination, reason)) this.#deferDead(done)
    const { state: now } = destination
    if (result !== 'crash' && result !== 'untried' && transport.dead !== undefined)
      reviveTransport(state, transport)
    if (result === 'ok' || result === 'defer') praise(state, destination)
    entryDone(state, done, result !== 'untried')
    releaseHeldBack(transport)
    releaseBounded(state)
    this.#feedStarved()
    return now.kind === 'dead' && !wasDead ? now.untilMs : undefined
  }

  /** Of each transport in use: what is under way, how much may be, and what waits for a place. */
  *transports(): Generator<TransportSnapshot> {
    for (const transport of this.#state.transports.values()) yield transport.snapshot()
  }

  /** The transport cannot deliver: it rests, and its waiting entries are deferred. */
  transportFailed(transport: string, nowMs: number, reason: DeferReason): void {
    const state = this.#state
    state.nowMs = nowMs
    const failed = state.transportOf(transport)
    if (failed.dead === undefined) {
      failed.dead = reason
      const untilMs = nowMs + state.parameters.transportRetryTime * 1000
      failed.timer = state.timers.ask('transport', untilMs, failed)
    }
    deferTransport(state, failed, reason)
    this.#feedStarved()
  }

  /** Fires all due timers. */
  tick(nowMs: number): void {
    while (this.fire(nowMs) !== undefined);
    if (nowMs < this.#state.relieveAtMs) return
    relieve(this.#state)
    this.#feedStarved()
  }

  /** Fires one timer that is due, so that entries can be selected before the next one. */
  fire(nowMs: number): FiredTimer | undefined {
    const state = this.#state
    state.nowMs = nowMs
    const fired = fireTimer(state)
    this.#feedStarved()
    return fired
  }

  /** Removes the message's waiting entries; deliveries under way go on. `done` comes after the last
   * of them, perhaps at once. */
  withdraw(message: M): void {
    const known = this.#state.messages.of(message)
    if (known === undefined) return
    withdrawMessage(this.#state, known)
    this.#feedStarved()
  }

  /** All destinations that are in use, dead, or remembered; by transport, in the order of
   * creation. @param isWanted chooses before a snapshot is made */
  *destinations(
    isWanted: (destination: KnownDestination) => boolean = every,
  ): Generator<DestinationSnapshot> {
    for (const transport of this.#state.transports.values())
      for (const destination of transport.destinations)
        if (isWanted(destination)) yield destination.snapshot(this.#state.nowMs)
  }

  /** Is there something to resume? */
  isResting(transport: string, name: string): boolean {
    return restingDestination(this.#state, transport, name) !== undefined
  }

  /** Revives a dead destination, or ends a suspension, at once. @param name
   * `DestinationSnapshot.name`
   * @returns false when there is nothing to resume */
  resume(transport: string, name: string, nowMs: number): boolean {
    this.#state.nowMs = nowMs
    return resumeDestination(this.#state, transport, name)
  }

  /** `SchedulerHost.limitsOf` answers otherwise from now on: it is asked again for all
   * destinations. */
  limitsChanged(nowMs: number): void {
    this.#state.nowMs = nowMs
    renewBounds(this.#state)
  }

  /** `SchedulerHost.putsOff` answers otherwise from now on. What is under way goes on. */
  putOffWaiting(nowMs: number): void {
    this.#state.nowMs = nowMs
    putOffWaiting(this.#state)
    this.#feedStarved()
  }

  /** Ends the rest of a dead transport. @returns false when it is not dead */
  resumeTransport(transport: string, nowMs: number): boolean {
    this.#state.nowMs = nowMs
    const known = this.#state.transports.get(transport)
    if (known?.dead === undefined) return false
    reviveTransport(this.#state, known)
    return true
  }

  /** For users that must wait for a delivery agent: the transport that needs one, counted as
   * pending; answer with `grant` or `refuse`. undefined: no further agent is of use now. */
  request(): string | undefined {
    const transport = this.#state.rotation.takeForRequest()
    if (transport === undefined) return undefined
    transport.pending++
    return transport.name
  }

  /** The agent is there: selects its entry. undefined when things have changed since the
   * request. */
  grant(transport: string, nowMs: number): Entry<M> | undefined {
    const state = this.#state
    state.nowMs = nowMs
    const granted = state.transportOf(transport)
    assert(granted.pending > 0, 'an agent was asked for')
    granted.pending--
    return selectEntry(state, granted) as unknown as Entry<M> | undefined
  }

  /** There is no agent. */
  refuse(transport: string, nowMs: number, reason: DeferReason): void {
    const refused = this.#state.transportOf(transport)
    assert(refused.pending > 0, 'an agent was asked for')
    refused.pending--
    this.transportFailed(transport, nowMs, reason)
  }

  /** Everything inside, for tests and people: an expensive copy. @param label names a message */
  inspect(label: (message: M) => string): SchedulerInspection {
    return inspect(this.#state, label as (message: object) => string)
  }

  #deferDead(entry: QueuedEntry): void {
    const { state } = entry.destination
    if (state.kind === 'dead') deferWaiting(this.#state, entry.destination, whileDead(state.reason))
  }

  /** Recipients have left memory: messages that wait for that are read. Bounded: each read
   * fills freed room. */
  #feedStarved(): void {
    const state = this.#state
    for (let message = takeStarved(state); message !== undefined; message = takeStarved(state))
      advance(state, message)
  }
}
