/** The queue as those outside see it: what was promised, what happened, and what may therefore still happen. It knows nothing
 * of logs, segments, lanes or checkpoints.
 * Invariant: a fact becomes durable here only as pending-facts.ts says, or when a recovery was seen to believe it.
 *
 * What a crash may change: an outcome that was not durable may be forgotten, so its recipient may be attempted once more; a
 * submission that was not settled may be there or not. Nothing else. */
import { crc32 } from '../base/checksum.js'
import { judgeAttempt, type Attempt } from './model-attempt.js'
import { judgeListing, type Listed } from './model-listing.js'
import { copyMessage, newMessage, type ModelMessage } from './model-message.js'
import { isOrdered, movesTime, obey, order } from './model-orders.js'
import { judgeReports } from './model-reports.js'
import { believe, PendingFacts } from './pending-facts.js'
import { scriptedEnd } from './script.js'
import type { Violate, Violation } from './violation.js'
import type { VerbName } from './workload.js'

/** Violations of one run that are kept: the first says what is wrong. */
const violationsMax = 20

export class QueueModel {
  readonly violations: Violation[] = []
  /** Attempts of recipients that had been delivered, in an earlier life that forgot. */
  duplicateCount = 0
  life = 0
  readonly #messages = new Map<string, ModelMessage>()
  readonly #names = new Map<string, string>()
  #pending = new PendingFacts()

  /** The same knowledge, to go on from in another branch. */
  copy(): QueueModel {
    const copy = new QueueModel()
    for (const [name, message] of this.#messages) copy.#messages.set(name, copyMessage(message))
    for (const [id, name] of this.#names) copy.#names.set(id, name)
    copy.#pending = this.#pending.copy()
    copy.violations.push(...this.violations)
    copy.duplicateCount = this.duplicateCount
    copy.life = this.life
    return copy
  }

  get messageCount(): number {
    return this.#messages.size
  }

  /** Every settled message that is not finished. */
  get waitingCount(): number {
    let count = 0
    for (const message of this.#messages.values())
      if (message.state === 'settled' && !message.finished) count++
    return count
  }

  readonly violate: Violate = (oracle, text) => {
    if (this.violations.length < violationsMax) this.violations.push({ oracle, text })
  }

  /** A life begins: what was under way and what was not durable is forgotten, perhaps. */
  beginLife(): void {
    this.life++
    this.#pending.forget()
    for (const { recipients, orders } of this.#messages.values()) {
      orders.length = 0
      for (const recipient of recipients.values()) recipient.inFlight = false
    }
  }

  /** @param sender the message's name: used once in a run */
  asked(sender: string, recipients: readonly string[], data: Buffer, askedAtMs: number): void {
    this.#messages.set(
      sender,
      newMessage(
        { name: sender, sender, data, askedInLife: this.life, askedAtMs, about: undefined },
        recipients,
      ),
    )
  }

  settled(sender: string, id: string): void {
    const message = this.#messages.get(sender)!
    const other = this.#names.get(id)
    if (other !== undefined && other !== sender) this.violate('O5', `${sender} has the id of ${other}, ${id}`)
    this.#names.set(id, sender)
    message.id = id
    message.state = 'settled'
  }

  /** Was it asked for? */
  knows(name: string): boolean {
    return this.#messages.has(name)
  }

  /** An operator's verb is called for the message: from now on it may have been carried out. */
  ordered(name: string, verb: VerbName): void {
    const message = this.#messages.get(name)
    if (message === undefined) return
    order(message, verb)
    if (movesTime(verb)) this.#pending.withoutWait(name)
  }

  /** The verb has settled: what it says that it did is durable. */
  obeyed(name: string, verb: VerbName, messageCount: number): void {
    const message = this.#messages.get(name)
    if (messageCount > (message === undefined ? 0 : 1))
      this.violate('O5', `${verb} of ${name} was carried out on ${messageCount} messages`)
    if (message === undefined || messageCount === 0) return
    if (verb === 'delete' || verb === 'expire') {
      // Of one whose id was told to nobody the end is told by its id alone.
      if (message.id === undefined) message.finished = true
      if (!message.finished) this.violate('O5', `${verb} of ${name} has settled, and it has not ended`)
      message.finishedDurably = true
    }
    obey(message, verb)
  }

  /** Everything is released. @returns false when nothing can be on hold */
  releasedAll(): boolean {
    let isAny = false
    for (const [name, message] of this.#messages) {
      if (!message.mayBeHeld || message.finishedDurably) continue
      isAny = true
      this.ordered(name, 'release')
    }
    return isAny
  }

  refused(sender: string): void {
    this.#messages.get(sender)!.state = 'refused'
  }

  /** The transport is asked. */
  attempted(attempt: Attempt): void {
    const message = this.#messageOf(attempt)
    if (message === undefined) return
    this.duplicateCount += judgeAttempt(message, attempt, this.life, this.violate)
  }

  /** The transport has answered: the other side has the message, or never wants it. */
  answered(id: string, address: string, delivered: boolean): void {
    const recipient = this.#messages.get(this.#names.get(id) ?? '')?.recipients.get(address)
    if (recipient !== undefined && delivered) recipient.deliveryCount++
  }

  /** The data that a transport read. */
  data(id: string, data: Buffer, named: readonly string[]): void {
    const message = this.#messages.get(this.#names.get(id) ?? '')
    if (message === undefined) return
    if (message.data !== undefined) {
      if (!message.data.equals(data))
        this.violate('O1', `the data of ${message.name} is not what was submitted`)
      return
    }
    const checksum = crc32(data)
    if (message.checksum !== undefined && message.checksum !== checksum)
      this.violate('O5', `the report ${id} is not the same at every attempt`)
    message.checksum = checksum
    message.names = named
  }

  /** The engine says that it has recorded an outcome.
   * @param nowMs monotonic, @param notBeforeMs wall time of the next attempt, of a deferral */
  recorded(
    kind: 'delivered' | 'failed' | 'deferred',
    id: string,
    recipients: readonly string[],
    facts: {
      readonly appendedBytes: number
      readonly nowMs: number
      readonly notBeforeMs: number
      readonly attempts: number
    },
  ): void {
    const name = this.#names.get(id) ?? id
    const message = this.#messages.get(name)
    if (message === undefined) return
    for (const address of recipients) {
      const recipient = message.recipients.get(address)
      if (recipient === undefined) continue
      recipient.inFlight = false
      recipient.life = this.life
      recipient.answeredAtMs = facts.nowMs
      if (kind !== 'deferred') recipient.final = kind
    }
    const { appendedBytes } = facts
    // An order that is being carried out may take the wait and the count away.
    const isMoving = message.orders.some(({ verb }) => movesTime(verb))
    const notBeforeMs = isMoving ? 0 : facts.notBeforeMs
    const attempts = isMoving ? 0 : facts.attempts
    this.#pending.push({ kind, appendedBytes, name, recipients, notBeforeMs, attempts })
  }

  /** @param lifetimeMs age at which it may be given up, @param wallMs now */
  finished(id: string, appendedBytes: number, lifetimeMs: number, wallMs: number): void {
    const name = this.#names.get(id) ?? id
    const message = this.#messages.get(name)
    if (message === undefined) return
    message.finished = true
    message.finishedInLife = this.life
    message.expired = wallMs - message.askedAtMs >= lifetimeMs || isOrdered(message, 'expire')
    message.deleted = isOrdered(message, 'delete')
    this.#pending.push({ kind: 'finished', appendedBytes, name, recipients: [], notBeforeMs: 0, attempts: 0 })
  }

  /** A report was written: it is a submission of the queue's own. */
  reported(id: string, report: string, appendedBytes: number, askedAtMs: number): void {
    const about = this.#messages.get(this.#names.get(id) ?? '')
    if (about === undefined) return
    const known = this.#messages.get(report)
    if (known?.state === 'settled')
      this.violate('O5', `the report ${report} was durable and is written again`)
    const message = newMessage(
      { name: report, sender: '', data: undefined, askedInLife: this.life, askedAtMs, about: about.name },
      [about.sender],
    )
    message.id = report
    this.#messages.set(report, message)
    this.#names.set(report, report)
    this.#pending.push({
      kind: 'reported',
      appendedBytes,
      name: report,
      recipients: [],
      notBeforeMs: 0,
      attempts: 0,
    })
  }

  /** So many bytes of this life are durable, as the engine says. */
  durable(writtenBytes: number): void {
    for (const fact of this.#pending.takeDurable(writtenBytes)) {
      const message = this.#messages.get(fact.name)
      if (message !== undefined) believe(message, fact)
    }
  }

  /** A crash, where calls take effect in order and time stands still while any is under way: a success asks for a prompt sync. */
  crashed(nowMs: number): void {
    for (const fact of this.#pending) {
      if (fact.kind !== 'delivered') continue
      for (const address of fact.recipients) {
        const recipient = this.#messages.get(fact.name)!.recipients.get(address)!
        if (recipient.life === this.life && recipient.answeredAtMs < nowMs)
          this.violate(
            'O3',
            `the delivery of ${fact.name} to ${address} waited ${nowMs - recipient.answeredAtMs} ms for a sync`,
          )
      }
    }
  }

  /** What a listing shows before anything else has happened in this life. From here on this is certain: a later crash
   * brings nothing back that is not here, and takes nothing of it. */
  observed(listing: readonly Listed[]): void {
    const seen = new Map<string, Listed>()
    for (const listed of listing) {
      const message = this.#messageOf(listed)
      if (message === undefined) continue
      if (seen.has(message.name)) this.violate('O5', `${message.name} is in the queue twice`)
      seen.set(message.name, listed)
    }
    for (const message of this.#messages.values())
      judgeListing(message, seen.get(message.name), this.life, this.violate)
  }

  /** Nothing is left to happen: everything that was promised has come to its end. */
  drained(): void {
    for (const message of this.#messages.values()) {
      const { name, state, recipients } = message
      if (state === 'refused' || state === 'gone' || state === 'asked') continue
      if (!message.finished) this.violate('O1', `${name} was settled and never came to its end`)
      for (const { address, final, deliveryCount } of recipients.values()) {
        const end = scriptedEnd(address)
        if (end === 'delivered' && deliveryCount === 0 && !message.expired && !message.deleted)
          this.violate('O1', `${name} never reached ${address}`)
        if (end !== 'delivered' && final === 'delivered')
          this.violate('O5', `${name} is said to have reached ${address}`)
      }
      judgeReports(message, this.#messages.values(), this.violate)
    }
  }

  /** The message that the queue speaks of, by its id, or by its sender while its id was told to nobody. */
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
