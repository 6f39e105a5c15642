/** The queue as seen from outside: promises, events, and possible events.
 * Invariant: a fact becomes durable here only as pending-facts.ts says, or when a recovery was
 * seen to trust it. What a crash may change: an outcome that was not durable may be forgotten, so
 * its recipient may be attempted once more; a submission that was not settled may be there or
 * not. Nothing else. */
import type { Meant } from '../workload/carry-out.js'
import { IdleWaits } from './idle-waits.js'
import { judgeAttempt, judgeHaste, judgeWait, noteOutcome, judgeData, type Attempt } from './model-attempt.js'
import { judgeListing, type Listed } from './model-listing.js'
import { copyMessage, newMessage, type ModelMessage, type ReportNames } from './model-message.js'
import { earliestOf, newReport, stepClock } from './model-message.js'
import { movesTime } from './model-orders.js'
import { judgeEnd } from './model-reports.js'
import { ModelOutcomes } from './model-outcomes.js'
import { anyLife, judgeBegin, judgeStanding, type LifeFacts } from './model-life.js'
import { OrderBook } from './order-book.js'
import { believe, factOf, PendingFacts, type Fact } from './pending-facts.js'
import { SteadyTime } from './steady-time.js'
import { SuspensionBook } from './suspension-book.js'
import { judgeTags, judgeTimes, noteEnd } from './model-times.js'
import { timesOf } from '../workload/timed.js'
import { ofMessage, violationsMax, type Violate, type Violation } from './violation.js'

export class QueueModel {
  readonly violations: Violation[] = []
  /** Attempts of recipients that had been delivered, in an earlier life that forgot. */
  duplicateCount = 0
  life = 0
  readonly #messages = new Map<string, ModelMessage>()
  readonly #names = new Map<string, string>()
  #pending = new PendingFacts()
  #steady = new SteadyTime()
  #suspensions = new SuspensionBook()
  #life: LifeFacts = anyLife
  #outcomes = new ModelOutcomes()
  /** Of this life alone: a copy is made when it ends. */
  #idleWaits = new IdleWaits()

  /** A copy for another branch. */
  copy(): QueueModel {
    const copy = new QueueModel()
    for (const [name, message] of this.#messages) copy.#messages.set(name, copyMessage(message))
    for (const [id, name] of this.#names) copy.#names.set(id, name)
    copy.#pending = this.#pending.copy()
    copy.#steady = this.#steady.copy()
    copy.#suspensions = this.#suspensions.copy()
    copy.#life = this.#life
    copy.#outcomes = this.#outcomes.copy()
    copy.violations.push(...this.violations)
    copy.duplicateCount = this.duplicateCount
    copy.life = this.life
    return copy
  }

  /** Everything that its judgement depends on. */
  get known(): unknown {
    const { known: suspended } = this.#suspensions
    const { known } = this.#outcomes
    return [
      this.#messages,
      this.#names,
      [...this.#pending],
      this.#steady.at(0),
      this.#life,
      this.life,
      known,
      suspended,
    ]
  }

  get outcomes(): ModelOutcomes {
    return this.#outcomes
  }

  get suspensions(): SuspensionBook {
    return this.#suspensions
  }

  readonly violate: Violate = (oracle, text, about) => {
    if (this.violations.length < violationsMax) this.violations.push({ oracle, text, ...about })
  }

  readonly orders: OrderBook = new OrderBook(
    this.#messages,
    (name, verb) => {
      if (!movesTime(verb)) return
      this.#pending.withoutWait(name)
      this.#idleWaits.ordered(this.#messages.get(name)!)
    },
    this.violate,
  )

  /** A life begins: attempts under way and facts that were not durable may be forgotten. */
  beginLife(facts: LifeFacts): void {
    this.life++
    this.#steady.beginLife()
    this.#life = facts
    this.orders.forget()
    this.#pending.forget()
    this.#outcomes.beginLife(facts.isShortOfRoom)
    this.#idleWaits = new IdleWaits()
    for (const message of this.#messages.values()) {
      message.attempts = undefined
      for (const recipient of message.recipients.values()) recipient.inFlight = false
    }
  }

  /** The disk has room again: outcomes that waited for it are still to be written, and
   * attempts may begin. */
  roomCame(): void {
    this.#life = { ...this.#life, isInOrder: false }
  }

  /** The wall clock is set, in a life or between two.
   * @param wallMs before, @param lifetimeMs age at which a message may be given up */
  clockStepped(byMs: number, wallMs: number, lifetimeMs: number): void {
    this.#steady.stepped(byMs)
    for (const message of this.#messages.values()) stepClock(message, byMs, wallMs, lifetimeMs)
  }

  /** @param sender the message's name: used once in a run */
  asked(sender: string, recipients: readonly string[], data: Buffer, askedAtMs: number): void {
    const since = { askedInLife: this.life, ...this.#steady.askedAt(askedAtMs) }
    const facts = { name: sender, sender, data, about: undefined, ...since }
    this.#add(newMessage(facts, recipients, timesOf(sender, askedAtMs)))
    this.#outcomes.asked(sender)
  }

  settled(sender: string, id: string): void {
    const message = this.#messages.get(sender)!
    const other = this.#names.get(id)
    if (other !== undefined && other !== sender) this.violate('O5', `${sender} has the id of ${other}, ${id}`)
    this.#names.set(id, sender)
    message.id = id
    message.state = 'settled'
    this.#outcomes.settled(sender, id)
  }

  /** For so long nothing was under way; now a timer runs. */
  idled(forMs: number, wallMs: number): void {
    const { patience, isDraining } = this.#life
    const isSet = this.#steady.hasStepped
    const now = { patience, isDraining, isSet, life: this.life, wallMs }
    this.#idleWaits.passed(forMs, this.#messages.values(), now, this.violate)
  }

  /** The message's values that a selector can name; undefined: a message that was not submitted. */
  meant(name: string): Meant | undefined {
    const message = this.#messages.get(name)
    return message && { id: message.id, recipients: message.recipients.keys() }
  }

  /** Something may be on hold. */
  get mayHold(): boolean {
    for (const { mayBeHeld, finishedDurably } of this.#messages.values())
      if (mayBeHeld && !finishedDurably) return true
    return false
  }

  /** The name of a message that the queue speaks of. */
  readonly nameOf = (id: string): string => this.#names.get(id) ?? id

  /** The message, or the one that it is about, and all reports about that. */
  familyOf(name: string): string[] {
    const first = this.#messages.get(name)?.about ?? name
    return [first, ...[...this.#messages.values()].flatMap((one) => (one.about === first ? one.name : []))]
  }

  /** Attempts that a message had before its last one, as far as it is known. */
  attemptsOf(id: string): number | undefined {
    return this.#messages.get(this.#names.get(id) ?? '')?.attempts
  }

  /** The queue reports that it put a message on hold that ended life after life. */
  heldByQueue(id: string): void {
    const message = this.#messages.get(this.#names.get(id) ?? '')
    if (message !== undefined) message.mayBeHeld = true
  }

  refused(sender: string): void {
    this.#messages.get(sender)!.state = 'refused'
  }

  /** The transport is asked. */
  attempted(attempt: Attempt): void {
    const message = this.#messageOf(attempt)
    if (message === undefined) return
    const { waitMsMax, isInOrder, isShortOfRoom } = this.#life
    const violate = ofMessage(this.violate, message.name)
    judgeBegin(message.name, attempt, this.#life, violate)
    this.#suspensions.judgeAttempt(message.name, attempt.nexthop, violate)
    if (!this.#steady.hasStepped) judgeTimes(message, attempt, this.#life, violate)
    judgeWait(message, attempt, { life: this.life, waitMsMax }, violate)
    // Without room for outcomes, no attempt begins.
    if (isInOrder && isShortOfRoom) this.#judgeHaste(attempt.nowMs)
    message.attempts = attempt.attempts
    this.#idleWaits.began(message, attempt)
    const steadyMs = this.#steady.at(attempt.wallMs)
    this.duplicateCount += judgeAttempt(message, attempt, { life: this.life, steadyMs }, violate)
  }

  /** From here on no attempt begins in this life. */
  drains(): void {
    this.#life = { ...this.#life, isDraining: true }
  }

  /** It reports that it is drained: no attempt is under way, and no crash takes an outcome back. */
  stands(isDrained: boolean): void {
    judgeStanding(isDrained, this.#messages.values(), this.#pending, this.violate)
  }

  /** The transport has answered: the other side has the message, or never wants it. */
  answered(id: string, address: string, delivered: boolean): void {
    const recipient = this.#messages.get(this.#names.get(id) ?? '')?.recipients.get(address)
    if (recipient !== undefined && delivered) recipient.deliveryCount++
  }

  /** The data that a transport read. */
  data(id: string, data: Buffer, named: ReportNames | undefined): void {
    const message = this.#messages.get(this.#names.get(id) ?? '')
    if (message !== undefined) judgeData(message, data, named, this.violate)
  }

  /** The engine reports a recorded outcome.
   * @param nowMs monotonic, @param notBeforeMs wall time of the next attempt, of a deferral;
   * 0: at any time */
  recorded(
    kind: 'delivered' | 'failed' | 'deferred',
    { id, sender, recipients, tags }: Omit<Listed, 'recipientCount'>,
    facts: Pick<Fact, 'appendedBytes' | 'notBeforeMs' | 'attempts'> & { readonly nowMs: number },
  ): void {
    const message = this.#messageOf({ id, sender })
    if (message === undefined) return
    const { name } = message
    judgeTags(message, tags, ofMessage(this.violate, name))
    // A recipient without a route has an outcome without an attempt.
    if (message.state === 'asked' && message.askedInLife !== this.life) message.state = 'settled'
    const isAttempted = recipients.some((address) => message.recipients.get(address)?.inFlight === true)
    noteOutcome(message, kind, recipients, { life: this.life, nowMs: facts.nowMs })
    this.#idleWaits.recorded(message, recipients)
    // An order that is being carried out may take the wait and the count away. Without an attempt
    // no room was kept for a record, and there may be none: a later life finds out the same.
    const isUncertain =
      message.orders.some(({ verb }) => movesTime(verb)) || (this.#life.isShortOfRoom && !isAttempted)
    const notBeforeMs = isUncertain || facts.notBeforeMs === 0 ? 0 : this.#steady.at(facts.notBeforeMs)
    const attempts = isUncertain ? 0 : facts.attempts
    this.#pending.push({ kind, appendedBytes: facts.appendedBytes, name, recipients, notBeforeMs, attempts })
  }

  /** Connects an id with its message, before events name it by id alone. */
  met(message: { readonly id: string; readonly sender: string }): void {
    this.#messageOf(message)
  }

  /** @param lifetimeMs age at which it may be given up, @param wallMs now */
  finished(id: string, appendedBytes: number, lifetimeMs: number, wallMs: number): void {
    const name = this.#names.get(id) ?? id
    const message = this.#messages.get(name)
    if (message === undefined) return
    message.finished = true
    message.finishedInLife = this.life
    noteEnd(message, { wallMs, lifetimeMs }, this.#steady, this.#life, ofMessage(this.violate, name))
    this.#pending.push(factOf('finished', appendedBytes, name))
  }

  /** A report was written: it is a submission by the queue. */
  reported(id: string, report: string, appendedBytes: number, askedAtMs: number): void {
    const about = this.#messages.get(this.#names.get(id) ?? '')
    if (about === undefined) return
    const known = this.#messages.get(report)
    if (known?.state === 'settled')
      this.violate('O5', `the report ${report} was durable and is written again`, { message: report })
    // It has waited for room or for its file since it was composed, for an unknown time; the clock
    // may have been set back meanwhile.
    const isAtOnce = this.#life.isInOrder && !this.#life.isShortOfRoom
    const since = isAtOnce ? this.#steady.askedAt(askedAtMs) : earliestOf(askedAtMs, about)
    const message = newReport(report, about, { ...since, askedInLife: this.life })
    this.#add(message)
    this.#names.set(report, report)
    this.#pending.push(factOf('reported', appendedBytes, report))
  }

  /** A fact of this life waits to become durable. */
  get hasPending(): boolean {
    return !this.#pending.isEmpty
  }

  /** So many bytes of this life are durable, as the engine says. */
  durable(writtenBytes: number): void {
    this.#outcomes.durable(writtenBytes)
    for (const fact of this.#pending.takeDurable(writtenBytes)) {
      const message = this.#messages.get(fact.name)
      if (message !== undefined) believe(message, fact)
    }
  }

  /** A crash: a success asks for a prompt sync, if there is room for it. */
  crashed(nowMs: number): void {
    if (this.#life.isInOrder && !this.#life.isShortOfRoom) this.#judgeHaste(nowMs)
  }

  #judgeHaste(nowMs: number): void {
    for (const fact of this.#pending)
      judgeHaste(this.#messages.get(fact.name)!, fact, this.life, nowMs, this.violate)
  }

  /** The first listing of this life. From here on it is certain: a later crash neither adds to it
   * nor takes from it. */
  observed(listing: readonly Listed[]): void {
    const seen = new Map<string, Listed>()
    for (const listed of listing) {
      const message = this.#messageOf(listed)
      if (message === undefined) continue
      if (seen.has(message.name)) this.violate('O5', `${message.name} is in the queue twice`)
      seen.set(message.name, listed)
    }
    for (const message of this.#messages.values())
      judgeListing(message, seen.get(message.name), this.life, ofMessage(this.violate, message.name))
  }

  /** No event is left: everything that was promised has ended. @param warningCountMax a sender
   * gets, of a message */
  allEnded(warningCountMax: number): void {
    this.#outcomes.judgeEnd(this.violate)
    for (const message of this.#messages.values())
      judgeEnd(message, this.#messages.values(), warningCountMax, ofMessage(this.violate, message.name))
  }

  #add(message: ModelMessage): void {
    this.#messages.set(message.name, message)
    this.orders.came(message)
  }

  /** The message of an event, by its id, or by its sender while its submitter has no id. */
  #messageOf({ id, sender }: { readonly id: string; readonly sender: string }): ModelMessage | undefined {
    const known = this.#messages.get(this.#names.get(id) ?? '')
    if (known !== undefined) {
      if (known.sender !== sender) this.violate('O5', `${known.name} has the sender ${sender}`)
      return known
    }
    const asked = this.#messages.get(sender)
    if (sender === '' || asked === undefined || asked.id !== undefined) {
      this.violate('O5', `the message ${id} from ${sender} was never submitted`)
      return undefined
    }
    asked.id = id
    this.#names.set(id, sender)
    return asked
  }
}
