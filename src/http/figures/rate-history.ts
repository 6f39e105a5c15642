/** Counts of the last quarter of an hour by the second, and of the last day by the minute. Pure.
 * Invariant: a step that nobody counted is not zero but unknown: `null`. Minutes can be written
 * down and read by the next process; a minute in which one ended is counted by both. */
import { countNames, noCounts, type Counts } from './traffic.js'

export const secondCount = 900
export const minuteCount = 1440
const secondMs = 1000
const minuteMs = 60_000
/** A timer that comes late leaves no more steps without a count; more is a machine that slept. */
const lateStepsMax = 10

/** Counts per step, oldest first. */
export interface RateSeries {
  /** Of the first step, milliseconds since 1970. */
  readonly fromAt: number
  readonly stepMs: number
  readonly accepted: readonly (number | null)[]
  readonly delivered: readonly (number | null)[]
  readonly deferred: readonly (number | null)[]
  readonly failed: readonly (number | null)[]
}

/** Steps of one length, the newest of which is still counted. */
class Steps {
  readonly #stepMs: number
  readonly #count: number
  readonly #steps = new Map<number, Counts>()

  constructor(stepMs: number, count: number) {
    this.#stepMs = stepMs
    this.#count = count
  }

  add(counts: Counts, sinceMs: number, wallMs: number): void {
    const step = Math.floor(wallMs / this.#stepMs)
    const first = Math.max(Math.floor(sinceMs / this.#stepMs) + 1, step - lateStepsMax)
    for (let passed = first; passed < step; passed++) if (!this.#steps.has(passed)) this.put(passed, noCounts)
    this.put(step, sumOf(this.#steps.get(step) ?? noCounts, counts))
  }

  put(step: number, counts: Counts): void {
    this.#steps.set(step, counts)
    if (this.#steps.size <= this.#count) return
    for (const known of this.#steps.keys()) if (known <= step - this.#count) this.#steps.delete(known)
    // The clock was set back: what it says now counts.
    if (this.#steps.size > this.#count)
      for (const known of this.#steps.keys()) if (known > step) this.#steps.delete(known)
  }

  series(wallMs: number): RateSeries {
    const last = Math.floor(wallMs / this.#stepMs)
    const first = last - this.#count + 1
    const column = (name: keyof Counts): (number | null)[] =>
      Array.from({ length: this.#count }, (_, i) => this.#steps.get(first + i)?.[name] ?? null)
    return {
      fromAt: first * this.#stepMs,
      stepMs: this.#stepMs,
      accepted: column('accepted'),
      delivered: column('delivered'),
      deferred: column('deferred'),
      failed: column('failed'),
    }
  }
}

const sumOf = (a: Counts, b: Counts): Counts => ({
  accepted: a.accepted + b.accepted,
  delivered: a.delivered + b.delivered,
  deferred: a.deferred + b.deferred,
  failed: a.failed + b.failed,
})

export class RateHistory {
  readonly #seconds = new Steps(secondMs, secondCount)
  readonly #minutes = new Steps(minuteMs, minuteCount)

  /** What was counted since then until now. */
  add(counts: Counts, sinceMs: number, wallMs: number): void {
    this.#seconds.add(counts, sinceMs, wallMs)
    this.#minutes.add(counts, sinceMs, wallMs)
  }

  series(span: 'minutes' | 'day', wallMs: number): RateSeries {
    return (span === 'minutes' ? this.#seconds : this.#minutes).series(wallMs)
  }

  /** The minutes, for a file. */
  text(wallMs: number): string {
    return `${JSON.stringify({ waybill: 'rates', version: 1, ...this.series('day', wallMs) })}\n`
  }

  /** Takes the minutes of an earlier process from its text.
   * @returns false when the text is invalid: then the day begins now */
  take(text: string, wallMs: number): boolean {
    const series = seriesIn(text)
    if (series === undefined) return false
    const first = series.fromAt / minuteMs
    const from = Math.floor(wallMs / minuteMs) - minuteCount
    for (let i = 0; i < minuteCount; i++) {
      const counts = countsAt(series, i)
      if (counts === undefined || first + i <= from || (first + i) * minuteMs > wallMs) continue
      this.#minutes.put(first + i, counts)
    }
    return true
  }
}

function countsAt(series: RateSeries, at: number): Counts | undefined {
  const [accepted, delivered, deferred, failed] = countNames.map((name) => series[name][at])
  if (!isCount(accepted) || !isCount(delivered) || !isCount(deferred) || !isCount(failed)) return undefined
  return { accepted, delivered, deferred, failed }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function seriesIn(text: string): RateSeries | undefined {
  let value: Partial<RateSeries & { waybill: unknown; version: unknown }>
  try {
    value = (JSON.parse(text) ?? {}) as typeof value
  } catch {
    // Cut off by a crash, or none of ours.
    return undefined
  }
  const isOurs = value.waybill === 'rates' && value.version === 1 && value.stepMs === minuteMs
  const isWhole = countNames.every((name) => Array.isArray(value[name]))
  return isOurs && isWhole && isCount(value.fromAt) && value.fromAt % minuteMs === 0
    ? (value as RateSeries)
    : undefined
}
