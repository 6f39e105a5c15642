/** Counts of mail while the API is open: in all, and by destination.
 * Invariant: an event costs a few additions, and memory is bounded: beyond `destinationCountMax`
 * those with the oldest events are forgotten. */
import type { RecipientEvent } from '../../engine/life/events.js'
import type { Clock } from '../../base/clock.js'
import type { Queue } from '../../queue.js'

/** Messages accepted; recipients delivered, deferred and failed: for good, or expired. */
export interface Counts {
  readonly accepted: number
  readonly delivered: number
  readonly deferred: number
  readonly failed: number
}

export const countNames = ['accepted', 'delivered', 'deferred', 'failed'] as const

export const noCounts: Counts = { accepted: 0, delivered: 0, deferred: 0, failed: 0 }

export const countsBetween = (before: Counts, now: Counts): Counts => ({
  accepted: now.accepted - before.accepted,
  delivered: now.delivered - before.delivered,
  deferred: now.deferred - before.deferred,
  failed: now.failed - before.failed,
})

type Kind = 'delivered' | 'deferred' | 'failed'
const kinds = ['delivered', 'deferred', 'failed'] as const

export interface LastReply {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly kind: Kind
  readonly status: string
  readonly text: string
  readonly remote: string | null
}

/** Recipients a second, the mean of the last minute. */
export type DestinationRates = Readonly<Record<Kind, number>>

const destinationCountMax = 10_000
const textLengthMax = 500
const slotMs = 10_000
const slotCount = 6

/** A minute in slots of ten seconds. */
class RecentCounts {
  readonly #counts = new Uint32Array(slotCount * kinds.length)
  #slot = 0

  add(kind: Kind, count: number, nowMs: number): void {
    this.#turnTo(nowMs)
    this.#counts[(this.#slot % slotCount) * kinds.length + kinds.indexOf(kind)]! += count
  }

  rates(nowMs: number): DestinationRates {
    this.#turnTo(nowMs)
    const perSecond = (kind: Kind): number => {
      let sum = 0
      for (let at = kinds.indexOf(kind); at < this.#counts.length; at += kinds.length)
        sum += this.#counts[at]!
      return (sum * 1000) / (slotCount * slotMs)
    }
    return {
      delivered: perSecond('delivered'),
      deferred: perSecond('deferred'),
      failed: perSecond('failed'),
    }
  }

  #turnTo(nowMs: number): void {
    const slot = Math.floor(nowMs / slotMs)
    if (slot - this.#slot >= slotCount) this.#counts.fill(0)
    else
      for (let passed = this.#slot + 1; passed <= slot; passed++) {
        const at = (passed % slotCount) * kinds.length
        this.#counts.fill(0, at, at + kinds.length)
      }
    this.#slot = Math.max(slot, this.#slot)
  }
}

interface DestinationTraffic {
  readonly recent: RecentCounts
  readonly endedAtMs: number
  lastReply: LastReply
}

export class Traffic {
  readonly #queue: Pick<Queue, 'on' | 'off'>
  readonly #clock: Clock
  /** Those with the newest events last. */
  readonly #destinations = new Map<string, DestinationTraffic>()
  #accepted = 0
  readonly #recipients = { delivered: 0, deferred: 0, failed: 0 }

  constructor(queue: Pick<Queue, 'on' | 'off'>, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
    for (const kind of kinds) queue.on(kind, this.#listeners[kind])
    queue.on('accepted', this.#onAccepted)
    queue.on('expired', this.#onExpired)
  }

  get counts(): Counts {
    return { accepted: this.#accepted, ...this.#recipients }
  }

  /** When a delivery there has ended last, by a clock that is not set; undefined: not known. */
  endedAtMs(destination: { readonly transport: string; readonly nexthop: string }): number | undefined {
    return this.#destinations.get(keyOf(destination))?.endedAtMs
  }

  of(destination: { readonly transport: string; readonly nexthop: string }): {
    readonly perSecond: DestinationRates
    readonly lastReply: LastReply | null
  } {
    const traffic = this.#destinations.get(keyOf(destination))
    if (traffic === undefined) return { perSecond: { delivered: 0, deferred: 0, failed: 0 }, lastReply: null }
    return { perSecond: traffic.recent.rates(this.#clock.monotonicMs()), lastReply: traffic.lastReply }
  }

  /** Counts no more. */
  end(): void {
    for (const kind of kinds) this.#queue.off(kind, this.#listeners[kind])
    this.#queue.off('accepted', this.#onAccepted)
    this.#queue.off('expired', this.#onExpired)
  }

  readonly #onAccepted = (): void => void this.#accepted++
  /** No site has said so: they are in the sums alone. */
  readonly #onExpired = ({ recipientCount }: { readonly recipientCount: number }): void =>
    void (this.#recipients.failed += recipientCount)
  readonly #listeners = {
    delivered: (event: RecipientEvent): void => this.#count('delivered', event),
    deferred: (event: RecipientEvent): void => this.#count('deferred', event),
    failed: (event: RecipientEvent): void => this.#count('failed', event),
  }

  #count(kind: Kind, event: RecipientEvent): void {
    const { recipients, transport, status, text, remote } = event
    this.#recipients[kind] += recipients.length
    // Nobody was asked.
    if (transport === '') return
    const key = keyOf(event)
    const recent = this.#destinations.get(key)?.recent ?? new RecentCounts()
    const endedAtMs = this.#clock.monotonicMs()
    recent.add(kind, recipients.length, endedAtMs)
    const lastReply = {
      at: this.#clock.wallMs(),
      kind,
      status,
      text: text.slice(0, textLengthMax),
      remote: remote ?? null,
    }
    this.#destinations.delete(key)
    this.#destinations.set(key, { recent, endedAtMs, lastReply })
    if (this.#destinations.size <= destinationCountMax) return
    const [oldest] = this.#destinations.keys()
    this.#destinations.delete(oldest!)
  }
}

const keyOf = ({ transport, nexthop }: { readonly transport: string; readonly nexthop: string }): string =>
  `${transport} ${nexthop.toLowerCase()}`
