/** Applies the limits on sending, between the scheduler and the attempts.
 * Invariant: a delivery that has to wait is taken back from the scheduler with its recipients
 * untouched, so it occupies no slot and is no attempt. Its message waits in memory, or in a lane
 * where many do, and gives its place among the active to others (settle/settle.ts).
 * Without limits this costs one comparison for each delivery. */
import type { ActiveMessage } from '../../active/active-message.js'
import { LimitTurns } from '../../active/limit-turns.js'
import { safeThrownText } from '../../delivery/outcome.js'
import type { Rate } from '../../policy/rate.js'
import type { Coming } from '../../policy/rate-bucket.js'
import { SendingLimits, siteKey, type SlowedNexthop } from '../../policy/rate-limits.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import { tagsOf } from '../../record/terms.js'
import type { Entry, WaitingLimit } from '../../scheduler/scheduler.js'
import { timedIntervalsMs } from '../schedule/timed-wait.js'
import type { Parts } from '../life/parts.js'
import { everyName } from '../life/suspensions.js'
import type { Job } from './job.js'

/** Sites of which it is known why their mail waits, at the most. */
const sitesMax = 1000

const due: Coming = { kind: 'due' }
const fresh: Coming = { kind: 'new' }
/** One for which its message has no turn: it asks again at those of the others, or then. */
const surplus: Coming = { kind: 'early', withinMs: 60_000 }

/** A delivery that had a turn. */
const comingFor = (turnMs: number, nowMs: number): Coming =>
  turnMs <= nowMs ? due : { kind: 'before', turnMs }

export interface LimitedSite {
  readonly transport: string
  readonly nexthop: string
  /** `untilMs` by the monotonic clock. */
  readonly limit: WaitingLimit
}

const linesOf = ({ options: { limits, shaping } }: Parts): string => JSON.stringify([limits, shaping])

/** The reason of a site that is slowed by no reply. */
const byOperator = 'an operator has slowed it'

const areTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

export class RateLimiter {
  readonly #parts: Parts
  readonly #onChange: () => void
  #limits: SendingLimits
  /** Of the options that it is made of. */
  #lines: string
  readonly #sites = new Map<string, LimitedSite>()

  /** @param onChange what waits for a limit may begin by now */
  constructor(parts: Parts, onChange: () => void) {
    const { limits, shaping, clock } = parts.options
    this.#parts = parts
    this.#onChange = onChange
    this.#lines = linesOf(parts)
    this.#limits = new SendingLimits(limits, shaping, clock.monotonicMs())
  }

  /** The options may be others. Where they say what they said, turns stay. */
  renew(): void {
    const { limits, shaping, clock } = this.#parts.options
    const lines = linesOf(this.#parts)
    if (lines === this.#lines) return
    this.#lines = lines
    this.#limits = new SendingLimits(limits, shaping, clock.monotonicMs(), this.#limits)
    this.#sites.clear()
    this.#onChange()
  }

  /** Sites whose mail waits for a limit now, and those that an operator has slowed. */
  *sites(nowMs: number): Iterable<LimitedSite> {
    const shown = new Set<string>()
    for (const [key, site] of this.#sites)
      if (site.limit.untilMs > nowMs) {
        yield site
        if (site.limit.kind === 'order') shown.add(site.limit.name)
      } else this.#sites.delete(key)
    for (const { transport, nexthop, count, perMs, untilMs } of this.#limits.ordered(nowMs)) {
      const name = nexthop.toLowerCase()
      if (shown.has(name)) continue
      const limit = { kind: 'order', name, count, perMs, untilMs } as const
      yield { transport: transport === '' ? everyName : transport, nexthop, limit }
    }
  }

  /** What waits for an order that this one replaces asks again: it may be slower.
   * @returns false: too many are slowed */
  slow(site: SlowedNexthop, rate: Rate, forMs: number): boolean {
    const { clock } = this.#parts.options
    const nowMs = clock.monotonicMs()
    if (this.#limits.isOrdered(site)) this.#orderChanged(site)
    if (!this.#limits.slow(site, rate, nowMs + forMs, nowMs)) return false
    const { count, perMs } = rate
    const untilMs = Math.round(clock.wallMs() + forMs)
    const told = { ...site, count, perMs, untilMs, status: '', text: byOperator }
    this.#parts.events.emit('slowed', told)
    return true
  }

  /** Ends the order for the transport, and that for all of them: each slows it.
   * @param transport as it is listed @returns false: no operator has slowed it */
  unslow(transport: string, nexthop: string): boolean {
    const ended = [transport, ''].filter((by) => this.#limits.unslow({ transport: by, nexthop }))
    if (ended.length === 0) return false
    this.#orderChanged({ nexthop })
    return true
  }

  #orderChanged({ nexthop }: Pick<SlowedNexthop, 'nexthop'>): void {
    for (const [key, { limit }] of this.#sites)
      if (limit.kind === 'order' && limit.name === nexthop.toLowerCase()) this.#sites.delete(key)
    this.#onChange()
  }

  /** Does it have to wait? Otherwise it counts, and begins. */
  keeps(entry: Entry<Job>, nowMs: number): boolean {
    if (this.#limits.isOff) return false
    const { message } = entry.message
    const { transport, nexthop } = entry
    const site = siteKey(entry)
    const hadMs = message.turns?.take(site, nowMs)
    const isSurplus = hadMs === undefined && message.turns?.isFull === true
    const comingAnew = (): Coming => (isSurplus ? surplus : this.#comingOf(message))
    const coming = hadMs === undefined ? comingAnew() : comingFor(hadMs, nowMs)
    if (coming.kind === 'before' && message.turns!.isForOther) {
      message.turns!.give(site, { transport, nexthop, untilMs: coming.turnMs })
      return true
    }
    const { sender, priority } = message.envelope
    // The first of many draws would come at once.
    const chance = isSurplus ? 1 : this.#parts.options.prng.uint32() / 2 ** 32
    const sources = this.#sourcesOf(transport)
    const delivery = { transport, nexthop, sender, tags: tagsOf(message.envelope), sources, priority }
    const wait = this.#limits.take(delivery, coming, nowMs, chance)
    if (wait === undefined) return false
    const untilMs = nowMs + wait.waitMs
    this.#note(transport, nexthop, { ...wait.limit, untilMs }, nowMs)
    message.turns ??= new LimitTurns()
    const turn = { transport, nexthop, untilMs }
    if (isSurplus) message.turns.lookAt(turn)
    else message.turns.give(site, turn)
    return true
  }

  /** None, with a warning, where the transport cannot say. */
  #sourcesOf(transport: string): readonly string[] {
    try {
      const sources: unknown = this.#parts.options.transports[transport]?.sources ?? []
      if (areTexts(sources)) return sources
      throw new TypeError('sources is a list of addresses')
    } catch (error) {
      this.#parts.events.emit('warning', {
        code: 'TRANSPORT_DEFECT',
        message: `transport ${transport} does not say where its mail leaves from: ${safeThrownText(error)}`,
      })
      return []
    }
  }

  /** A delivery has ended. */
  reported({ transport, nexthop }: Entry<Job>, notes: readonly OutcomeNote[], nowMs: number): void {
    if (!this.#limits.shapes) return
    const deferred = notes.filter(({ kind }) => kind === 'deferred')
    const replies = new Map(deferred.map(({ status, text }) => [`${status} ${text}`, { status, text }]))
    for (const [reply, { status, text }] of replies) {
      const slowed = this.#limits.replied(transport, nexthop, reply, nowMs)
      if (slowed === undefined) continue
      if (!slowed.isNew) return
      const { count, perMs } = slowed
      const untilMs = Math.round(slowed.untilMs - nowMs + this.#parts.options.clock.wallMs())
      return this.#parts.events.emit('slowed', { transport, nexthop, count, perMs, untilMs, status, text })
    }
  }

  #note(transport: string, nexthop: string, limit: WaitingLimit, nowMs: number): void {
    const { kind, name, count, perMs, untilMs } = limit
    const key = siteKey({ transport, nexthop })
    const known = this.#sites.get(key)
    if (known === undefined && this.#sites.size >= sitesMax) {
      for (const site of this.sites(nowMs)) void site
      if (this.#sites.size >= sitesMax) return
    }
    const lastMs = Math.max(untilMs, known?.limit.untilMs ?? 0)
    this.#sites.set(key, { transport, nexthop, limit: { kind, name, count, perMs, untilMs: lastMs } })
  }

  /** It may have waited in a lane, which has about half of a wait. */
  #comingOf({ place, envelope }: ActiveMessage): Coming {
    const { lanes } = this.#parts
    if ((envelope.terms?.notBefore ?? 0) > 0 || !lanes.has(place.lane)) return fresh
    const { kind, intervalMs } = lanes.get(place.lane)
    const isHop = kind === 'retry' && timedIntervalsMs.includes(intervalMs)
    return isHop ? { kind: 'early', withinMs: intervalMs } : fresh
  }
}
