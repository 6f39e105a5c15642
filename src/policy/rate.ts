/** Rates as people write them: `10/second`, `600/minute`. Pure. */

export interface Rate {
  /** Deliveries, each a message to one nexthop; ≥ 1. */
  readonly count: number
  /** Milliseconds; ≥ 1. */
  readonly perMs: number
}

const unitsMs: Readonly<Record<string, number>> = {
  s: 1000,
  sec: 1000,
  second: 1000,
  min: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
}

/** Of a rate. */
export const rateCountMax = 1_000_000_000
/** The longest time of a rate, and of a site that is slowed: a year. */
export const rateMsMax: number = 365 * 86_400_000

/** @returns undefined for a text that is no rate */
export function readRate(text: string): Rate | undefined {
  const [, digits = '', unit = ''] = /^(\d{1,10})\/([a-z]+)$/.exec(text) ?? []
  const count = Number(digits)
  const perMs = Object.hasOwn(unitsMs, unit) ? unitsMs[unit] : undefined
  return perMs === undefined || count < 1 || count > rateCountMax ? undefined : { count, perMs }
}

/** Rates that are read. */
export const rateExamples: string = '10/second, 600/minute, 5000/hour, 20000/day'
