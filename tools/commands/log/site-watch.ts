/** Tells the log when a site dies, and when it answers again.
 * Invariant: a site that stays dead has one line, however often it is tried; it has one more when
 * mail is delivered there. Memory holds at most `sitesMax` sites. */
import type { Logger } from 'pino'
import type { QueueEvents } from '../../../src/index.js'

export const sitesMax = 10_000

type Dead = QueueEvents['dead'][0]

export class SiteWatch {
  readonly #log: Logger
  readonly #nowMs: () => number
  /** When each died first, by transport and nexthop. */
  readonly #deadSinceMs = new Map<string, number>()

  /** @param nowMs a clock that is not set */
  constructor(log: Logger, nowMs: () => number) {
    this.#log = log
    this.#nowMs = nowMs
  }

  dead({ transport, nexthop, untilMs, status, text }: Dead): void {
    const key = keyOf(transport, nexthop)
    if (this.#deadSinceMs.has(key)) return
    const [oldest] = this.#deadSinceMs.keys()
    if (this.#deadSinceMs.size >= sitesMax && oldest !== undefined) this.#deadSinceMs.delete(oldest)
    this.#deadSinceMs.set(key, this.#nowMs())
    const until = new Date(untilMs).toISOString()
    this.#log.warn({ transport, nexthop, status, text, until }, 'a site is dead')
  }

  /** Mail was delivered there. */
  delivered({ transport, nexthop }: Pick<Dead, 'transport' | 'nexthop'>): void {
    if (this.#deadSinceMs.size === 0) return
    const key = keyOf(transport, nexthop)
    const sinceMs = this.#deadSinceMs.get(key)
    if (sinceMs === undefined) return
    this.#deadSinceMs.delete(key)
    const deadMs = Math.round(this.#nowMs() - sinceMs)
    this.#log.info({ transport, nexthop, deadMs }, 'a site answers again')
  }
}

const keyOf = (transport: string, nexthop: string): string => `${transport} ${nexthop.toLowerCase()}`
