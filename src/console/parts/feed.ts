/** The live figures, and the rates of the last minutes and of the last day.
 * Invariant: what is shown as live is at most `silenceMs` old. When the relay goes away, the feed
 * says so and asks again until the relay is back. A page that nobody sees has no stream: a browser
 * keeps six connections to a relay for all its tabs, and the seventh would show nothing. */
import type { Figures, Rates } from '../facts/api.js'
import { kinds, noSeries, seriesOf, type Series } from '../facts/series.js'
import { ApiError, isAbort, type Client } from './client.js'

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly sinceMs: number; readonly why: string }

const secondsMax = 900
const syncsMax = 120
const silenceMs = 8000
const retryMsMin = 500
const retryMsMax = 5000
const dayPauseMs = 60_000

export class Feed {
  readonly #client: Client
  readonly #changed: () => void
  #run = new AbortController()
  connection: Connection = { kind: 'connecting' }
  latest: Figures | undefined
  minutes: Series = noSeries()
  day: Series = noSeries()
  /** Mean latency of a sync in each of the last seconds, milliseconds. */
  readonly syncs: (number | null)[] = []
  /** What the reader's clock shows minus the relay's, milliseconds. */
  #skewMs = 0

  constructor(client: Client, changed: () => void) {
    this.#client = client
    this.#changed = changed
  }

  /** The relay's clock. */
  get nowMs(): number {
    return Date.now() - this.#skewMs
  }

  start(): void {
    this.stop()
    this.#run = new AbortController()
    void this.#keep(this.#run.signal)
    void this.#keepDay(this.#run.signal)
  }

  stop(): void {
    this.#run.abort()
  }

  async #keep(stopped: AbortSignal): Promise<void> {
    for (let retryMs = retryMsMin; !stopped.aborted; retryMs = Math.min(2 * retryMs, retryMsMax)) {
      await seen(stopped)
      try {
        await this.#listen(stopped, () => (retryMs = retryMsMin))
      } catch (error) {
        if (stopped.aborted) return
        this.#lost(isAbort(error) ? 'it is silent' : error instanceof Error ? error.message : String(error))
        if (error instanceof ApiError && error.problem.status === 401) return
      }
      if (this.connection.kind === 'live') this.#lost('it has ended the connection')
      await pause(retryMs, stopped)
    }
  }

  async #listen(stopped: AbortSignal, onEvent: () => void): Promise<void> {
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(), silenceMs)
    const hidden = new AbortController()
    const look = (): void => {
      if (!isSeen()) hidden.abort()
    }
    document.addEventListener('visibilitychange', look)
    const signal = AbortSignal.any([stopped, silence.signal, hidden.signal])
    try {
      this.minutes = seriesOf(await this.#client.get<Rates>('/v1/rates?span=minutes', signal))
      for await (const { name, data } of this.#client.stream('/v1/queue/stream?destinations=100', signal)) {
        clearTimeout(timer)
        timer = setTimeout(() => silence.abort(), silenceMs)
        onEvent()
        if (name === 'figures') this.#take(JSON.parse(data) as Figures)
      }
    } catch (error) {
      if (!hidden.signal.aborted) throw error
      this.connection = { kind: 'connecting' }
      this.#changed()
    } finally {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }

  #take(figures: Figures): void {
    this.latest = figures
    this.#skewMs = Date.now() - figures.at
    this.connection = { kind: 'live' }
    this.syncs.push(figures.sync.perSecond === 0 ? null : figures.sync.meanMs)
    if (this.syncs.length > syncsMax) this.syncs.shift()
    const { times, rates } = this.minutes
    const second = Math.floor(figures.at / 1000)
    if (second > (times.at(-1) ?? 0)) {
      times.push(second)
      for (const kind of kinds) rates[kind].push(figures.rates[kind])
    }
    while (times.length > secondsMax) {
      times.shift()
      for (const kind of kinds) rates[kind].shift()
    }
    this.#changed()
  }

  #lost(why: string): void {
    if (this.connection.kind !== 'lost') this.connection = { kind: 'lost', sinceMs: Date.now(), why }
    this.#changed()
  }

  async #keepDay(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      await seen(stopped)
      const rates = await this.#client.get<Rates>('/v1/rates?span=day', stopped).catch(() => undefined)
      if (rates !== undefined) {
        this.day = seriesOf(rates)
        this.#changed()
      }
      // A relay that is not there is asked again soon; the live stream says that it is away.
      await pause(rates === undefined ? retryMsMax : dayPauseMs, stopped)
    }
  }
}

const isSeen = (): boolean => document.visibilityState === 'visible'

/** Settles when somebody sees the page. */
function seen(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isSeen() && !stopped.aborted) return
      document.removeEventListener('visibilitychange', look)
      stopped.removeEventListener('abort', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    stopped.addEventListener('abort', look)
    look()
  })
}

export function pause(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      stopped.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    stopped.addEventListener('abort', end)
    if (stopped.aborted) end()
  })
}
