/** Limits on how many deliveries begin in a time, by nexthop, tag, sender and source, and the
 * replies that slow a site. Pure.
 * Invariant: 1. In no time of `perMs` do more than `count` begin, of each name that a limit
 * matches. 2. Memory has a bound, whatever names come. 3. A delivery that waits changes no count.
 * LIMITS.md beside this file says what operators see. */
import type { Rate } from './rate.js'
import { PatternIndex } from './pattern-index.js'
import {
  bucketOf,
  fill,
  giveTurn,
  hasToken,
  turnIn,
  type Bucket as RateBucket,
  type Coming,
} from './rate-bucket.js'

export const limitKinds = ['nexthop', 'tag', 'sender', 'source'] as const

export interface SendingLimit extends Rate {
  /** `source`: the address of this machine that mail leaves from. */
  readonly kind: (typeof limitKinds)[number]
  /** A pattern (glob.ts), case ignored; each name that it matches is counted separately. */
  readonly pattern: string
}

/** A reply that slows its site. */
export interface ReplyShaping extends Rate {
  /** Words that stand in the reply in this order, case ignored: `421 4.7.28`. */
  readonly reply: string
  /** From the last such reply on. */
  readonly forMs: number
}

type Priority = 'high' | 'normal' | 'low'

export interface LimitedDelivery {
  readonly transport: string
  readonly nexthop: string
  readonly sender: string
  readonly tags: readonly string[]
  /** Where it may leave from; it counts for each. */
  readonly sources: readonly string[]
  readonly priority: Priority
}

/** What a delivery waits for. `reply`: its site has asked for patience, `order`: an operator has
 * slowed it; `name` is the nexthop. */
export interface LimitName extends Rate {
  readonly kind: SendingLimit['kind'] | 'reply' | 'order'
  readonly name: string
}

/** A nexthop that an operator slows, by one transport, or by every one: ''. */
export interface SlowedNexthop {
  readonly transport: string
  readonly nexthop: string
}

export interface Wait {
  /** An estimate, ≥ 1. */
  readonly waitMs: number
  readonly limit: LimitName
}

/** A site that is sent to more slowly, from a reply on. */
export interface SlowedSite extends Rate {
  readonly untilMs: number
  /** It was not slowed before. */
  readonly isNew: boolean
}

/** Names that are counted, and slowed sites, at the most: each. */
export const bucketsMax = 20_000

/** Sites that operators slow, at the most. */
export const orderedMax = 1000

const bands: Readonly<Record<Priority, number>> = { high: 0, normal: 1, low: 2 }

type Bucket = LimitName & RateBucket

interface CountedLimit extends SendingLimit {
  /** It counts from then on. */
  readonly sinceMs: number
}

/** The limits of one kind, in their order. */
interface KindLimits {
  readonly limits: readonly CountedLimit[]
  readonly index: PatternIndex
}

export class SendingLimits {
  readonly #limits: ReadonlyMap<SendingLimit['kind'], KindLimits>
  readonly #shaping: readonly (ReplyShaping & { readonly words: readonly string[] })[]
  readonly #buckets: Map<string, Bucket>
  readonly #slowed: Map<string, Bucket>
  /** By operators. */
  readonly #ordered: Map<string, Bucket & SlowedNexthop>
  /** Of names that were looked for. */
  readonly #found = new Map<string, CountedLimit | undefined>()
  /** Counts before were given up: too many names. */
  #forgotMs: number

  /** @param before its counts go on, where a limit is as it was
   * @throws GlobError */
  constructor(
    limits: readonly SendingLimit[],
    shaping: readonly ReplyShaping[],
    nowMs: number,
    before?: SendingLimits,
  ) {
    const sinceMsOf = new Map<string, number>()
    for (const { limits: known } of before === undefined ? [] : before.#limits.values())
      for (const limit of known) sinceMsOf.set(lineOf(limit), limit.sinceMs)
    const counted = limits.map((limit) => ({ ...limit, sinceMs: sinceMsOf.get(lineOf(limit)) ?? nowMs }))
    this.#limits = new Map(
      limitKinds.flatMap((kind) => {
        const ofKind = counted.filter((limit) => limit.kind === kind)
        const index = new PatternIndex(ofKind.map(({ pattern }) => pattern.toLowerCase()))
        return ofKind.length === 0 ? [] : [[kind, { limits: ofKind, index }] as const]
      }),
    )
    this.#shaping = shaping.map((each) => ({ ...each, words: each.reply.toLowerCase().split(/\s+/) }))
    this.#buckets = before === undefined ? new Map() : before.#buckets
    this.#slowed = before === undefined || shaping.length === 0 ? new Map() : before.#slowed
    this.#ordered = before === undefined ? new Map() : before.#ordered
    this.#forgotMs = before === undefined ? -Infinity : before.#forgotMs
  }

  /** Nothing is limited now. */
  get isOff(): boolean {
    return this.#limits.size === 0 && this.#slowed.size === 0 && this.#ordered.size === 0
  }

  get shapes(): boolean {
    return this.#shaping.length > 0
  }

  /** Names that are counted now. */
  get bucketCount(): number {
    return this.#buckets.size + this.#slowed.size + this.#ordered.size
  }

  /** A delivery is to begin.
   * @param chance 0 … 1, excluded: spreads those whose turn is not known
   * @returns undefined: it counts, and begins; else nothing is counted */
  take(delivery: LimitedDelivery, coming: Coming, nowMs: number, chance: number): Wait | undefined {
    const buckets = this.#bucketsOf(delivery, nowMs)
    const band = bands[delivery.priority]
    let turnMs = nowMs
    let limit: Bucket | undefined
    for (const bucket of buckets) {
      fill(bucket, nowMs)
      if (hasToken(bucket)) continue
      // Behind the end of what slows a site nothing waits for it.
      const ms = Math.min(turnIn(bucket, band, coming, nowMs, chance), bucket.untilMs)
      if (ms <= turnMs) continue
      turnMs = ms
      limit = bucket
    }
    if (limit === undefined) {
      for (const bucket of buckets) bucket.tokens--
      return undefined
    }
    // Only at that limit: mail that waits longest for one must not hold up other mail at the rest.
    giveTurn(limit, band, coming, nowMs, turnMs)
    return { waitMs: Math.ceil(turnMs - nowMs), limit }
  }

  /** A site has put mail off. @returns how it is slowed from now on, if it is */
  replied(transport: string, nexthop: string, reply: string, nowMs: number): SlowedSite | undefined {
    const text = reply.toLowerCase()
    const rule = this.#shaping.find(({ words }) => standIn(words, text))
    if (rule === undefined) return undefined
    const { count, perMs, forMs } = rule
    const name = nexthop.toLowerCase()
    const key = siteKey({ transport, nexthop })
    const known = this.#slowed.get(key)
    const untilMs = nowMs + forMs
    const isNew = known === undefined || known.untilMs <= nowMs
    const isSlower = isNew || perMs / count > known.perMs / known.count
    this.#slowed.delete(key)
    keepRoom(this.#slowed, nowMs)
    if (isSlower) {
      const fresh = bucketOf<LimitName>({ kind: 'reply', name, count, perMs }, 0, nowMs, untilMs)
      this.#slowed.set(key, fresh)
      return { count, perMs, untilMs, isNew }
    }
    known.untilMs = Math.max(known.untilMs, untilMs)
    this.#slowed.set(key, known)
    return { count: known.count, perMs: known.perMs, untilMs: known.untilMs, isNew }
  }

  /** From now on no more begin there, whatever the tables say.
   * @returns false: too many are slowed so */
  slow(site: SlowedNexthop, { count, perMs }: Rate, untilMs: number, nowMs: number): boolean {
    for (const known of this.ordered(nowMs)) void known
    const key = siteKey(site)
    if (this.#ordered.size >= orderedMax && !this.#ordered.has(key)) return false
    const name = site.nexthop.toLowerCase()
    this.#ordered.set(key, { ...bucketOf({ kind: 'order', name, count, perMs }, 1, nowMs, untilMs), ...site })
    return true
  }

  /** Was it slowed by `slow`, for a time that may be over? */
  isOrdered(site: SlowedNexthop): boolean {
    return this.#ordered.has(siteKey(site))
  }

  /** @returns false: it was not slowed by `slow` */
  unslow(site: SlowedNexthop): boolean {
    return this.#ordered.delete(siteKey(site))
  }

  /** What `slow` slows now. */
  *ordered(nowMs: number): Iterable<Rate & SlowedNexthop & { readonly untilMs: number }> {
    for (const [key, bucket] of this.#ordered)
      if (bucket.untilMs > nowMs) yield bucket
      else this.#ordered.delete(key)
  }

  #bucketsOf(delivery: LimitedDelivery, nowMs: number): readonly Bucket[] {
    const { transport, nexthop, sender, tags, sources } = delivery
    const found: Bucket[] = []
    const name = nexthop.toLowerCase()
    addSlowed(found, this.#slowed, siteKey({ transport, nexthop }), nowMs)
    if (this.#ordered.size > 0)
      for (const by of [transport, ''])
        addSlowed(found, this.#ordered, siteKey({ transport: by, nexthop }), nowMs)
    if (this.#limits.size === 0) return found
    this.#add(found, 'nexthop', name, nowMs)
    this.#add(found, 'sender', sender.toLowerCase(), nowMs)
    for (const tag of tags) this.#add(found, 'tag', tag.toLowerCase(), nowMs)
    for (const source of sources) this.#add(found, 'source', source.toLowerCase(), nowMs)
    return found
  }

  /** Of a kind the first whose pattern matches. */
  #limitOf(kind: SendingLimit['kind'], name: string): CountedLimit | undefined {
    const ofKind = this.#limits.get(kind)
    if (ofKind === undefined) return undefined
    const key = `${kind} ${name}`
    if (this.#found.has(key)) return this.#found.get(key)
    const at = ofKind.index.find(name)
    const limit = at === undefined ? undefined : ofKind.limits[at]
    if (this.#found.size >= bucketsMax) this.#found.clear()
    this.#found.set(key, limit)
    return limit
  }

  #add(found: Bucket[], kind: SendingLimit['kind'], name: string, nowMs: number): void {
    const limit = this.#limitOf(kind, name)
    if (limit === undefined) return
    const { count, perMs, sinceMs } = limit
    const key = `${kind} ${count} ${perMs} ${name}`
    let bucket = this.#buckets.get(key)
    // One of a line that was gone for a time knows nothing of what began meanwhile.
    if (bucket === undefined || bucket.seenMs < sinceMs) {
      if (keepRoom(this.#buckets, nowMs)) this.#forgotMs = nowMs
      bucket = bucketOf({ kind, name, count, perMs }, 1, Math.max(sinceMs, this.#forgotMs), Infinity)
      fill(bucket, nowMs)
      this.#buckets.set(key, bucket)
    }
    if (!found.includes(bucket)) found.push(bucket)
  }
}

/** A nexthop has no case. */
export const siteKey = ({ transport, nexthop }: SlowedNexthop): string =>
  `${transport} ${nexthop.toLowerCase()}`

function addSlowed(found: Bucket[], slowed: Map<string, Bucket>, key: string, nowMs: number): void {
  const bucket = slowed.get(key)
  if (bucket === undefined) return
  if (bucket.untilMs > nowMs) found.push(bucket)
  else slowed.delete(key)
}

/** Makes room for one more: those go first that say nothing, then the oldest.
 * @returns whether counts are given up */
function keepRoom(buckets: Map<string, Bucket>, nowMs: number): boolean {
  if (buckets.size < bucketsMax) return false
  for (const [key, bucket] of buckets) {
    const isFull = bucket.tokens + (nowMs - bucket.seenMs) / bucket.gapMs >= bucket.burst
    if (bucket.untilMs <= nowMs || (bucket.untilMs === Infinity && isFull)) buckets.delete(key)
  }
  // A quarter at once, so that the walk is seldom.
  const leftMax = 0.75 * bucketsMax
  const gaveUp = buckets.size > leftMax
  for (const key of buckets.keys()) {
    if (buckets.size <= leftMax) break
    buckets.delete(key)
  }
  return gaveUp
}

/** What a line says. */
const lineOf = ({ kind, pattern, count, perMs }: SendingLimit): string =>
  [kind, count, perMs, pattern].join(' ')

/** Words of a reply, in this order. None begins within a word, and a number ends where it does. */
function standIn(words: readonly string[], text: string): boolean {
  let from = 0
  for (const word of words) {
    let at = text.indexOf(word, from)
    while (at >= 0 && isPart(text, at, word.length)) at = text.indexOf(word, at + 1)
    if (at < 0) return false
    from = at + word.length
  }
  return true
}

const isWordy = (character: string | undefined): boolean =>
  character !== undefined && /[a-z0-9]/.test(character)

/** `4.7.2` is not in `4.7.28`, nor `rate` in `moderate`; but it is in `rates`. */
function isPart(text: string, at: number, length: number): boolean {
  const end = at + length
  if (isWordy(text[at]) && isWordy(text[at - 1])) return true
  return /\d/.test(text[end - 1]!) && isWordy(text[end])
}
