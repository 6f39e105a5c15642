/** Panels of horizontal bars from zero, each with its own scale: who is how fast, group by group. Pure. */
import type { Spread } from '../output.js'
import { linearScale, shownNumber } from './scales.js'
import { bodyTopPx, drawing, line, marginPx, mutedColor, rectangle, text, widthPx } from './svg.js'

export interface Bar {
  readonly name: string
  readonly value: Spread
  /** Stands behind the value. */
  readonly remark?: string
}

export interface BarPanel {
  readonly title: string
  readonly bars: readonly Bar[]
}

export interface BarPlot {
  readonly title: string
  readonly panels: readonly BarPanel[]
  readonly source: readonly string[]
}

const columns = 2
const gapPx = 36
const namePx = 72
const valuePx = 118
const rowPx = 22
const barPx = 14
const headPx = 26
const panelWidthPx = (widthPx - 2 * marginPx - gapPx) / columns

/** The same name has the same colour in every plot; ours is the strong one. */
const colors: Readonly<Record<string, string>> = {
  engine: '#0b62c4',
  waybill: '#0b62c4',
  lanes: '#0b62c4',
  rawlog: '#8795a3',
  bare: '#8795a3',
}
const otherColor = '#e0a458'

export function barPlot({ title, panels, source }: BarPlot): string {
  const heights = panels.map(({ bars }) => headPx + bars.length * rowPx + 18)
  const body: string[] = []
  let top = bodyTopPx
  for (let i = 0; i < panels.length; i += columns) {
    for (let column = 0; column < columns; column++) {
      const panel = panels[i + column]
      if (panel !== undefined) body.push(...panelAt(marginPx + column * (panelWidthPx + gapPx), top, panel))
    }
    top += Math.max(...heights.slice(i, i + columns))
  }
  return drawing(title, top - bodyTopPx, body, source)
}

function panelAt(left: number, top: number, { title, bars }: BarPanel): string[] {
  const { place } = linearScale(Math.max(...bars.map(({ value }) => value.most)))
  const from = left + namePx
  const room = panelWidthPx - namePx - valuePx
  const drawn = [text(left, top + 14, title, { bold: true, sizePx: 13 })]
  for (const [i, { name, value, remark }] of bars.entries()) {
    const y = top + headPx + i * rowPx
    const middle = y + barPx / 2
    const remarkText = remark === undefined ? '' : `  ${remark}`
    drawn.push(
      text(from - 8, middle + 4, name, { anchor: 'end' }),
      rectangle(from, y, Math.max(1, place(value.median) * room), barPx, colors[name] ?? otherColor),
      line(from + place(value.least) * room, middle, from + place(value.most) * room, middle, '#1f2933', 1),
      text(from + place(value.most) * room + 6, middle + 4, `${shownNumber(value.median)}${remarkText}`),
    )
  }
  drawn.push(line(from, top + headPx - 4, from, top + headPx + bars.length * rowPx - 4, mutedColor))
  return drawn
}
