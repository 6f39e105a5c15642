/** Spans of time as people write them: `1h5m20s`, `1s`, `250ms`.
 * Invariant: parseDuration(formatDuration(ms)) is ms, for every whole number from 0 to
 * durationMsMax. A span is a sum of numbers with units, in any order. A number without a unit is an
 * error, because `60` could mean seconds or minutes. */
import { assert } from '../base/assert.js'
import { asGiven } from '../base/options.js'
import { WaybillError } from '../errors.js'

/** A hundred years: sums of instants and spans stay exact integers. */
export const durationMsMax: number = 36_525 * 86_400_000

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
])

/** The span in milliseconds, or undefined when `text` is not one or exceeds durationMsMax. */
export function readDuration(text: string): number | undefined {
  const piece = /([0-9]{1,15})(ms|[dhms])/y
  let totalMs = 0
  while (piece.lastIndex < text.length) {
    const found = piece.exec(text)
    const unitMs = unitsMs.get(found?.[2] ?? '')
    if (found === null || unitMs === undefined) return undefined
    totalMs += Number(found[1]) * unitMs
    if (totalMs > durationMsMax) return undefined
  }
  return text === '' ? undefined : totalMs
}

/** @param option named in the error
 * @returns milliseconds, 0 … durationMsMax
 * @throws WaybillError OPTION_INVALID */
export function parseDuration(text: string, option = 'duration'): number {
  const durationMs = readDuration(text)
  if (durationMs !== undefined) return durationMs
  throw new WaybillError(
    'OPTION_INVALID',
    `not a duration: ${JSON.stringify(text.slice(0, 100))}; expected numbers with d, h, m, s or ms, like 1h5m20s`,
    { option },
  )
}

/** The shortest form with descending units: 3920000 → `1h5m20s`. @param durationMs a whole number,
 * 0 … durationMsMax */
export function formatDuration(durationMs: number): string {
  assert(
    Number.isInteger(durationMs) && durationMs >= 0 && durationMs <= durationMsMax,
    'a duration is a whole number of milliseconds in its range',
  )
  let text = ''
  let leftMs = durationMs
  for (const [unit, unitMs] of unitsMs) {
    const count = Math.floor(leftMs / unitMs)
    if (count > 0) text += `${count}${unit}`
    leftMs -= count * unitMs
  }
  return text === '' ? '0s' : text
}

/** @returns `durationMs`, if it is a whole number of milliseconds from `minMs` to durationMsMax
 * @throws WaybillError OPTION_INVALID */
export function checkDurationMs(durationMs: number, option: string, minMs: number): number {
  if (Number.isInteger(durationMs) && durationMs >= minMs && durationMs <= durationMsMax) return durationMs
  throw new WaybillError(
    'OPTION_INVALID',
    `${asGiven(durationMs)} is not a whole number of milliseconds from ${minMs} to ${durationMsMax}`,
    { option },
  )
}
