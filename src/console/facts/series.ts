/** The rates that a chart draws, as series. Pure.
 * Invariant: a time in which the relay did not run is a gap, not a zero. */
import type { Kind, Rates } from './api.js'

export const kinds: readonly Kind[] = ['accepted', 'delivered', 'deferred', 'failed']

/** Seconds since 1970, and events a second of each kind; null where the relay did not run. */
export interface Series {
  readonly times: number[]
  readonly rates: Readonly<Record<Kind, (number | null)[]>>
}

export const noSeries = (): Series => ({
  times: [],
  rates: { accepted: [], delivered: [], deferred: [], failed: [] },
})

/** Means over so many seconds each: what a reader sees at a glance; the last, incomplete
 * one is left out. */
export function thinned({ times, rates }: Series, seconds: number): Series {
  const means = noSeries()
  for (let from = 0; from < times.length;) {
    const start = Math.floor(times[from]! / seconds) * seconds
    let end = from
    while (end < times.length && times[end]! < start + seconds) end++
    if (end === times.length && times[end - 1]! < start + seconds - 1) break
    means.times.push(start)
    for (const kind of kinds) means.rates[kind].push(mean(rates[kind].slice(from, end)))
    from = end
  }
  return means
}

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}

export function seriesOf({ fromAt, stepMs, ...counts }: Rates): Series {
  const perSecond = (count: number | null): number | null => (count === null ? null : (count * 1000) / stepMs)
  return {
    times: counts.accepted.map((_, i) => Math.floor((fromAt + i * stepMs) / 1000)),
    rates: {
      accepted: counts.accepted.map(perSecond),
      delivered: counts.delivered.map(perSecond),
      deferred: counts.deferred.map(perSecond),
      failed: counts.failed.map(perSecond),
    },
  }
}

/** Without the time before the relay ran, but never shorter than `countMin`. */
export function sinceFirst({ times, rates }: Series, countMin: number): Series {
  const first = times.findIndex((_, i) => kinds.some((kind) => rates[kind][i] !== null))
  const from = Math.max(0, Math.min(first, times.length - countMin))
  return {
    times: times.slice(from),
    rates: {
      accepted: rates.accepted.slice(from),
      delivered: rates.delivered.slice(from),
      deferred: rates.deferred.slice(from),
      failed: rates.failed.slice(from),
    },
  }
}
