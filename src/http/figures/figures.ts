/** The figures of a queue, for all clients that watch.
 * Invariant: counting goes on whether somebody watches or not, and costs one look at the queue a
 * second; all who watch at one interval share one snapshot and one text of it. */
import type { Clock, Timer } from '../../base/clock.js'
import type { QueueStatistics } from '../../admin/select/statistics.js'
import type { QueueEvents } from '../../engine/life/events.js'
import { RoomReading } from '../../engine/accept/room-reading.js'
import type { Queue } from '../../queue.js'
import { shownDestination, byImpact, type ShownDestination } from './destinations.js'
import { Feed } from './feed.js'
import { problemsOf, type Problem, type RelayFacts, type Warned } from './problems.js'
import { RateHistory, type RateSeries } from './rate-history.js'
import { RateFile } from './rate-file.js'
import { shownLane, type ShownFigures } from './shown-figures.js'
import { noStrain, StrainWatch, type Strain } from './strain-watch.js'
import { countsBetween, noCounts, Traffic, type Counts } from './traffic.js'

export type WatchedQueue = Pick<Queue, 'stats' | 'room' | 'isCrashed' | 'on' | 'off' | 'destinations'>

export interface FiguresOptions {
  readonly clock: Clock
  readonly version: string
  readonly hostname: string
  readonly facts?: () => RelayFacts
  /** Where the counts of the day are kept. Default: nowhere. */
  readonly rateFile?: string
  /** The file cannot be read or written. */
  readonly onError?: (error: unknown) => void
}

const tickMs = 1000
const roomEveryMs = 5000
const fileEveryMs = 60_000
const warningCountMax = 20

/** What the last second came to. */
interface Second {
  readonly rates: Counts
  readonly syncPerSecond: number
  readonly syncMeanMs: number
}

interface Counted {
  readonly counts: Counts
  readonly syncCount: number
  readonly syncTotalMs: number
  readonly monotonicMs: number
  readonly wallMs: number
}

export class Figures {
  readonly #queue: WatchedQueue
  readonly #options: FiguresOptions
  readonly #clock: Clock
  readonly #traffic: Traffic
  readonly #history = new RateHistory()
  readonly #file: RateFile | undefined
  readonly #startedAt: number
  readonly #warnings: Warned[] = []
  readonly #strainWatch = new StrainWatch()
  #strain: Strain = noStrain
  readonly #feeds = new Map<string, Feed>()
  #before: Counted
  #second: Second = { rates: noCounts, syncPerSecond: 0, syncMeanMs: 0 }
  readonly #room: RoomReading
  #roomAtMs = -Infinity
  #fileAtMs: number
  #timer: Timer | undefined

  /** Counts from here on: made in the turn in which the queue was opened, it misses nothing. */
  constructor(queue: WatchedQueue, options: FiguresOptions) {
    this.#queue = queue
    this.#room = new RoomReading(queue)
    this.#options = options
    const { clock, rateFile, onError = (): void => undefined } = options
    this.#clock = clock
    this.#traffic = new Traffic(queue, clock)
    this.#file = rateFile === undefined ? undefined : new RateFile(rateFile, this.#history, onError)
    this.#startedAt = clock.wallMs()
    this.#fileAtMs = clock.monotonicMs()
    this.#before = this.#now(queue.stats({ destinations: 'none' }))
    queue.on('warning', this.#onWarning)
    this.#wait()
  }

  /** What earlier processes have counted. */
  async begin(): Promise<void> {
    await this.#file?.read(this.#clock.wallMs())
  }

  /** Counts no more, and writes the day down. */
  async end(): Promise<void> {
    this.#timer?.cancel()
    for (const feed of this.#feeds.values()) feed.end()
    this.#traffic.end()
    this.#queue.off('warning', this.#onWarning)
    if (!this.#queue.isCrashed) this.#count(this.#queue.stats({ destinations: 'none' }))
    await this.#file?.write(this.#clock.wallMs())
  }

  rates(span: 'minutes' | 'day'): RateSeries {
    return this.#history.series(span, this.#clock.wallMs())
  }

  /** The first of them by impact. */
  destinations(countMax: number): { readonly count: number; readonly destinations: ShownDestination[] } {
    const all = this.#queue.destinations()
    const first = [...all].sort(byImpact).slice(0, countMax)
    return {
      count: all.length,
      destinations: first.map((one) => shownDestination(one, this.#traffic.of(one))),
    }
  }

  /** @param destinationMax of them; undefined: without */
  snapshot(destinationMax?: number): ShownFigures {
    const statistics = this.#queue.stats()
    const { journal, destinations } = statistics
    const wallMs = this.#clock.wallMs()
    const countOf = (kind: string): number => destinations.filter(({ state }) => state.kind === kind).length
    return {
      at: wallMs,
      version: this.#options.version,
      hostname: this.#options.hostname,
      startedAt: this.#startedAt,
      recovering: statistics.recovering,
      rates: this.#second.rates,
      totals: this.#traffic.counts,
      active: { count: statistics.activeCount, max: statistics.activeCountMax },
      damagedCount: statistics.damagedCount,
      sync: {
        count: journal.syncCount,
        perSecond: this.#second.syncPerSecond,
        meanMs: this.#second.syncMeanMs,
        lastMs: journal.syncLastMs,
        underWayMs: journal.syncUnderWayMs,
      },
      deliveries: statistics.deliveries,
      journal,
      lanes: statistics.lanes.map(shownLane),
      room: this.#room.last ?? null,
      destinationCount: destinations.length,
      deadCount: countOf('dead'),
      suspendedCount: countOf('suspended'),
      problems: this.problems(statistics),
      ...(destinationMax === undefined
        ? undefined
        : { destinations: this.destinations(destinationMax).destinations }),
    }
  }

  /** What is wrong with the queue, the worst first. */
  problems(statistics: QueueStatistics = this.#queue.stats()): Problem[] {
    return problemsOf({
      statistics,
      strain: this.#strain,
      room: this.#room.last,
      facts: this.#options.facts?.() ?? {},
      warnings: this.#warnings,
      wallMs: this.#clock.wallMs(),
    })
  }

  /** A snapshot as a text, at once and at each interval. @returns ends it */
  watch(intervalMs: number, destinationMax: number | undefined, tell: (text: string) => void): () => void {
    const key = `${intervalMs} ${destinationMax}`
    let feed = this.#feeds.get(key)
    if (feed === undefined) {
      feed = new Feed(this.#clock, intervalMs, () => JSON.stringify(this.snapshot(destinationMax)))
      this.#feeds.set(key, feed)
    }
    const own = feed
    own.add(tell)
    return () => {
      if (own.remove(tell) === 0) this.#feeds.delete(key)
    }
  }

  readonly #onWarning = ({ code, message }: QueueEvents['warning'][0]): void => {
    this.#warnings.push({ code, message, at: this.#clock.wallMs() })
    if (this.#warnings.length <= warningCountMax) return
    // What is true for the whole life stays.
    const oldest = this.#warnings.findIndex((warned) => warned.code !== 'FILE_SYSTEM')
    this.#warnings.splice(Math.max(0, oldest), 1)
  }

  #wait(): void {
    this.#timer = this.#clock.after(tickMs, () => {
      if (this.#queue.isCrashed) return
      // A relay counts always, and may have a hundred thousand destinations.
      const statistics = this.#queue.stats({ destinations: 'busy' })
      this.#count(statistics)
      this.#lookAtStrain(statistics)
      this.#seldom()
      this.#wait()
    })
  }

  #now({ journal: { syncCount, syncTotalMs } }: QueueStatistics): Counted {
    const counts = this.#traffic.counts
    return {
      counts,
      syncCount,
      syncTotalMs,
      monotonicMs: this.#clock.monotonicMs(),
      wallMs: this.#clock.wallMs(),
    }
  }

  #count(statistics: QueueStatistics): void {
    const before = this.#before
    const now = this.#now(statistics)
    this.#before = now
    const { accepted, delivered, deferred, failed } = countsBetween(before.counts, now.counts)
    this.#history.add({ accepted, delivered, deferred, failed }, before.wallMs, now.wallMs)
    const elapsed = Math.max(1, now.monotonicMs - before.monotonicMs) / 1000
    const syncs = now.syncCount - before.syncCount
    this.#second = {
      rates: {
        accepted: accepted / elapsed,
        delivered: delivered / elapsed,
        deferred: deferred / elapsed,
        failed: failed / elapsed,
      },
      syncPerSecond: syncs / elapsed,
      syncMeanMs: syncs === 0 ? 0 : (now.syncTotalMs - before.syncTotalMs) / syncs,
    }
  }

  #lookAtStrain(statistics: QueueStatistics): void {
    const ended = (one: { transport: string; nexthop: string }): number | undefined =>
      this.#traffic.endedAtMs(one)
    this.#strain = this.#strainWatch.look(statistics, this.#clock.monotonicMs(), ended)
  }

  /** The file of the day, and the room of the disk, now and then: nobody waits for either. */
  #seldom(): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#fileAtMs >= fileEveryMs) {
      this.#fileAtMs = nowMs
      void this.#file?.write(this.#clock.wallMs())
    }
    if (nowMs - this.#roomAtMs >= roomEveryMs && this.#room.ask()) this.#roomAtMs = nowMs
  }
}
