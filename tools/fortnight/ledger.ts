/** The events of each recipient in the fortnight, as transports and senders see them.
 * Invariant: the ledger asks the queue nothing; it has the events of the queue and the attempts of
 * the transport. Times are milliseconds since the fortnight began. */
import type { EndedEvent, RecipientEvent } from '../../src/engine/life/events.js'
import { reportNames } from '../../src/sim/model/model-reports.js'
import type { Mail } from './mail.js'
import type { Answer } from './sites.js'

export interface Recipient {
  readonly address: string
  firstAttemptMs: number | undefined
  lastAttemptMs: number | undefined
  attemptCount: number
  deferralCount: number
  lastDeferralMs: number | undefined
  deliveryCount: number
  end: { readonly how: 'delivered' | 'bounced' | 'expired'; readonly atMs: number } | undefined
  /** Reports that name it as failed. */
  namedCount: number
}

export interface Message {
  readonly id: string
  readonly sender: string
  readonly acceptedMs: number
  readonly recipients: ReadonlyMap<string, Recipient>
  readonly isFlood: boolean
  /** The message that this report is about. */
  readonly about: Message | undefined
  /** A deferral at an age at which the sender is warned. */
  isLate: boolean
  warningCount: number
  failureReportCount: number
  /** Reports on it that somebody has read. */
  readCount: number
}

export interface DeadSpell {
  readonly domain: string
  readonly atMs: number
  readonly untilMs: number
}

/** Called when a rule is broken, with its reason. */
export interface LedgerRules {
  attempted(message: Message, recipient: Recipient, atMs: number): void
  deferred(message: Message, recipient: Recipient, atMs: number): void
}

export class Ledger {
  readonly messages: Map<string, Message> = new Map()
  readonly dead: DeadSpell[] = []
  /** What no life should say. */
  readonly complaints: string[] = []
  /** Deferrals, by the time at which they came. */
  readonly deferralsMs: number[] = []
  readonly reportsMs: number[] = []
  readonly powerLossesMs: number[] = []
  rules: LedgerRules | undefined

  accepted(id: string, mail: Mail, acceptedMs: number, about?: Message): Message {
    const recipients = new Map(mail.recipients.map((address) => [address, unattempted(address)]))
    const { sender, isFlood } = mail
    const message: Message = {
      id,
      sender,
      acceptedMs,
      recipients,
      isFlood,
      about,
      isLate: false,
      warningCount: 0,
      failureReportCount: 0,
      readCount: 0,
    }
    this.messages.set(id, message)
    return message
  }

  /** @returns when the recipient was first attempted */
  attempted(id: string, address: string, atMs: number): number {
    const [message, recipient] = this.#find(id, address)
    if (message === undefined || recipient === undefined) return atMs
    this.rules?.attempted(message, recipient, atMs)
    if (recipient.end?.how === 'bounced' || recipient.end?.how === 'expired')
      this.complain(`${address} of ${id} is attempted behind its end`)
    recipient.attemptCount++
    recipient.lastAttemptMs = atMs
    return (recipient.firstAttemptMs ??= atMs)
  }

  answered(id: string, address: string, answer: Answer): void {
    const [, recipient] = this.#find(id, address)
    if (recipient !== undefined && answer === 'delivered') recipient.deliveryCount++
  }

  deferred({ id, recipients }: RecipientEvent, atMs: number): void {
    for (const address of recipients) {
      const [message, recipient] = this.#find(id, address)
      if (message === undefined || recipient === undefined) continue
      this.rules?.deferred(message, recipient, atMs)
      recipient.deferralCount++
      recipient.lastDeferralMs = atMs
      this.deferralsMs.push(atMs)
    }
  }

  ended(event: RecipientEvent, atMs: number, kind: 'delivered' | 'failed'): void {
    const how = kind === 'delivered' ? 'delivered' : event.status === '5.4.7' ? 'expired' : 'bounced'
    for (const address of event.recipients) {
      const [, recipient] = this.#find(event.id, address)
      if (recipient === undefined) continue
      if (recipient.end !== undefined && !this.#isRepeated(recipient, how))
        this.complain(`${address} of ${event.id} ends twice: ${recipient.end.how}, ${how}`)
      recipient.end ??= { how, atMs }
    }
  }

  expired({ id }: EndedEvent, atMs: number): void {
    for (const recipient of this.messages.get(id)?.recipients.values() ?? [])
      recipient.end ??= { how: 'expired', atMs }
  }

  reported(id: string, report: string, action: 'failed' | 'delayed' | 'delivered', atMs: number): void {
    const about = this.messages.get(id)
    if (about === undefined) return this.complain(`a report on ${id}, which is not here`)
    if (action === 'delayed') about.warningCount++
    else about.failureReportCount++
    this.reportsMs.push(atMs)
    const mail = { atMs, sender: '', recipients: [about.sender], isFlood: false }
    this.accepted(report, mail, atMs, about)
  }

  /** A report is attempted: its reader sees it once. */
  report(id: string, data: Buffer): void {
    const { about, recipients } = this.messages.get(id) ?? {}
    const [recipient] = recipients?.values() ?? []
    if (about === undefined || recipient === undefined || recipient.attemptCount > 1) return
    about.readCount++
    for (const address of reportNames(data).failed) {
      const named = about.recipients.get(address)
      if (named === undefined) this.complain(`a report on ${about.id} names ${address}`)
      else named.namedCount++
    }
  }

  complain(words: string): void {
    if (this.complaints.length < 100) this.complaints.push(words)
  }

  /** The record of its end was not durable when the power was lost. */
  #isRepeated({ end }: Recipient, how: string): boolean {
    const lostMs = this.powerLossesMs.at(-1)
    return lostMs !== undefined && end !== undefined && end.how === how && end.atMs > lostMs - 10_000
  }

  #find(id: string, address: string): [message?: Message, recipient?: Recipient] {
    const message = this.messages.get(id)
    const recipient = message?.recipients.get(address)
    if (message === undefined || recipient === undefined) {
      this.complain(`${address} of ${id} is not known`)
      return []
    }
    return [message, recipient]
  }
}

const unattempted = (address: string): Recipient => ({
  address,
  firstAttemptMs: undefined,
  lastAttemptMs: undefined,
  attemptCount: 0,
  deferralCount: 0,
  lastDeferralMs: undefined,
  deliveryCount: 0,
  end: undefined,
  namedCount: 0,
})
