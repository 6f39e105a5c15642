/** A picture of the logs as SVG: a row for each, a box for each segment, as wide as its file is long, coloured by who needs it. Pure.
 * Positions that matter stand above the row; what is garbage between live segments is there to be seen. */
import type { LogStatistics, SegmentState } from './log-statistics.js'

export interface MapMark {
  /** `runner`, `suffix`, `end`. */
  readonly name: string
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
const markColours: Readonly<Record<string, string>> = { suffix: '#8a2be2', runner: '#1d4ed8', end: '#b91c1c' }

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
    ...rows.map((row, i) => rowSvg(row, top + i * rowHeight, scale, bytesText)),
    '</svg>',
  ]
  return `${parts.join('\n')}\n`
}

function legend(): string {
  let x = 20
  const items: string[] = []
  for (const [state, colour] of [...Object.entries(colours), ['spare', '#e8eef7'] as const]) {
    items.push(
      `<rect x="${x}" y="40" width="14" height="14" fill="${colour}" stroke="#555"/><text x="${x + 20}" y="52">${state}</text>`,
    )
    x += 44 + state.length * 8
  }
  for (const [name, colour] of Object.entries(markColours)) {
    items.push(
      `<path d="M${x + 7} 54 l-5 -10 h10 z" fill="${colour}"/><text x="${x + 20}" y="52">${name}</text>`,
    )
    x += 44 + name.length * 8
  }
  return items.join('')
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
  let x = left
  const starts = new Map<number, number>()
  for (const { index, fileBytes, contentBytes, state, pinnedBy } of log.segments) {
    const boxWidth = fileBytes * scale
    starts.set(index, x)
    const pinners = pinnedBy.length > 0 ? `, held by ${pinnedBy.join(' ')}` : ''
    const tip = `segment ${index}: ${state}, ${bytesText(contentBytes)} of ${bytesText(fileBytes)}${pinners}`
    parts.push(
      `<g><title>${escaped(tip)}</title>` +
        `<rect x="${num(x)}" y="${barY}" width="${num(boxWidth)}" height="${barHeight}" fill="#ffffff" stroke="#555" stroke-width="0.5"/>` +
        `<rect x="${num(x)}" y="${barY}" width="${num(contentBytes * scale)}" height="${barHeight}" fill="${colours[state]}"/></g>`,
    )
    if (boxWidth > 26)
      parts.push(
        `<text x="${num(x + 3)}" y="${barY + barHeight - 4}" font-size="9" fill="${state === 'live' ? '#ffffff' : '#333'}">${index}</text>`,
      )
    x += boxWidth
  }
  if (log.spareCount > 0)
    parts.push(
      `<g><title>${log.spareCount} spare segments, ${bytesText(log.spareBytes)}</title><rect x="${num(x)}" y="${barY}" width="${num(log.spareBytes * scale)}" height="${barHeight}" fill="#e8eef7" stroke="#555" stroke-width="0.5" stroke-dasharray="3 2"/></g>`,
    )
  if (log.segments.length === 0 && log.spareCount === 0)
    parts.push(`<text x="${left}" y="${barY + 17}" fill="#888">no segments</text>`)
  for (const { name, position } of marks) {
    const at = placeOf(position, segmentBytes, starts, scale)
    if (at === undefined) continue
    parts.push(
      `<g><title>${name} at ${position}</title><path d="M${num(at)} ${barY} l-5 -10 h10 z M${num(at)} ${barY} v${barHeight}" fill="${markColours[name] ?? '#000'}" stroke="${markColours[name] ?? '#000'}" stroke-width="1"/></g>`,
    )
  }
  return parts.join('\n')
}

/** Where a position is drawn; undefined when its segment is not there. An end on a border belongs to the segment before it. */
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
