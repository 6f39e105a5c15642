/** Panels of lines over one quantity. Pure. */
import { linearScale, logScale, shownNumber } from './scales.js'
import {
  bodyTopPx,
  circle,
  drawing,
  gridColor,
  line,
  marginPx,
  mutedColor,
  oursColor,
  path,
  text,
  widthPx,
} from './svg.js'

export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface LinePanel {
  readonly title: string
  readonly lines: readonly Line[]
}

export interface LinePlot {
  readonly title: string
  readonly xTitle: string
  /** Powers of ten, or from zero on. */
  readonly xKind: 'logarithmic' | 'linear'
  readonly panels: readonly LinePanel[]
  readonly source: readonly string[]
}

const columns = 2
const gapPx = 40
const axisPx = 58
const plotHeightPx = 130
const headPx = 44
const footPx = 42
/** The last label of an x axis stands in the middle below its tick: `10 000 000`. */
const labelEndPx = 20
const panelWidthPx = (widthPx - 2 * marginPx - gapPx) / columns
const colors = [oursColor, '#d9822b', '#2b9a66', '#a05bb5']

export function linePlot(plot: LinePlot): string {
  const { title, panels, source } = plot
  const rowHeightPx = headPx + plotHeightPx + footPx
  const body = panels.flatMap((panel, i) =>
    panelAt(
      marginPx + (i % columns) * (panelWidthPx + gapPx),
      bodyTopPx + Math.floor(i / columns) * rowHeightPx,
      panel,
      plot,
    ),
  )
  return drawing(title, Math.ceil(panels.length / columns) * rowHeightPx, body, source)
}

function panelAt(left: number, top: number, { title, lines }: LinePanel, plot: LinePlot): string[] {
  const xs = lines.flatMap(({ points }) => points.map(([x]) => x))
  const ys = lines.flatMap(({ points }) => points.map(([, y]) => y))
  const xScale =
    plot.xKind === 'linear' ? linearScale(Math.max(...xs)) : logScale(Math.min(...xs), Math.max(...xs))
  const yScale = linearScale(Math.max(...ys))
  const room = panelWidthPx - axisPx - labelEndPx
  const bottom = top + headPx + plotHeightPx
  const xOf = (x: number): number => left + axisPx + xScale.place(x) * room
  const yOf = (y: number): number => bottom - yScale.place(y) * plotHeightPx
  const drawn = [text(left, top + 14, title, { bold: true, sizePx: 13 })]
  for (const tick of yScale.ticks)
    drawn.push(
      line(left + axisPx, yOf(tick), left + axisPx + room, yOf(tick), gridColor),
      text(left + axisPx - 6, yOf(tick) + 4, shownNumber(tick), {
        anchor: 'end',
        color: mutedColor,
        sizePx: 11,
      }),
    )
  for (const tick of xScale.ticks)
    drawn.push(
      text(xOf(tick), bottom + 16, shownNumber(tick), { anchor: 'middle', color: mutedColor, sizePx: 11 }),
    )
  drawn.push(
    text(left + axisPx + room / 2, bottom + 32, plot.xTitle, {
      anchor: 'middle',
      color: mutedColor,
      sizePx: 11,
    }),
  )
  let legendX = left
  for (const [i, { name, points }] of lines.entries()) {
    const color = colors[i % colors.length]!
    const places = points.map(([x, y]) => [xOf(x), yOf(y)] as const)
    drawn.push(path(places, color))
    if (points.length <= 20) for (const [x, y] of places) drawn.push(circle(x, y, 3, color))
    if (lines.length > 1) {
      drawn.push(circle(legendX + 4, top + 28, 4, color), text(legendX + 12, top + 32, name))
      legendX += 24 + name.length * 7
    }
  }
  return drawn
}
