/** The sites of the simulated fortnight: when each is down, and what it answers.
 * Invariant: an answer follows from site, address and time alone, so that the judge can say from
 * the same facts when mail had to arrive. Times are milliseconds since the fortnight began. */
import type { DeliveryResult } from '../../src/delivery/transport.js'

export const minuteMs = 60_000
export const hourMs: number = 60 * minuteMs
export const dayMs: number = 24 * hourMs

/** [from, to), milliseconds. */
export type Spell = readonly [fromMs: number, toMs: number]

export interface Site {
  readonly domain: string
  /** Its share of the recipients, per cent. */
  readonly share: number
  /** How long a delivery takes. */
  readonly answerMs: number
  /** Nobody answers a connection. */
  readonly down?: readonly Spell[]
  /** It answers `421` in the first minutes of each hour. */
  readonly busyMinutes?: number
  /** All its mailboxes are full. */
  readonly full?: readonly Spell[]
  /** A stranger is asked to come again after five minutes. */
  readonly isGreylisting?: boolean
  /** One recipient of so many does not exist. */
  readonly unknownOneIn?: number
}

const day = (number: number, hour = 0): number => (number - 1) * dayMs + hour * hourMs

export const floodSite = 'slow.example'

export const sites: readonly Site[] = [
  { domain: 'big.example', share: 55, answerMs: 300 },
  { domain: 'grey.example', share: 12, answerMs: 500, isGreylisting: true },
  { domain: 'many.example', share: 10, answerMs: 800, unknownOneIn: 10 },
  { domain: floodSite, share: 8, answerMs: 20_000 },
  { domain: 'busy.example', share: 6, answerMs: 1000, busyMinutes: 10 },
  { domain: 'weekend.example', share: 3, answerMs: 400, down: [[day(6, 18), day(8, 7)]] },
  { domain: 'full.example', share: 2, answerMs: 600, full: [[day(3), day(4, 12)]] },
  { domain: 'moving.example', share: 1, answerMs: 700, down: [[day(8), day(14)]] },
  { domain: 'closed.example', share: 1, answerMs: 700, down: [[day(2), Infinity]] },
  { domain: 'home.example', share: 2, answerMs: 100 },
]

export const siteOf = (address: string): Site => {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return sites.find((site) => site.domain === domain)!
}

const isIn = (spells: readonly Spell[] | undefined, atMs: number): boolean =>
  spells?.some(([fromMs, toMs]) => fromMs <= atMs && atMs < toMs) === true

export const isDown = (site: Site, atMs: number): boolean => isIn(site.down, atMs)

const isBusy = ({ busyMinutes = 0 }: Site, atMs: number): boolean => atMs % hourMs < busyMinutes * minuteMs

const greylistMs: number = 5 * minuteMs

const isUnknown = (address: string): boolean => address.startsWith('nobody')

export type Answer = 'delivered' | 'failed' | 'deferred' | 'site'

/** @param firstMs when the recipient of this message was first tried */
export function answerOf(site: Site, address: string, firstMs: number, atMs: number): Answer {
  if (isDown(site, atMs) || isBusy(site, atMs)) return 'site'
  if (isUnknown(address)) return 'failed'
  if (isIn(site.full, atMs)) return 'deferred'
  return site.isGreylisting === true && atMs < firstMs + greylistMs ? 'deferred' : 'delivered'
}

export function resultOf(site: Site, atMs: number, answers: readonly Answer[]): DeliveryResult {
  if (answers.includes('site'))
    return isDown(site, atMs)
      ? { kind: 'site', status: '4.4.1', reason: 'connection timed out' }
      : { kind: 'site', status: '4.3.2', reason: '421 too busy' }
  return answers.map((answer) => {
    if (answer === 'delivered') return { kind: 'delivered', response: '250 ok' }
    if (answer === 'failed') return { kind: 'failed', status: '5.1.1', reason: '550 no such user' }
    return { kind: 'deferred', status: '4.2.0', reason: '450 come again' }
  })
}

/** The longest time without an interruption, between two instants, in which the site would have
 * answered this recipient for good. */
export function longestOpenMs(site: Site, address: string, [fromMs, toMs]: Spell): number {
  let longestMs = 0
  let sinceMs: number | undefined
  for (let atMs = fromMs; atMs < toMs; atMs += minuteMs) {
    const answer = answerOf(site, address, fromMs, atMs)
    if (answer !== 'delivered' && answer !== 'failed') sinceMs = undefined
    else longestMs = Math.max(longestMs, atMs - (sinceMs ??= atMs))
  }
  return longestMs
}
