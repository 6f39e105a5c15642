/** Active messages and the scheduler: recipients go in with their routes, entries come out, and
 * outcomes are recorded.
 * Invariant: an outcome is appended before the scheduler hears of it and before the message can
 * settle. A success asks for a prompt sync, because a duplicate after a crash depends on it; but
 * nothing waits for it. An attempt begins only while attempt-gate.ts lets it, and where the journal
 * has room for its outcome; that room is kept until the attempt ends, so a full disk loses none.
 * A deferral without an attempt is recorded only where that takes no room from attempts. */
import type { ActiveMessage } from '../../active/active-message.js'
import { EarliestTimer } from '../../base/clock.js'
import { Ring } from '../../base/ring.js'
import { Attempts } from '../../delivery/attempt.js'
import { reportOf, type Report } from '../../delivery/outcome.js'
import type { Outcome, Transport } from '../../delivery/transport.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import { isOver } from '../../record/terms.js'
import {
  Scheduler,
  type DeferReason,
  type DestinationSnapshot,
  type Entry,
  type TransportSnapshot,
} from '../../scheduler/scheduler.js'
import type { Rate } from '../../policy/rate.js'
import type { SlowedNexthop } from '../../policy/rate-limits.js'
import type { Progress } from '../accept/settling-pace.js'
import { StartBarrier } from './start-barrier.js'
import { requestOf, traceOf } from './delivery-request.js'
import { destinationsNow, type DestinationChoice } from './destinations-now.js'
import { AttemptGate } from './attempt-gate.js'
import { RateLimiter } from './rate-limiter.js'
import { jobOf, placeOf, type Job } from './job.js'
import {
  appendOutcomes,
  canRecord,
  deferralBytesMost,
  deferralOf,
  hasKind,
  notesOf,
  outcomeBytesMost,
} from './outcome-notes.js'
import { checkedChange, takeUp, type Change } from '../life/change.js'
import { attempting, traceAnswer, traceAttempt } from '../life/tracing.js'
import type { Parts } from '../life/parts.js'
import { RecipientBatches } from './recipient-batches.js'
import { OutcomeRoom, type FieldsForConsumers } from './outcome-room.js'
import { nobodyAsked, tellDeath, tellDefect, tellOutcomes, type Origin } from './recipient-events.js'
import { StoppedAttempts } from './stopped-attempts.js'
import { schedulerOptionsOf } from './scheduler-options.js'
import { PoisonSuspects } from './poison-suspects.js'

/** Behind it a step runs as a microtask. `queueMicrotask` makes an object for async hooks each
 * time, which costs ten times as much. */
const settled: Promise<void> = Promise.resolve()

/** Recipients whose attempts begin before the event loop gets its turn: at about 10 µs each, with a
 * transport that answers at once, it has it again within 20 ms. */
const runRecipientsMax = 2000

const expired: Outcome = { kind: 'deferred', status: '4.4.7', reason: 'it expired before its attempt' }

export interface DispatchCallbacks {
  /** No recipient of the message waits for an attempt any more. */
  readonly onSettled: (message: ActiveMessage) => void
  /** What a limit keeps may begin by now. */
  readonly onLimits: () => void
}

export class Dispatch {
  readonly gate: AttemptGate
  readonly #startBarrier: StartBarrier
  readonly #suspects: PoisonSuspects
  readonly #rateLimiter: RateLimiter
  readonly #parts: Parts
  readonly #callbacks: DispatchCallbacks
  readonly #scheduler: Scheduler<Job>
  readonly #batches: RecipientBatches
  readonly #attempts = new Map<string, Attempts<Entry<Job>>>()
  readonly #stopped = new StoppedAttempts(this.#attempts)
  readonly #outcomeRoom: OutcomeRoom
  /** Messages that got their last outcome during a step of the scheduler, in this order: so they
   * wait in their lanes, and so their data is read. */
  readonly #ready = new Ring<ActiveMessage>()
  /** Attempts that have no outcome yet. */
  #underWay = 0
  #answeredCount = 0
  /** Called when there are none. */
  readonly #untilStill: (() => void)[] = []
  /** The clocks at the beginning of a run, while it lasts: transports that answer at once are
   * recorded in it. */
  #running: { readonly wallMs: number; readonly monotonicMs: number } | undefined
  /** Asked of the scheduler, in a separate step: the caller may be a listener inside one. */
  readonly #asked: ((nowMs: number) => void)[] = []
  #soon = false
  /** For when the scheduler wants to be asked again. */
  readonly #timer: EarliestTimer

  constructor(parts: Parts, callbacks: DispatchCallbacks) {
    const { options } = parts
    this.#parts = parts
    this.#timer = new EarliestTimer(options.clock, () => this.wake())
    this.#callbacks = callbacks
    this.#outcomeRoom = new OutcomeRoom(parts.journal, parts.outcomes)
    this.gate = new AttemptGate(parts, () => this.wake())
    this.#startBarrier = new StartBarrier(parts)
    this.#rateLimiter = new RateLimiter(parts, () => this.#ask(() => callbacks.onLimits()))
    this.#suspects = new PoisonSuspects(
      parts,
      (message) => this.admit(message),
      () => this.#startBarrier.isWaiting || (!this.gate.isOpen && !this.gate.isClosed),
    )
    this.#batches = new RecipientBatches(parts, {
      supplied: (job, batch) => {
        this.#scheduler.supply(job, batch, options.clock.monotonicMs())
        this.wake()
      },
      putOff: (job, index, reason) => this.#deferred(job, [index], reason),
    })
    this.#scheduler = new Scheduler(schedulerOptionsOf(options), {
      read: (job, _firstIndex, countMax) => this.#batches.read(job, countMax),
      deferred: (job, recipients, reason) => this.#deferred(job, recipients, reason),
      done: (job) => this.#done(job),
      onFeedback: (event) => parts.events.emit('feedback', event),
      limitsOf: (transport, nexthop) => options.retry.limitsFor(transport, nexthop),
      putsOff: (transport, nexthop) => parts.suspensions.reasonFor(transport, nexthop),
    })
    for (const [name, transport] of Object.entries(options.transports)) this.#add(name, transport)
  }

  #add(name: string, transport: Transport): void {
    const { life, options } = this.#parts
    const onReport = (entry: Entry<Job>, report: Report): void =>
      life.guard(() => this.#report(entry, report))
    this.#attempts.set(name, new Attempts(transport, options.clock, onReport, options.attempt))
  }

  /** Behind this step. @throws WaybillError OPTION_INVALID: all is as it was */
  reconfigure(change: Change): void {
    const { options } = this.#parts
    const scheduler = schedulerOptionsOf(checkedChange(options, change))
    this.#scheduler.checkReconfiguration(scheduler)
    takeUp(options, change)
    this.#rateLimiter.renew()
    for (const [name, transport] of Object.entries(change.transports ?? {})) this.#add(name, transport)
    this.#ask((nowMs) => {
      this.#scheduler.reconfigure(scheduler)
      if (change.retry !== undefined) this.#scheduler.limitsChanged(nowMs)
    })
  }

  #ask(carryOut: (nowMs: number) => void): void {
    this.#asked.push(carryOut)
    this.wake()
  }

  /** What has become of mail in this life. */
  progress(): Omit<Progress, 'settledCount'> {
    return {
      answeredCount: this.#answeredCount,
      endedCount: this.#parts.active.endedRecipientCount,
      waitingCount: this.#scheduler.recipientCount,
    }
  }

  /** Attempts that may bring about an end. */
  get underWayCount(): number {
    return this.#underWay
  }

  /** Settles when no attempt is under way; never, when this life ends before that. */
  async whenStill(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#untilStill.push(resolve))
  }

  /** Another message may become active: the scheduler has room for it, and the journal for what
   * becomes of it. */
  get hasRoom(): boolean {
    return this.#scheduler.hasRoom && canRecord(this.#parts.journal)
  }

  /** Destinations in use, dead or suspended; `untilMs` by the wall clock. */
  destinations(choice: DestinationChoice = 'all'): readonly DestinationSnapshot[] {
    const { suspensions, options } = this.#parts
    const sites = this.#rateLimiter.sites(options.clock.monotonicMs())
    return destinationsNow(this.#scheduler, { sites, suspensions, clock: options.clock }, choice)
  }

  transports(): readonly TransportSnapshot[] {
    return [...this.#scheduler.transports()]
  }

  /** Revives a dead destination, or ends a suspension, behind this step. In it a destination that a
   * listener resumes may be forgotten before its first use: two windows for one site.
   * @returns false when there is nothing to resume */
  resume(transport: string, name: string): boolean {
    const isSlow = this.#rateLimiter.unslow(transport, name)
    const isResting = this.#scheduler.isResting(transport, name)
    if (isResting) this.#ask((nowMs) => this.#scheduler.resume(transport, name, nowMs))
    return isSlow || isResting
  }

  /** An operator asks for it. @returns false: too many are slowed */
  slow(site: SlowedNexthop, rate: Rate, forMs: number): boolean {
    return this.#rateLimiter.slow(site, rate, forMs)
  }

  /** What waits for a destination that is suspended is deferred, behind this step. */
  suspensionsChanged(): void {
    this.#ask((nowMs) => this.#scheduler.putOffWaiting(nowMs))
  }

  /** A message became active.
   * @param nowMs by the monotonic clock, here and below: neither order nor timers of the scheduler
   * may follow a clock that is set */
  admit(message: ActiveMessage, nowMs: number = this.#parts.options.clock.monotonicMs()): void {
    if (message.pendingCount === 0) {
      this.#ready.push(message)
    } else {
      const job = jobOf(message)
      message.job = job
      message.turns?.begin(nowMs)
      this.#scheduler.admit(job, placeOf(message, nowMs), nowMs)
    }
    this.wake()
  }

  /** As `admit`, of a message that a recovery has found. */
  admitAgain(message: ActiveMessage): void {
    if (!this.#suspects.takes(message)) this.admit(message)
  }

  /** Something is durable: attempts that waited for it begin. */
  durable(): void {
    this.gate.look()
    if (this.#startBarrier.isWaiting) this.wake()
  }

  /** No attempt on it begins any more, except those that wait for the journal. When all have their
   * outcomes it is settled, soon if there are none. @param stopsAttempts those under way are
   * aborted
   * @returns false when it is not here */
  withdraw(message: ActiveMessage, stopsAttempts: boolean): boolean {
    const { job } = message
    if (stopsAttempts && job !== undefined) this.#stopped.add(message)
    if (this.#suspects.remove(message)) this.#ready.push(message)
    else if (job === undefined) return false
    else this.#scheduler.withdraw(job as Job)
    this.wake()
    return true
  }

  /** Something can be selected, soon. */
  wake(): void {
    if (this.#soon) return
    this.#soon = true
    void settled.then(this.#runSoon)
  }

  readonly #runSoon = (): void => {
    this.#soon = false
    this.#parts.life.guard(() => this.#run())
  }

  /** Ends this life: closes transports; nothing is recorded any more. */
  abandon(): void {
    this.#timer.cancel()
    for (const message of this.#stopped.abandonAll())
      this.#parts.events.emit('warning', { code: 'TRANSPORT_DEFECT', message })
  }

  #run(): void {
    const { clock } = this.#parts.options
    const nowMs = clock.monotonicMs()
    this.#running = { wallMs: clock.wallMs(), monotonicMs: nowMs }
    for (const carryOut of this.#asked.splice(0)) carryOut(nowMs)
    this.#stopped.tell()
    this.#scheduler.tick(nowMs)
    let recipientCount = 0
    while (this.gate.isOpen && canRecord(this.#parts.journal) && !this.#parts.life.isOver) {
      if (recipientCount >= runRecipientsMax) {
        this.#soon = true
        clock.soon(this.#runSoon)
        break
      }
      const known = this.#startBarrier.take()
      const entry = known ?? this.#scheduler.next(nowMs)
      if (entry === undefined) break
      recipientCount += entry.recipients.length
      const reason = this.#parts.suspensions.reasonFor(entry.transport, entry.nexthop)
      if (isOver(entry.message.message.envelope.terms, this.#running.wallMs)) this.#pass(entry)
      else if (reason !== undefined) this.#takeBack(entry, reason, nowMs)
      else if (known !== undefined) this.#begin(entry)
      else if (this.#rateLimiter.keeps(entry, nowMs)) this.#scheduler.report(entry, 'untried', nowMs)
      else if (!this.#startBarrier.keeps(entry)) this.#begin(entry)
    }
    this.#running = undefined
    for (let message = this.#ready.shift(); message !== undefined; message = this.#ready.shift())
      this.#callbacks.onSettled(message)
    this.#timer.at(this.#scheduler.wakeAtMs, nowMs)
  }

  /** Its recipients expired while they waited for a place, or for the journal. */
  #pass(entry: Entry<Job>): void {
    this.#enter(entry)
    this.#report(entry, reportOf(expired, entry.recipients.length))
  }

  /** Its destination was suspended while the entry waited outside the scheduler. */
  #takeBack(entry: Entry<Job>, reason: DeferReason, nowMs: number): void {
    this.#deferred(entry.message, entry.recipients, reason)
    this.#scheduler.report(entry, 'okreason', nowMs)
  }

  /** An outcome will come: room for it is kept until then. */
  #enter(entry: Entry<Job>): void {
    this.#underWay++
    entry.message.useCount++
    this.#parts.journal.kept.keep(outcomeBytesMost(entry.recipients.length))
    this.#outcomeRoom.keep(entry)
  }

  #begin(entry: Entry<Job>): void {
    this.#enter(entry)
    this.#suspects.began(entry.message.message)
    const attempts = this.#attempts.get(entry.transport)!
    const request = requestOf(entry, this.#parts.reader)
    if (!attempting.hasSubscribers) attempts.begin(entry, request)
    else traceAttempt(entry, traceOf(entry), () => attempts.begin(entry, request))
    if (this.#stopped.begins(entry.message.message)) this.wake()
  }

  #report(entry: Entry<Job>, report: Report): void {
    const { options } = this.#parts
    traceAnswer(entry, report.outcomes)
    this.#underWay--
    entry.message.useCount--
    this.#answeredCount++
    this.#parts.journal.kept.giveUp(outcomeBytesMost(entry.recipients.length))
    const { message } = entry.message
    const notes = notesOf(entry.recipients, report, message.tellsSuccess)
    const isDelivered = hasKind(notes, 'delivered')
    const { transport, nexthop } = entry
    const origin = { transport, nexthop, outcomes: report.outcomes }
    this.#record(entry.message, notes, origin, this.#outcomeRoom.giveUp(entry, notes, origin))
    this.#suspects.cleared(message)
    if (isDelivered) this.#parts.journal.want()
    if (report.defect !== undefined) tellDefect(this.#parts.events, message, transport, report.defect)
    const isDeferred = hasKind(notes, 'deferred')
    const nowMs = this.#running?.monotonicMs ?? options.clock.monotonicMs()
    if (isDeferred) this.#rateLimiter.reported(entry, notes, nowMs)
    const deadUntilMs = this.#scheduler.report(
      entry,
      report.site !== undefined ? 'site' : isDeferred ? 'defer' : 'ok',
      nowMs,
      report.site && { status: report.site.status, text: report.site.reason, remote: report.site.remote },
    )
    if (deadUntilMs !== undefined) tellDeath(this.#parts, entry, report.site, deadUntilMs)
    this.wake()
    if (this.#underWay === 0) for (const tell of this.#untilStill.splice(0)) tell()
  }

  /** Without an attempt, so no room is kept for it. Where there is none, nothing is recorded: a
   * later life finds out the same.
   *    1. the disk is full; a site dies for which thousands wait
   *    2. their records take the room of an attempt elsewhere
   *    3. it delivers, and its record enters a segment that is never made
   *    4. crash: the mail goes out again */
  #deferred(job: Job, recipients: readonly number[], reason: DeferReason): void {
    const notes = [deferralOf(recipients, reason)]
    const bytes = deferralBytesMost(recipients.length) + this.#outcomeRoom.bytesNow(recipients.length)
    const room = this.#parts.journal.room(bytes, 'accepted mail')
    this.#record(job, notes, nobodyAsked, this.#outcomeRoom.now(job, recipients, notes), room === 'yes')
  }

  #record(
    job: Job,
    notes: readonly OutcomeNote[],
    origin: Origin,
    told: FieldsForConsumers,
    hasRoom = true,
  ): void {
    const { journal, options } = this.#parts
    const { message } = job
    const nowMs = this.#running?.wallMs ?? options.clock.wallMs()
    const finishes = message.isFinishedBy(notes)
    if (hasRoom) appendOutcomes(journal, message, notes, finishes, nowMs, told)
    message.apply({ kind: 'delivery', notes, finishes })
    tellOutcomes(this.#parts.events, job, notes, origin, nowMs)
    // In this step: no checkpoint may be captured between the finish and the end of the message.
    if (finishes) this.#callbacks.onSettled(message)
    else if (message.pendingCount === 0) this.#ready.push(message)
  }

  /** The scheduler has done with it. Recipients that wait still were withdrawn: else the last
   * outcome has made it ready. */
  #done({ message }: Job): void {
    message.job = undefined
    this.#stopped.done(message)
    if (message.pendingCount > 0) this.#ready.push(message)
  }
}
