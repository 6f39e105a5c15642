/** The part of a site's limits that one queue of a store has, while others deliver there too.
 * Invariant: the parts of all queues with an owner sum up to the limit, or to one delivery each
 * where there are more queues than that. No clocks are compared: this process goes by the
 * owners that it saw. Process limits are whole: they bound this machine, not a site. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { SendingLimit, SchedulerOptions } from '../../../src/index.js'
import type { StoreStatus } from '../../../src/store/store-status.js'
import { transportLmtp, transportLocal, transportPipe } from './transport-names.js'

export interface Share {
  /** Of the queue among those with an owner, by name, from 0. */
  readonly rank: number
  /** Of queues with an owner; ≥ 1. */
  readonly ownerCount: number
}

/** These deliver on this machine. */
const localTransports: readonly string[] = [transportLocal, transportLmtp, transportPipe]

/** Postfix's default. */
const concurrencyDefault = 20
const secondsMax = 100_000_000

/** @param limit 0: there is none */
const partOf = (limit: number, { rank, ownerCount }: Share): number =>
  limit === 0 ? 0 : Math.max(1, Math.floor(limit / ownerCount) + (rank < limit % ownerCount ? 1 : 0))

const longer = (seconds: number, { ownerCount }: Share): number => Math.min(secondsMax, seconds * ownerCount)

/** @param names of all transports */
export function sharedScheduler(
  options: SchedulerOptions,
  share: Share,
  names: readonly string[],
): SchedulerOptions {
  if (share.ownerCount === 1) return options
  const { defaultDestinationConcurrencyLimit: limit = concurrencyDefault } = options
  const { defaultDestinationRateDelay: delay = 0, defaultDestinationRateInterval: interval = 60 } = options
  const kept = Object.fromEntries(
    localTransports
      .filter((name) => names.includes(name))
      .map((name) => [
        name,
        {
          destinationConcurrencyLimit: limit,
          destinationRateDelay: delay,
          destinationRateInterval: interval,
          ...options.transports?.[name],
        },
      ]),
  )
  const divided = Object.entries(options.transports ?? {}).map(([name, own]) => [
    name,
    {
      ...own,
      ...(own.destinationConcurrencyLimit === undefined
        ? undefined
        : { destinationConcurrencyLimit: partOf(own.destinationConcurrencyLimit, share) }),
      ...(own.destinationRateDelay === undefined
        ? undefined
        : { destinationRateDelay: longer(own.destinationRateDelay, share) }),
      ...(own.destinationRateInterval === undefined
        ? undefined
        : { destinationRateInterval: longer(own.destinationRateInterval, share) }),
    },
  ])
  return {
    ...options,
    defaultDestinationConcurrencyLimit: partOf(limit, share),
    defaultDestinationRateDelay: longer(delay, share),
    defaultDestinationRateInterval: longer(interval, share),
    transports: { ...Object.fromEntries(divided), ...kept },
  }
}

/** A count below the number of owners is one, in a longer time. */
export const sharedLimits = (limits: readonly SendingLimit[], share: Share): readonly SendingLimit[] =>
  share.ownerCount === 1
    ? limits
    : limits.map((limit) =>
        limit.count >= share.ownerCount
          ? { ...limit, count: partOf(limit.count, share) }
          : { ...limit, count: 1, perMs: Math.ceil((limit.perMs * share.ownerCount) / limit.count) },
      )

/** The store remembers a look for a little longer. */
const lookMs = 8000

export class Shares {
  readonly #look: (() => Promise<StoreStatus>) | undefined
  readonly #log: Logger
  #owned: readonly string[] = []
  #isTold = true

  /** @param look at the store; undefined: there is none, and all limits are whole */
  constructor(look: (() => Promise<StoreStatus>) | undefined, log: Logger) {
    this.#look = look
    this.#log = log
  }

  /** One that was not seen with an owner counts beside those that were. */
  of(queue: string): Share {
    const all = this.#owned.includes(queue) ? this.#owned : [...this.#owned, queue].sort()
    return { rank: all.indexOf(queue), ownerCount: all.length }
  }

  /** For as long as the process lives. @param onChange other queues have owners now */
  async run(onChange: () => void): Promise<void> {
    while (this.#look !== undefined) {
      await sleep(lookMs, undefined, { ref: false })
      await this.look(onChange)
    }
  }

  /** Once. */
  async look(onChange: () => void): Promise<void> {
    const status = await this.#look?.().catch((error: unknown) => {
      // While the store does not answer nothing is delivered, either; that has its line.
      this.#log.debug({ err: error }, 'owners of queues are not known')
    })
    if (status === undefined) return
    const owned = status.queues
      .filter(({ state }) => state === 'beats')
      .map(({ name }) => name)
      .sort()
    if (this.#isTold && owned.join('\n') === this.#owned.join('\n')) return
    this.#owned = owned
    this.#log.info({ queues: owned }, 'queues with an owner share the limits of sites')
    this.#isTold = this.#tell(onChange)
  }

  /** @returns false: it is to be told again at the next look */
  #tell(onChange: () => void): boolean {
    try {
      onChange()
      return true
    } catch (error) {
      this.#log.error({ err: error }, 'the limits of sites are not shared anew')
      return false
    }
  }
}
