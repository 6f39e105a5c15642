/** The oracles of the real tier: promises, events, and violations.
 * Bound on duplicates: the journal is one log, and its batches are durable in order. If a
 * submission began after an outcome was appended, and has settled, the outcome is durable, too: it
 * is *proven*. A proven outcome is never attempted again in a later life, and no outcome twice in
 * one life. All other attempts may be repeated after their life. Their number is the allowance,
 * which a run under steady load keeps small. */
import { createHash } from 'node:crypto'
import { attemptsOfNever, fateOf, isRefused, keyOf, numberedMail, numberOf, type Mixture } from './mail.js'
import type { EffectLine, TraceLine } from './trace.js'
import { noCounts, type Counts, type Violation, type ViolationKind } from './verdict.js'

/** The state of one recipient of one message, or of one report. */
interface Course {
  life: number
  attempts: number
  isFinal: boolean
  delivered: boolean
  /** The highest number of attempts whose outcome is proven durable; -1 for none. */
  provenAttempts: number
  provenFinal: boolean
}

interface Expected {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly hash: string
}

interface Recorded {
  readonly at: number
  readonly key: string
  readonly attempts: number
  readonly isFinal: boolean
}

/** Bound of kept violations: enough to see the error. */
const violationsMax = 1000

export class Ledger {
  readonly counts: Counts = noCounts()
  readonly violations: Violation[] = []
  readonly #seed: number
  readonly #mixture: Mixture
  readonly #expected = new Map<number, Expected>()
  readonly #settled = new Set<number>()
  /** Refused for certain: nothing of them may ever appear. */
  readonly #refused = new Set<number>()
  readonly #idOf = new Map<number, string>()
  readonly #courses = new Map<string, Course>()
  /** The ids of the reports that name a recipient, and which recipients' reports arrived. */
  readonly #reportsOf = new Map<string, Set<string>>()
  readonly #reported = new Set<string>()
  /** Of the current life: where each submission began, what was recorded, deliveries
   * that were made. */
  #at = 0
  #begunAt = new Map<number, number>()
  #recorded: Recorded[] = []
  #provenCount = 0
  #deliveredKeys = new Set<string>()
  #deviceFails = false

  constructor(seed: number, mixture: Mixture) {
    this.#seed = seed
    this.#mixture = mixture
  }

  /** The first number that no life has used. */
  get nextNumber(): number {
    return this.#expected.size + 1
  }

  beginLife(): void {
    this.counts.lives++
    this.#deviceFails = false
    this.#at = 0
    this.#begunAt = new Map()
    this.#recorded = []
    this.#provenCount = 0
    this.#deliveredKeys = new Set()
  }

  /** From now on, in this life, the device may refuse to be read. */
  deviceFails(): void {
    this.#deviceFails = true
  }

  endLife(): void {
    for (const key of this.#deliveredKeys) if (!this.#courses.get(key)!.provenFinal) this.counts.allowance++
  }

  absorb(line: TraceLine): void {
    this.#at++
    switch (line.kind) {
      case 'begun':
        this.#begin(line.number)
        break
      case 'settled':
        this.#settled.add(line.number)
        this.counts.settled++
        this.#prove(this.#begunAt.get(line.number) ?? 0)
        break
      case 'rejected':
        this.counts.rejected++
        if (line.code === 'DISK_FULL') this.#refused.add(line.number)
        break
      case 'effect':
        this.#effect(line)
        break
      case 'recorded':
        for (const recipient of line.recipients) this.#record(keyOf(line.id, recipient))
        break
      case 'unreadable':
        if (line.code !== 'DISK_FAILED' || !this.#deviceFails)
          this.blame('unreadable', `${line.recipient}: ${line.message}`)
        break
      case 'stuck':
        this.blame('stuck', `not drained: ${line.messages.join('; ')}`)
        break
      case 'drained':
        for (const file of line.leftovers) this.blame('leftover', file)
        break
      case 'born':
      case 'opened':
      case 'unopened':
      case 'recovered':
      case 'statistics':
      case 'warning':
      case 'idle':
      case 'crashed':
        break
    }
  }

  blame(kind: ViolationKind, what: string): void {
    if (this.violations.length < violationsMax) this.violations.push({ kind, what })
  }

  /** Once the queue is drained: missing events. */
  close(): void {
    for (const number of this.#expected.keys()) {
      const isPresent = this.#idOf.has(number)
      if (isPresent && this.#refused.has(number)) this.blame('phantom', `${number} was refused and is there`)
      // An unanswered submission may be there or not, but not in part.
      if (isPresent || this.#settled.has(number)) this.#completeness(number)
    }
  }

  #begin(number: number): void {
    const { sender, recipients, data } = numberedMail(this.#seed, number, this.#mixture)
    this.#expected.set(number, { sender, recipients, hash: createHash('sha256').update(data).digest('hex') })
    this.#begunAt.set(number, this.#at)
  }

  #effect(line: EffectLine): void {
    const isReport = fateOf(line.recipient) === 'from'
    if (!(isReport ? this.#isReport(line) : this.#isMail(line))) return
    const key = keyOf(line.id, line.recipient)
    const life = this.counts.lives
    const course = this.#courses.get(key)
    const who = `${line.recipient} (${line.id}, attempt ${line.attempts})`
    if (course !== undefined) {
      if (course.provenFinal || line.attempts <= course.provenAttempts)
        this.blame('repeated', `${who}: its outcome was durable`)
      else if (course.life === life && (course.isFinal || line.attempts <= course.attempts))
        this.blame('repeated', `${who}: twice in one life`)
      else if (course.delivered) this.counts.duplicates++
    }
    const delivered = line.outcome === 'delivered'
    this.#courses.set(key, {
      life,
      attempts: line.attempts,
      isFinal: line.outcome !== 'deferred',
      delivered: delivered || course?.delivered === true,
      provenAttempts: course?.provenAttempts ?? -1,
      provenFinal: course?.provenFinal ?? false,
    })
    if (!delivered) return
    this.counts.delivered++
    this.#deliveredKeys.add(key)
    if (isReport) for (const name of line.named) this.#reported.add(name)
  }

  #isMail({ id, sender, recipient, hash }: EffectLine): boolean {
    const number = numberOf(recipient)
    const expected = number === undefined ? undefined : this.#expected.get(number)
    if (number === undefined || expected?.recipients.includes(recipient) !== true) {
      this.blame('phantom', `${recipient} (${id}) was never submitted`)
      return false
    }
    if ((this.#idOf.get(number) ?? id) !== id)
      this.blame('phantom', `${number} is there twice, as ${this.#idOf.get(number)} and ${id}`)
    this.#idOf.set(number, id)
    if (sender !== expected.sender) this.blame('changed', `${recipient}: its sender is ${sender}`)
    if (hash !== expected.hash)
      this.blame('changed', `${recipient} (${id}): its data is not what was submitted`)
    return true
  }

  #isReport({ id, sender, recipient, named }: EffectLine): boolean {
    const number = numberOf(recipient)
    const expected = number === undefined ? undefined : this.#expected.get(number)
    const isOwn = (name: string): boolean => expected?.recipients.includes(name) === true && isRefused(name)
    if (expected?.sender !== recipient || sender !== '' || named.length === 0 || !named.every(isOwn)) {
      this.blame('report', `${id} to ${recipient} names ${named.join(' ') || 'nobody'}`)
      return false
    }
    for (const name of named) {
      const reports = this.#reportsOf.get(name) ?? new Set()
      reports.add(id)
      this.#reportsOf.set(name, reports)
    }
    return true
  }

  #record(key: string): void {
    const course = this.#courses.get(key)
    // Deferred without an attempt, because its destination is dead.
    if (course === undefined || course.life !== this.counts.lives) return
    this.#recorded.push({ at: this.#at, key, attempts: course.attempts, isFinal: course.isFinal })
  }

  /** A submission that began at this line has settled. */
  #prove(begunAt: number): void {
    for (; this.#provenCount < this.#recorded.length; this.#provenCount++) {
      const { at, key, attempts, isFinal } = this.#recorded[this.#provenCount]!
      if (at >= begunAt) return
      const course = this.#courses.get(key)!
      course.provenAttempts = Math.max(course.provenAttempts, attempts)
      course.provenFinal ||= isFinal
    }
  }

  #completeness(number: number): void {
    const { sender, recipients } = this.#expected.get(number)!
    const what = this.#settled.has(number) ? 'settled' : 'seen'
    for (const recipient of recipients) {
      const course = this.#courses.get(keyOf(this.#idOf.get(number) ?? '', recipient))
      const isDone =
        fateOf(recipient) === 'never' ? course?.attempts === attemptsOfNever - 1 : course?.isFinal === true
      if (!isDone) this.blame('lost', `${number} was ${what}; ${recipient} did not come to its end`)
      if (!isRefused(recipient) || sender === '') continue
      const reports = this.#reportsOf.get(recipient)?.size ?? 0
      if (reports > 1) this.blame('report', `${recipient} is named by ${reports} reports`)
      if (!this.#reported.has(recipient)) this.blame('lost', `the report on ${recipient}`)
      else this.counts.reports++
    }
  }
}
