/** Scales: quantities to places, and the quantities worth a grid line. Pure. */

export interface Scale {
  /** 0 at the least, 1 at the most. */
  readonly place: (value: number) => number
  readonly ticks: readonly number[]
}

const ticksWanted = 4

/** From zero to a round number that is not below `most`. */
export function linearScale(most: number): Scale {
  const step = roundStep(Math.max(most, Number.MIN_VALUE) / ticksWanted)
  const tickCount = Math.max(1, Math.ceil(most / step))
  const end = tickCount * step
  return {
    place: (value) => value / end,
    ticks: Array.from({ length: tickCount + 1 }, (_, i) => i * step),
  }
}

/** Powers of ten; both ends above zero. */
export function logScale(least: number, most: number): Scale {
  const from = Math.floor(Math.log10(least))
  const to = Math.max(from + 1, Math.ceil(Math.log10(most)))
  return {
    place: (value) => (Math.log10(value) - from) / (to - from),
    ticks: Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i)),
  }
}

/** 1, 2 or 5 times a power of ten, not below `step`. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step))
  return power * ([1, 2, 5].find((factor) => factor * power >= step * 0.999) ?? 10)
}

const groupsOfThree = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Three significant digits, thousands apart. */
export function shownNumber(value: number): string {
  if (Math.abs(value) >= 1000) return groupsOfThree.format(value).replaceAll(',', ' ')
  return String(Number(value.toPrecision(3)))
}
