/** Sees what keeps mail waiting although nothing is broken. Pure.
 * Invariant: a strain counts when each look of a while has seen it: a relay at work meets its
 * limits for moments. A site is silent while deliveries to it are under way, other mail waits for
 * them, and none ends.
 * Why: a site that accepts connections and does not answer is not dead for minutes, and the relay
 * seemed well. */
import { crowdedShare } from '../../engine/deliver/scheduler-options.js'
import type { QueueStatistics } from '../../admin/select/statistics.js'
import type { DestinationSnapshot, TransportSnapshot } from '../../scheduler/scheduler.js'

type Seen = Pick<
  QueueStatistics,
  'activeCount' | 'activeCountMax' | 'transports' | 'destinations' | 'journal'
>

export interface Strain {
  /** At least `crowdedShare` of the places of active messages are taken. */
  readonly isActiveFull: boolean
  /** Those whose process limit delays mail. */
  readonly transports: readonly TransportSnapshot[]
  readonly silent: readonly (DestinationSnapshot & { readonly silentMs: number })[]
  /** Mean of the synced writes of the last minute, milliseconds; undefined: they are not slow. */
  readonly syncMs: number | undefined
}

export const noStrain: Strain = { isActiveFull: false, transports: [], silent: [], syncMs: undefined }

const limitMs = 10_000
const silenceMs = 60_000
/** A disk that is at work answers in less. */
const slowSyncMs = 500
/** One may have met something else that used the disk. */
const slowSyncsMin = 3
const syncsOverMs = 60_000
const syncsEveryMs = 1000

interface Syncs {
  readonly atMs: number
  readonly count: number
  readonly totalMs: number
}

export class StrainWatch {
  /** When each began, by its name. */
  #sinceMs = new Map<string, number>()
  /** Of the last minute, the oldest first. */
  readonly #syncs: Syncs[] = []

  /** @param nowMs by a clock that is not set
   * @param endedAtMs when a delivery to the destination has ended last; undefined: not known */
  look(
    { activeCount, activeCountMax, transports, destinations, journal }: Seen,
    nowMs: number,
    endedAtMs: (destination: DestinationSnapshot) => number | undefined,
  ): Strain {
    const before = this.#sinceMs
    this.#sinceMs = new Map()
    /** @returns how long it has been so; undefined: it is not */
    const lasting = (name: string, isSo: boolean, atLeastMs: number): number | undefined => {
      if (!isSo) return undefined
      const sinceMs = Math.max(before.get(name) ?? nowMs, atLeastMs)
      this.#sinceMs.set(name, sinceMs)
      return nowMs - sinceMs
    }
    const hasLasted = (ms: number | undefined, least: number): ms is number => ms !== undefined && ms >= least
    return {
      isActiveFull: hasLasted(
        lasting('active', activeCount >= crowdedShare * activeCountMax, -Infinity),
        limitMs,
      ),
      transports: transports.filter(({ transport, delayedCount }) =>
        hasLasted(lasting(`transport ${transport}`, delayedCount > 0, -Infinity), limitMs),
      ),
      silent: destinations.flatMap((destination) => {
        const { transport, name, busy, todo, state } = destination
        const waits = state.kind === 'ready' && busy > 0 && todo > 0
        const key = `site ${transport} ${name}`
        const silentMs = lasting(key, waits, waits ? (endedAtMs(destination) ?? -Infinity) : -Infinity)
        return hasLasted(silentMs, silenceMs) ? [{ ...destination, silentMs }] : []
      }),
      syncMs: this.#slowSyncMs(journal, nowMs),
    }
  }

  #slowSyncMs({ syncCount, syncTotalMs }: Seen['journal'], nowMs: number): number | undefined {
    const syncs = this.#syncs
    const last = syncs.at(-1)
    // Another life of the queue counts anew.
    if (last !== undefined && syncCount < last.count) syncs.length = 0
    if (last === undefined || nowMs - last.atMs >= syncsEveryMs)
      syncs.push({ atMs: nowMs, count: syncCount, totalMs: syncTotalMs })
    while (syncs[0] !== undefined && nowMs - syncs[0].atMs > syncsOverMs) syncs.shift()
    const { count, totalMs } = syncs[0] ?? { count: syncCount, totalMs: syncTotalMs }
    const meanMs = syncCount - count < slowSyncsMin ? 0 : (syncTotalMs - totalMs) / (syncCount - count)
    return meanMs < slowSyncMs ? undefined : meanMs
  }
}
