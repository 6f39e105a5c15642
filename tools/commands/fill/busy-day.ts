/** A day of a mail relay, made up: how much mail there is at each hour, and how the sites of the
 * world answer it. Pure.
 * Invariant: the same seed gives the same day. Hours are those of the day that is played, 0 to
 * 24. */
import type { Prng } from '../../../src/base/prng.js'

export const dayHours = 24

/** What a site does with a delivery, and how long it takes for that. */
export type Answer =
  | { readonly kind: 'delivered'; readonly reply: string }
  | { readonly kind: 'deferred' | 'failed'; readonly status: string; readonly reply: string }
  | { readonly kind: 'site'; readonly status: string; readonly reply: string }

export interface SiteAnswer {
  readonly answer: Answer
  /** Milliseconds as they pass, not of the day. */
  readonly delayMs: number
}

interface Site {
  readonly domain: string
  /** Of all mail, in parts of what all sites have together. */
  readonly share: number
  readonly delayMs: number
  /** undefined: it takes it. */
  readonly trouble?: (hour: number, attempts: number, chance: number) => Answer | undefined
}

const accepted = (domain: string): Answer => ({
  kind: 'delivered',
  reply: `250 2.0.0 Ok: queued by ${domain}`,
})

const sites: readonly Site[] = [
  {
    domain: 'bigmail.example',
    share: 40,
    delayMs: 40,
    // The morning's peak is too much for it.
    trouble: (hour, _attempts, chance) =>
      hour > 9 && hour < 10.5 && chance < 0.35
        ? { kind: 'deferred', status: '4.7.0', reply: '421 4.7.0 too much mail from you, slow down' }
        : undefined,
  },
  {
    domain: 'corporation.example',
    share: 18,
    delayMs: 80,
    // Its mail server is away at noon.
    trouble: (hour) =>
      hour > 12 && hour < 15
        ? { kind: 'site', status: '4.4.1', reply: 'connect: connection refused' }
        : undefined,
  },
  {
    domain: 'university.example',
    share: 12,
    delayMs: 120,
    trouble: (_hour, attempts) =>
      attempts === 0
        ? { kind: 'deferred', status: '4.7.1', reply: '451 4.7.1 greylisted, come back later' }
        : undefined,
  },
  {
    domain: 'village.example',
    share: 8,
    delayMs: 900,
    trouble: (hour, _attempts, chance) =>
      hour > 17 && chance < 0.5
        ? { kind: 'deferred', status: '4.2.2', reply: '452 4.2.2 mailbox full' }
        : undefined,
  },
  {
    domain: 'formerly.example',
    share: 3,
    delayMs: 60,
    trouble: (_hour, _attempts, chance) =>
      chance < 0.4 ? { kind: 'failed', status: '5.1.1', reply: '550 5.1.1 no such user here' } : undefined,
  },
  // Everybody else, a little each.
  ...Array.from({ length: 24 }, (_, i): Site => ({
    domain: `site${i + 1}.example`,
    share: 0.8,
    delayMs: 50 + 10 * i,
  })),
]

const shareSum = sites.reduce((sum, { share }) => sum + share, 0)

/** Messages in a second of the player's, where `peak` is the most. Nights are quiet,
 * mornings busiest. */
export function rateAt(hour: number, peak: number): number {
  const hill = (top: number, width: number): number => Math.exp(-(((hour - top) / width) ** 2))
  return peak * Math.min(1, 0.06 + 0.94 * hill(9.5, 1.8) + 0.75 * hill(14.5, 2.4) + 0.3 * hill(20, 1.6))
}

const subjects = [
  'Your order has been shipped',
  'Reset your password',
  'Minutes of the meeting',
  'Invoice for November',
  'Re: the draft',
  'Your weekly summary',
]

export interface DayMail {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: string
}

export class BusyDay {
  readonly #prng: Prng

  constructor(prng: Prng) {
    this.#prng = prng
  }

  mail(): DayMail {
    const sender = `${pick(['shop', 'forum', 'alerts', 'ada', 'grace'], this.#chance())}@${pick(['app.example', 'office.example'], this.#chance())}`
    const count = this.#chance() < 0.1 ? 1 + Math.floor(this.#chance() * 5) : 1
    const recipients = Array.from({ length: count }, () => {
      const user = `user${Math.floor(this.#chance() * 100_000)}`
      return `${user}@${this.#domain()}`
    })
    const subject = pick(subjects, this.#chance())
    const header = `From: <${sender}>\r\nTo: <${recipients[0]}>\r\nSubject: ${subject}\r\n`
    return { sender, recipients, data: `${header}\r\nA day like any other.\r\n` }
  }

  /** @param attempts that were made before */
  answer(domain: string, hour: number, attempts: number): SiteAnswer {
    const site = sites.find((one) => one.domain === domain)
    if (site === undefined)
      return { answer: { kind: 'failed', status: '5.1.2', reply: 'there is no such domain' }, delayMs: 1 }
    const delayMs = site.delayMs * (0.5 + this.#chance())
    return { answer: site.trouble?.(hour, attempts, this.#chance()) ?? accepted(domain), delayMs }
  }

  #domain(): string {
    let place = this.#chance() * shareSum
    for (const { domain, share } of sites) {
      place -= share
      if (place < 0) return domain
    }
    return sites[0]!.domain
  }

  #chance(): number {
    return this.#prng.uint32() / 2 ** 32
  }
}

const pick = <T>(from: readonly T[], chance: number): T => from[Math.floor(chance * from.length)]!
