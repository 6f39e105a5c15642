/** The mail of the fortnight: senders, recipients and times.
 * Invariant: the same seed gives the same mail, in the order of its times. */
import { below, pick, seededPrng, type Prng } from '../../src/base/prng.js'
import { dayMs, floodSite, hourMs, minuteMs, sites } from './sites.js'

export interface Mail {
  /** Since the fortnight began. */
  readonly atMs: number
  readonly sender: string
  readonly recipients: readonly string[]
  readonly isFlood: boolean
}

export const mailCount = 50_000
const floodCount = 5000
/** A newsletter to a site that takes twenty seconds for each. */
export const flood: { readonly fromMs: number; readonly forMs: number } = {
  fromMs: 3 * dayMs + 10 * hourMs,
  forMs: 30 * minuteMs,
}

/** Messages of an hour, from midnight on, in parts of a day's. */
const hours = [1, 1, 1, 1, 1, 2, 4, 8, 12, 14, 14, 13, 10, 12, 13, 13, 12, 10, 7, 5, 4, 3, 2, 1]
/** Senders whose own site is down get their reports late, or never. */
const senders = [
  ...Array.from({ length: 19 }, (_, i) => `desk${i}@home.example`),
  ...Array.from({ length: 20 }, (_, i) => `shop${i}@big.example`),
  'club@closed.example',
]
const manyOneIn = 20
const manyMax = 8

export function fortnightOfMail(seed: number): readonly Mail[] {
  const prng = seededPrng(seed)
  const all: Mail[] = []
  for (let i = 0; i < floodCount; i++)
    all.push({
      atMs: flood.fromMs + below(prng, flood.forMs),
      sender: 'news@home.example',
      recipients: [`reader${i}@${floodSite}`],
      isFlood: true,
    })
  while (all.length < mailCount)
    all.push({ atMs: drawnTime(prng), sender: pick(prng, senders), recipients: drawn(prng), isFlood: false })
  return all.sort((a, b) => a.atMs - b.atMs)
}

function drawnTime(prng: Prng): number {
  let part = below(
    prng,
    hours.reduce((sum, hour) => sum + hour, 0),
  )
  let hour = 0
  while (part >= hours[hour]!) part -= hours[hour++]!
  return below(prng, 14) * dayMs + hour * hourMs + below(prng, hourMs)
}

function drawn(prng: Prng): readonly string[] {
  const count = below(prng, manyOneIn) === 0 ? 2 + below(prng, manyMax - 1) : 1
  return [...new Set(Array.from({ length: count }, () => drawnRecipient(prng)))]
}

function drawnRecipient(prng: Prng): string {
  let part = below(prng, 100)
  let index = 0
  while (part >= sites[index]!.share) part -= sites[index++]!.share
  const { domain, unknownOneIn } = sites[index]!
  const isUnknown = unknownOneIn !== undefined && below(prng, unknownOneIn) === 0
  return `${isUnknown ? 'nobody' : 'user'}${below(prng, 500)}@${domain}`
}
