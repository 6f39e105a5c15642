/** A picture of the logs as SVG: a row for each log, a box for each segment. Pure.
 * A box is as wide as its file is long; its colour says why the segment is needed. Important
 * positions stand above and below the row, so that equal ones are both visible. */
import type { LogStatistics, SegmentState } from './log-statistics.js'

export type MarkName = 'suffix' | 'runner' | 'floor' | 'end'

export interface MapMark {
  readonly name: MarkName
  readonly position: number
}

export interface MapRow {
  readonly log: LogStatistics
  /** Beside the row: `lane 2, 5m`. */
  readonly title: string
  readonly segmentBytes: number
  readonly marks: readonly MapMark[]
}

const width = 1200
const left = 190
const right = 30
const rowHeight = 64
const barHeight = 26
const top = 74

const colours: Readonly<Record<SegmentState, string>> = {
  live: '#2f7d4f',
  pinned: '#e08e0b',
  garbage: '#b9b3a7',
  unused: '#ffffff',
}
/** The part of a live segment before the floor: it is released with the segment. */
const passedColour = '#94c0a4'
const spareColour = '#e8eef7'
const markStyles: Readonly<Record<MarkName, { readonly colour: string; readonly side: 'above' | 'below' }>> =
  {
    suffix: { colour: '#8a2be2', side: 'above' },
    end: { colour: '#b91c1c', side: 'above' },
    runner: { colour: '#1d4ed8', side: 'below' },
    floor: { colour: '#0e7490', side: 'below' },
  }

/** @param bytesText formats an amount, `1.5 MiB` */
export function segmentMap(
  rows: readonly MapRow[],
  title: string,
  bytesText: (bytes: number) => string,
): string {
  const widest = Math.max(1, ...rows.map(({ log }) => log.fileBytes + log.spareBytes))
  const scale = (width - left - right) / widest
  const height = top + rows.length * rowHeight + 20
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#faf9f6"/>`,
    `<text x="20" y="26" font-size="17" font-weight="bold">${escaped(title)}</text>`,
    legend(),
    ruler(scale, bytesText),
    ...rows.map((row, i) => rowSvg(row, top + i * rowHeight, scale, bytesText)),
    '</svg>',
  ]
  return `${parts.join('\n')}\n`
}

function legend(): string {
  let x = 20
  const items: string[] = []
  for (const [state, colour] of [
    ...Object.entries(colours),
    ['passed', passedColour] as const,
    ['spare', spareColour] as const,
  ]) {
    items.push(
      `<rect x="${x}" y="40" width="14" height="14" fill="${colour}" stroke="#555"/><text x="${x + 20}" y="52">${state}</text>`,
    )
    x += 44 + state.length * 8
  }
  for (const [name, { colour }] of Object.entries(markStyles)) {
    items.push(
      `<path d="${triangle(x + 7, 'above', 54)}" fill="${colour}"/><text x="${x + 20}" y="52">${name}</text>`,
    )
    x += 44 + name.length * 8
  }
  return items.join('')
}

/** The scale: the largest power of two that is at most a tenth of the picture. */
function ruler(scale: number, bytesText: (bytes: number) => string): string {
  const bytes = 2 ** Math.floor(Math.log2(width / 10 / scale))
  const x = width - right
  return `<path d="M${num(x - bytes * scale)} 42 v10 M${num(x - bytes * scale)} 47 H${x} M${x} 42 v10" stroke="#555" fill="none"/><text x="${num(x - bytes * scale - 8)}" y="52" text-anchor="end" fill="#555">${bytesText(bytes)}</text>`
}

function rowSvg(
  { log, title, segmentBytes, marks }: MapRow,
  y: number,
  scale: number,
  bytesText: (bytes: number) => string,
): string {
  const parts = [
    `<text x="20" y="${y + 30}" font-weight="bold">${escaped(log.name)}</text>`,
    `<text x="20" y="${y + 45}" fill="#555">${escaped(title)}</text>`,
  ]
  const barY = y + 18
  const bar = (x: number, barWidth: number, style: string): string =>
    `<rect x="${num(x)}" y="${barY}" width="${num(barWidth)}" height="${barHeight}" ${style}/>`
  let x = left
  const starts = new Map<number, number>()
  for (const { index, fileBytes, contentBytes, state, pinnedBy } of log.segments) {
    const boxWidth = fileBytes * scale
    starts.set(index, x)
    const pinners = pinnedBy.length > 0 ? `, held by ${pinnedBy.join(' ')}` : ''
    const tip = `segment ${index}: ${state}, ${bytesText(contentBytes)} of ${bytesText(fileBytes)}${pinners}`
    const passedBytes =
      state === 'live' ? Math.min(contentBytes, Math.max(0, log.floor - index * segmentBytes)) : 0
    parts.push(
      `<g><title>${escaped(tip)}</title>${bar(x, boxWidth, 'fill="#ffffff"')}`,
      ...(contentBytes > 0 ? [bar(x, contentBytes * scale, `fill="${colours[state]}"`)] : []),
      ...(passedBytes > 0 ? [bar(x, passedBytes * scale, `fill="${passedColour}"`)] : []),
      `${bar(x, boxWidth, 'fill="none" stroke="#333" stroke-width="0.5"')}</g>`,
    )
    if (boxWidth > 26)
      parts.push(
        `<text x="${num(x + 4)}" y="${barY + barHeight - 4}" font-size="9" fill="#111" stroke="#ffffff" stroke-width="2" paint-order="stroke">${index}</text>`,
      )
    x += boxWidth
  }
  if (log.spareCount > 0) {
    const style = `fill="${spareColour}" stroke="#555" stroke-width="0.5" stroke-dasharray="3 2"`
    const tip = `${log.spareCount} spare segments, ${bytesText(log.spareBytes)}`
    parts.push(`<g><title>${tip}</title>${bar(x, log.spareBytes * scale, style)}</g>`)
  }
  if (log.segments.length === 0 && log.spareCount === 0)
    parts.push(`<text x="${left}" y="${barY + 17}" fill="#888">no segments</text>`)
  for (const { name, position } of marks) {
    const at = placeOf(position, segmentBytes, starts, scale)
    if (at === undefined) continue
    const { colour, side } = markStyles[name]
    const tip = side === 'above' ? barY : barY + barHeight
    parts.push(
      `<g><title>${name} at ${position}</title><path d="${triangle(at, side, tip)} M${num(at)} ${barY} v${barHeight}" fill="${colour}" stroke="${colour}" stroke-width="1"/></g>`,
    )
  }
  return parts.join('\n')
}

/** @param tipY of its tip */
const triangle = (x: number, side: 'above' | 'below', tipY: number): string =>
  `M${num(x)} ${tipY} l-5 ${side === 'above' ? -10 : 10} h10 z`

/** The x of a position; undefined if its segment is missing. An end on a border belongs to the
 * segment before it. */
function placeOf(
  at: number,
  segmentBytes: number,
  starts: ReadonlyMap<number, number>,
  scale: number,
): number | undefined {
  const index = Math.floor(at / segmentBytes)
  const start = starts.get(index)
  if (start !== undefined) return start + (at % segmentBytes) * scale
  const before = starts.get(index - 1)
  return before === undefined || at % segmentBytes > 4096 ? undefined : before + segmentBytes * scale
}

const num = (value: number): string => String(Math.round(value * 100) / 100)
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
