/** Active messages and the scheduler: recipients go in with their routes, entries come out, outcomes are recorded.
 * Invariant: an outcome is appended before the scheduler hears of it and before the message can settle. A success asks for a
 * prompt sync, because a duplicate after a crash depends on it; nothing waits for it. */
import type { ActiveMessage } from '../active/active-message.js'
import type { Timer } from '../base/clock.js'
import { toRanges } from '../base/ranges.js'
import { Attempts } from '../delivery/attempt.js'
import { textOf, type Report } from '../delivery/outcome.js'
import type { Outcome } from '../delivery/transport.js'
import { isWaybillError } from '../errors.js'
import { encodeDelivery } from '../record/delivery.js'
import { frameBytes, kinds } from '../record/frame.js'
import { condensed, type OutcomeNote } from '../record/outcome-note.js'
import {
  Scheduler,
  type DeferReason,
  type DestinationSnapshot,
  type Entry,
  type RecipientBatch,
  type SchedulerRecipient,
} from '../scheduler/scheduler.js'
import { Request } from './delivery-request.js'
import type { RecipientEvent } from './events.js'
import type { Parts } from './parts.js'

/** Room that is kept for outcomes: for what is about to begin, and for each attempt under way. */
const outcomesBytes = 64 * 1024
const outcomeBytes = 1024
/** Recipients that could not be read are tried again after this. */
const retryMs = 60_000

/** What the scheduler handles: a message, and what of its recipients the scheduler has been given. */
interface Job {
  readonly message: ActiveMessage
  /** The recipients that wait for an attempt, in order; undefined: all. */
  readonly indexes: readonly number[] | undefined
  /** How many of them the scheduler was given, or would have been had they a route. */
  given: number
  /** Addresses by index, of those the scheduler holds, when the envelope does not have them. */
  readonly addresses: Map<number, string> | undefined
}

export class Dispatch {
  readonly #parts: Parts
  readonly #onSettled: (message: ActiveMessage) => void
  readonly #scheduler: Scheduler<Job>
  readonly #attempts = new Map<string, Attempts<Entry<Job>>>()
  /** Those who got their last outcome while the scheduler was at work. */
  readonly #ready: ActiveMessage[] = []
  /** Attempts that have no outcome yet. */
  #underWay = 0
  #soon = false
  #timer: Timer | undefined
  #timerAt = Infinity

  /** @param onSettled no recipient of the message waits for an attempt any more */
  constructor(parts: Parts, onSettled: (message: ActiveMessage) => void) {
    const { options } = parts
    this.#parts = parts
    this.#onSettled = onSettled
    this.#scheduler = new Scheduler(
      // Recovery may bring back twice as many as may be active.
      { ...options.scheduler, qmgrMessageActiveLimit: 2 * options.activeCountMax },
      {
        read: (job, _firstIndex, countMax) => this.#read(job, countMax),
        deferred: (job, recipients, reason) => this.#deferred(job, recipients, reason),
        done: () => undefined,
        onFeedback: (event) => void parts.events.emit('feedback', event),
      },
    )
    for (const [name, transport] of Object.entries(options.transports))
      this.#attempts.set(
        name,
        new Attempts(
          transport,
          options.clock,
          (entry, report) => parts.life.guard(() => this.#report(entry, report)),
          options.attempt,
        ),
      )
  }

  get hasRoom(): boolean {
    return this.#scheduler.hasRoom
  }

  /** Destinations in use, dead or suspended; `untilMs` by the wall clock. */
  destinations(): readonly DestinationSnapshot[] {
    const { clock } = this.#parts.options
    const offsetMs = clock.wallMs() - clock.monotonicMs()
    return [...this.#scheduler.destinations()].map((destination) => {
      const { state } = destination
      return state.kind === 'ready'
        ? destination
        : { ...destination, state: { ...state, untilMs: Math.round(state.untilMs + offsetMs) } }
    })
  }

  /** Revives a dead destination, or ends a suspension, now. @returns false when there is nothing to resume */
  resume(transport: string, name: string): boolean {
    const resumed = this.#scheduler.resume(transport, name, this.#parts.options.clock.monotonicMs())
    if (resumed) this.wake()
    return resumed
  }

  /** A message became active. */
  admit(message: ActiveMessage): void {
    const { envelope } = message
    // Monotonic, here and below: neither order nor timers of the scheduler may follow a clock that is set.
    const nowMs = this.#parts.options.clock.monotonicMs()
    if (message.pendingCount === 0) {
      this.#ready.push(message)
    } else {
      const all = message.pendingCount === envelope.recipientCount
      this.#scheduler.admit(
        {
          message,
          indexes: all ? undefined : message.indexesIn('pending'),
          given: 0,
          addresses: envelope.recipientFrames.length > 0 ? new Map() : undefined,
        },
        nowMs,
        nowMs,
      )
    }
    this.wake()
  }

  /** Something can be selected, soon. */
  wake(): void {
    if (this.#soon) return
    this.#soon = true
    queueMicrotask(() => {
      this.#soon = false
      this.#parts.life.guard(() => this.#run())
    })
  }

  /** The end of this life: transports are told, nothing is recorded any more. */
  abandon(): void {
    this.#timer?.cancel()
    for (const [name, attempts] of this.#attempts) {
      try {
        attempts.abandon()
      } catch (error) {
        // A transport that cannot be closed must not keep the queue's own descriptors and lock.
        const message = `transport ${name} did not close: ${String(error)}`
        this.#parts.events.emit('warning', { code: 'TRANSPORT_DEFECT', message })
      }
    }
  }

  #run(): void {
    const nowMs = this.#parts.options.clock.monotonicMs()
    this.#scheduler.tick(nowMs)
    while (this.canRecord() && !this.#parts.life.isOver) {
      const entry = this.#scheduler.next(nowMs)
      if (entry === undefined) break
      this.#begin(entry)
    }
    for (let message = this.#ready.pop(); message !== undefined; message = this.#ready.pop())
      this.#onSettled(message)
    this.#wakeAt(this.#scheduler.wakeAtMs, nowMs)
  }

  /** Attempts begin only while there is room for what all that are under way can bring. */
  canRecord(): boolean {
    const { journal } = this.#parts
    const bytes = outcomesBytes + this.#underWay * outcomeBytes
    return journal.room(Math.min(bytes, journal.grid.segmentBytes / 8), 'accepted mail') === 'yes'
  }

  #begin(entry: Entry<Job>): void {
    const { message, addresses } = entry.message
    if (message.recoveries > 0 && !message.isAttempted) this.#noteAttempt(message)
    this.#underWay++
    const { recipients } = message.envelope
    // In the order of the entry, which is not that of the envelope: outcomes come back in this order.
    const named =
      recipients.length === 1
        ? recipients
        : entry.recipients.map((index) => addresses?.get(index) ?? recipients[index]!)
    this.#attempts
      .get(entry.transport)!
      .begin(entry, new Request(message, named, entry.nexthop, this.#parts.reader))
  }

  /** A message that was found by a recovery may be what ends lives: that it is tried is recorded, so that it can be told from
   * those that only stood in line. */
  #noteAttempt(message: ActiveMessage): void {
    const { journal, options } = this.#parts
    const payload = encodeDelivery({ start: message.start, notes: [] })
    journal.open(frameBytes(payload.length))
    journal.append(kinds.delivery, message.place.lane, options.clock.wallMs(), payload)
    message.apply({ kind: 'delivery', notes: [] })
    journal.want()
  }

  #report(entry: Entry<Job>, report: Report): void {
    const { options, events } = this.#parts
    this.#underWay--
    const { message } = entry.message
    const notes = notesOf(entry.recipients, report)
    const isDelivered = notes.some((note) => note.kind === 'delivered')
    this.#record(entry.message, notes, entry.transport, entry.nexthop)
    if (isDelivered) this.#parts.journal.want()
    if (report.defect !== undefined)
      events.emit('warning', {
        code: 'TRANSPORT_DEFECT',
        message: `transport ${entry.transport}: ${report.defect.message}`,
        id: message.envelope.id,
      })
    const isDeferred = notes.some((note) => note.kind === 'deferred')
    this.#scheduler.report(
      entry,
      report.site !== undefined ? 'site' : isDeferred ? 'defer' : 'ok',
      options.clock.monotonicMs(),
      report.site === undefined ? undefined : { status: report.site.status, text: report.site.reason },
    )
    this.wake()
  }

  #deferred(job: Job, recipients: readonly number[], { status, text }: DeferReason): void {
    this.#record(job, [{ kind: 'deferred', status, text, ranges: toRanges([...recipients]) }], '', '')
  }

  #record(job: Job, notes: readonly OutcomeNote[], transport: string, nexthop: string): void {
    const { journal, options } = this.#parts
    const { message } = job
    const payload = encodeDelivery({ start: message.start, notes })
    journal.open(frameBytes(payload.length))
    journal.append(kinds.delivery, message.place.lane, options.clock.wallMs(), payload)
    message.apply({ kind: 'delivery', notes })
    this.#tell(job, notes, transport, nexthop)
    if (message.pendingCount === 0) this.#ready.push(message)
  }

  #tell(
    { message, addresses }: Job,
    notes: readonly OutcomeNote[],
    transport: string,
    nexthop: string,
  ): void {
    const { events } = this.#parts
    for (const { kind, status, text, ranges } of notes) {
      if (events.listenerCount(kind) === 0 && addresses === undefined) continue
      const { id, sender, recipients } = message.envelope
      const named: string[] = []
      for (let i = 0; i < ranges.length; i += 2)
        for (let index = ranges[i]!; index <= ranges[i + 1]!; index++) {
          named.push(addresses?.get(index) ?? recipients[index]!)
          addresses?.delete(index)
        }
      const event: RecipientEvent = { id, sender, recipients: named, transport, nexthop, status, text }
      events.emit(kind, event)
    }
  }

  /** The next recipients, routed. Those of a large message are read from its frames first, and supplied later. */
  #read(job: Job, countMax: number): RecipientBatch | undefined {
    if (job.addresses !== undefined) {
      this.#parts.life.run(this.#supplyOrWait(job, countMax))
      return undefined
    }
    const { recipients } = job.message.envelope
    let batch = this.#batch(job, countMax, (index) => recipients[index]!)
    while (batch.recipients.length === 0 && !batch.complete)
      batch = this.#batch(job, countMax, (index) => recipients[index]!)
    return batch
  }

  /** Recipients that cannot be read now are tried again; the rest of the mail goes on. */
  async #supplyOrWait(job: Job, countMax: number): Promise<void> {
    const { life, events, options } = this.#parts
    try {
      await this.#supply(job, countMax)
    } catch (error) {
      if (life.isOver || !isWaybillError(error)) throw error
      events.emit('warning', { code: error.code, message: error.message, id: job.message.envelope.id })
      options.clock.after(retryMs, () => life.run(this.#supplyOrWait(job, countMax)))
    }
  }

  async #supply(job: Job, countMax: number): Promise<void> {
    const { reader, life, options } = this.#parts
    const { message, indexes, given } = job
    const total = indexes?.length ?? message.envelope.recipientCount
    const last = Math.min(total, given + countMax) - 1
    const from = indexes?.[given] ?? given
    const addresses = await reader.recipients(message, from, (indexes?.[last] ?? last) - from + 1)
    if (life.isOver) return
    const batch = this.#batch(job, last - given + 1, (index) => addresses[index - from]!)
    if (batch.recipients.length === 0 && !batch.complete) return this.#supply(job, countMax)
    for (const { index, address } of batch.recipients) job.addresses!.set(index, address)
    this.#scheduler.supply(job, batch, options.clock.monotonicMs())
    this.wake()
  }

  #batch(job: Job, countMax: number, addressOf: (index: number) => string): RecipientBatch {
    const total = job.indexes?.length ?? job.message.envelope.recipientCount
    const recipients: SchedulerRecipient[] = []
    const end = Math.min(total, job.given + countMax)
    for (; job.given < end; job.given++) {
      const index = job.indexes?.[job.given] ?? job.given
      const recipient = this.#route(job, index, addressOf(index))
      if (recipient !== undefined) recipients.push(recipient)
    }
    return { recipients, complete: end === total, unreadCount: total - end }
  }

  /** Asks where a recipient goes; one that has no route is deferred. */
  #route(job: Job, index: number, address: string): SchedulerRecipient | undefined {
    const { options } = this.#parts
    try {
      const { transport, nexthop } = options.route(address)
      if (!this.#attempts.has(transport)) throw new TypeError(`there is no transport '${transport}'`)
      if (typeof nexthop !== 'string' || nexthop === '') throw new TypeError('a route names a nexthop')
      return { index, address, transport, nexthop }
    } catch (error) {
      const text = textOf(`no route: ${error instanceof Error ? error.message : String(error)}`)
      this.#record(job, [{ kind: 'deferred', status: '4.3.5', text, ranges: [index, index] }], '', '')
      return undefined
    }
  }

  /** One timer, for when the scheduler wants to be asked again. */
  #wakeAt(atMs: number, nowMs: number): void {
    if (atMs >= this.#timerAt && this.#timer !== undefined) return
    this.#timer?.cancel()
    this.#timer = undefined
    this.#timerAt = atMs
    if (atMs === Infinity) return
    this.#timer = this.#parts.options.clock.after(Math.max(1, atMs - nowMs), () => {
      this.#timer = undefined
      this.#timerAt = Infinity
      this.wake()
    })
  }
}

/** Outcomes of an entry as notes: one for all that share kind, status and text. */
function notesOf(recipients: readonly number[], { outcomes }: Report): readonly OutcomeNote[] {
  const [first] = outcomes
  if (first !== undefined && outcomes.every((outcome) => outcome === first)) {
    const ranges = toRanges(recipients.slice())
    return first.kind === 'delivered'
      ? [{ kind: 'delivered', status: '', text: first.response ?? '', ranges }]
      : [{ kind: first.kind, status: first.status, text: first.reason, ranges }]
  }
  const groups = new Map<
    string,
    { readonly kind: Outcome['kind']; status: string; text: string; indexes: number[] }
  >()
  recipients.forEach((index, i) => {
    const outcome = outcomes[i]!
    const status = outcome.kind === 'delivered' ? '' : outcome.status
    const text = outcome.kind === 'delivered' ? (outcome.response ?? '') : outcome.reason
    const key = `${outcome.kind} ${status} ${text}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { kind: outcome.kind, status, text, indexes: [index] })
    else group.indexes.push(index)
  })
  return condensed(
    [...groups.values()].map(({ kind, status, text, indexes }) => ({
      kind,
      status,
      text,
      ranges: toRanges(indexes),
    })),
  )
}
