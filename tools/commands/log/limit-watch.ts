/** Tells the log when a limit keeps mail waiting, and because of what.
 * Invariant: the log has a line when a state begins, another every five minutes while it lasts, and
 * one when it has ended.
 * @see Postfix qmgr_clog_warn_time; master(8): "has reached its process limit" */
import type { Logger } from 'pino'
import { largestOf } from '../../../src/engine/deliver/destinations-now.js'
import { crowdedShare } from '../../../src/engine/deliver/scheduler-options.js'
import type { QueueStatistics, WaitingLimit } from '../../../src/index.js'

type Seen = Pick<QueueStatistics, 'activeCount' | 'activeCountMax' | 'transports' | 'destinations'>

export const lookMs = 1000
const againMs = 300_000
/** Looks in a row: a full second is no news. */
const looksMin = 2

/** A limit, and a site whose mail waits for it. */
interface Rated extends WaitingLimit {
  readonly transport: string
  readonly nexthop: string
}

interface Told {
  lookCount: number
  toldAtMs: number
}

export class LimitWatch {
  readonly #log: Logger
  readonly #all: () => Seen['destinations']
  readonly #told = new Map<string, Told>()
  readonly #rated = new Map<string, Rated>()

  /** @param all destinations: asked for only where a line names the largest of them, because there
   * may be many */
  constructor(log: Logger, all: () => Seen['destinations']) {
    this.#log = log
    this.#all = all
  }

  /** @param seen its destinations are those of which mail waits for a limit
   * @param nowMs by a clock that is not set */
  look(seen: Seen, nowMs: number): void {
    const { activeCount, activeCountMax, transports } = seen
    const counts = { activeCount, activeCountMax }
    if (this.#begins('active', activeCount >= crowdedShare * activeCountMax, nowMs, counts))
      this.#log.warn({ ...counts, ...largestFields(this.#all()) }, 'the active queue is full')
    this.#lookAtRates(seen, nowMs)
    for (const { transport, busy, processLimit, delayedCount } of transports) {
      const fields = { transport, busy, processLimit }
      if (this.#begins(`process limit of ${transport}`, delayedCount > 0, nowMs, fields))
        this.#log.warn({ ...fields, waiting: delayedCount }, 'the process limit delays mail')
    }
  }

  /** Limits on what begins in a time: a line for each limit, whatever sites its mail is for. */
  #lookAtRates({ destinations }: Seen, nowMs: number): void {
    const waiting = new Map<string, Rated>()
    for (const { transport, nexthop, limit } of destinations)
      // What an operator has ordered has a line when it is ordered.
      if (limit !== undefined && limit.kind !== 'order')
        waiting.set(rateKey(limit, transport), { ...limit, transport, nexthop })
    for (const [key, rated] of this.#rated)
      if (!waiting.has(key)) {
        this.#rated.delete(key)
        this.#begins(key, false, nowMs, fieldsOf(rated))
      }
    for (const [key, rated] of waiting) {
      const fields = fieldsOf(rated)
      this.#rated.set(key, rated)
      if (!this.#begins(key, true, nowMs, fields)) continue
      const { nexthop, untilMs } = rated
      this.#log.warn({ ...fields, nexthop, until: new Date(untilMs).toISOString() }, 'mail waits for a limit')
    }
  }

  /** @returns whether the log gets a line now */
  #begins(name: string, isSo: boolean, nowMs: number, fields: object): boolean {
    const told = this.#told.get(name)
    if (!isSo) {
      if (told === undefined) return false
      this.#told.delete(name)
      if (told.toldAtMs > -Infinity)
        this.#log.info({ limit: name, ...fields }, 'a limit delays no mail any more')
      return false
    }
    const state = told ?? { lookCount: 0, toldAtMs: -Infinity }
    this.#told.set(name, state)
    if (++state.lookCount < looksMin || nowMs - state.toldAtMs < againMs) return false
    state.toldAtMs = nowMs
    return true
  }
}

/** Replies slow a site of one transport. */
const rateKey = ({ kind, name, count, perMs }: WaitingLimit, transport: string): string =>
  kind === 'reply' ? `slowed ${transport} ${name}` : `${kind} ${name} ${count}/${perMs}ms`

const fieldsOf = ({ kind, name, count, perMs }: Rated): object => ({ kind, name, count, perMs })

function largestFields(destinations: Seen['destinations']): object {
  const largest = largestOf(destinations)
  if (largest === undefined) return {}
  const { transport, nexthop, busy, todo, state } = largest
  return { transport, nexthop, count: busy + todo, state: state.kind }
}
