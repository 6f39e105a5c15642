/** Generated messages for benches and demonstrations: the same seed and time give the same mail.
 * Pure.
 * The logarithms of ages are spread evenly, from a minute to the oldest; domains and senders are
 * distributed as 1/rank, like real ones. */
import type { Prng } from '../../../src/base/prng.js'

export interface MailMix {
  readonly seedPrng: Prng
  readonly domainCount: number
  readonly senderCount: number
  /** Of a message, on average; at least 1. */
  readonly recipientsMean: number
  readonly dataBytes: number
  readonly oldestMs: number
}

export interface SyntheticMail {
  readonly ageMs: number
  readonly attempts: number
  readonly sender: string
  readonly recipients: readonly string[]
  readonly reason: { readonly status: string; readonly text: string }
}

const minute = 60_000
/** Bound of recipients of one message: they stand in its envelope. */
const recipientsMax = 1000

export class SyntheticMails {
  readonly #mix: MailMix
  readonly #body: Buffer

  constructor(mix: MailMix) {
    this.#mix = mix
    const line = 'The quick brown fox jumps over the lazy dog, and the queue remembers it all.\r\n'
    this.#body = Buffer.from(line.repeat(Math.ceil(mix.dataBytes / line.length) + 1))
  }

  next(): SyntheticMail {
    const { domainCount, senderCount, recipientsMean, oldestMs } = this.#mix
    const ageMs = Math.round(minute * (Math.max(oldestMs, minute) / minute) ** this.#share())
    const domain = `site${this.#ranked(domainCount)}.example`
    const recipients = [`user${this.#below(100_000)}@${domain}`]
    while (recipients.length < recipientsMax && this.#share() > 1 / recipientsMean)
      recipients.push(
        `user${this.#below(100_000)}-${recipients.length}@site${this.#ranked(domainCount)}.example`,
      )
    return {
      ageMs,
      attempts: attemptsAt(ageMs),
      sender: this.#share() < 0.02 ? '' : `list${this.#below(50)}@sender${this.#ranked(senderCount)}.example`,
      recipients,
      reason: reasons[this.#below(reasons.length)]!(domain),
    }
  }

  /** Its data: a unique header, and a body that fills the rest. */
  data({ sender, recipients }: SyntheticMail, id: string): Buffer {
    const header = Buffer.from(
      `From: <${sender}>\r\nTo: <${recipients[0]!}>\r\nSubject: synthetic mail\r\nMessage-ID: <${id}@waybill.example>\r\n\r\n`,
    )
    const bodyBytes = Math.max(2, this.#mix.dataBytes - header.length)
    const data = Buffer.allocUnsafe(header.length + bodyBytes)
    header.copy(data)
    this.#body.copy(data, header.length, 0, bodyBytes - 2)
    data.write('\r\n', data.length - 2, 'latin1')
    return data
  }

  #share(): number {
    return this.#mix.seedPrng.uint32() / 0x1_0000_0000
  }

  #below(bound: number): number {
    return Math.floor(this.#share() * bound)
  }

  /** 1 … count, rank r with a weight of about 1/r. */
  #ranked(count: number): number {
    return Math.min(count, Math.floor((count + 1) ** this.#share()))
  }
}

/** Attempts that Postfix's rule has made by then: the delay is the age, from 300 to 4000 s. */
function attemptsAt(ageMs: number): number {
  let attempts = 1
  for (let atMs = 0; atMs < ageMs && attempts < 1000; attempts++)
    atMs += Math.min(Math.max(atMs, 300_000), 4_000_000)
  return attempts
}

const reasons: readonly ((domain: string) => SyntheticMail['reason'])[] = [
  (domain) => ({ status: '4.4.1', text: `connect to mx.${domain}:25: Connection timed out` }),
  (domain) => ({ status: '4.4.1', text: `connect to mx.${domain}:25: Connection refused` }),
  (domain) => ({ status: '4.4.3', text: `host not found, try again: ${domain}` }),
  (domain) => ({ status: '4.2.2', text: `host mx.${domain} said: 452 4.2.2 mailbox full` }),
  (domain) => ({ status: '4.7.1', text: `host mx.${domain} said: 450 4.7.1 greylisted, try again later` }),
]
