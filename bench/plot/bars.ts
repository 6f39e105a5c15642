/** Panels of horizontal bars from zero, each with its own scale. Pure. */
import type { Spread } from '../output.js'
import { linearScale, shownNumber } from './scales.js'
import {
  bodyTopPx,
  drawing,
  line,
  marginPx,
  mutedColor,
  oursColor,
  rectangle,
  text,
  textColor,
  widthPx,
} from './svg.js'

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
const legendPx = 22
const panelWidthPx = (widthPx - 2 * marginPx - gapPx) / columns

const bareColor = '#8795a3'
const otherColor = '#e0a458'

/** The same name has the same colour in every plot; ours is the strong one. */
const colors: Readonly<Record<string, string>> = {
  engine: oursColor,
  waybill: oursColor,
  lanes: oursColor,
  rawlog: bareColor,
  bare: bareColor,
}

export function barPlot({ title, panels, source }: BarPlot): string {
  const heights = panels.map(({ bars }) => headPx + bars.length * rowPx + 18)
  const body = legend(panels.flatMap(({ bars }) => bars.map(({ name }) => name)))
  let top = bodyTopPx + legendPx
  for (let i = 0; i < panels.length; i += columns) {
    for (let column = 0; column < columns; column++) {
      const panel = panels[i + column]
      if (panel !== undefined) body.push(...panelAt(marginPx + column * (panelWidthPx + gapPx), top, panel))
    }
    top += Math.max(...heights.slice(i, i + columns))
  }
  return drawing(title, top - bodyTopPx, body, source)
}

/** The legend: colours, and the line through the end of a bar. */
function legend(names: readonly string[]): string[] {
  const isContest = names.includes('engine') || names.includes('waybill')
  const used = new Set(isContest ? names.map((name) => colors[name] ?? otherColor) : [])
  const drawn: string[] = []
  let x = marginPx
  for (const [color, meaning] of meanings) {
    if (!used.has(color)) continue
    drawn.push(rectangle(x, bodyTopPx - 6, 10, 10, color), text(x + 16, bodyTopPx + 3, meaning))
    x += 40 + meaning.length * 6.5
  }
  drawn.push(
    line(x, bodyTopPx - 1, x + 18, bodyTopPx - 1, textColor, 1),
    text(x + 24, bodyTopPx + 3, 'least to most'),
  )
  return drawn
}

const meanings: readonly (readonly [color: string, meaning: string])[] = [
  [oursColor, 'Waybill'],
  [bareColor, 'the bare log, the ceiling'],
  [otherColor, 'others'],
]

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
      line(from + place(value.least) * room, middle, from + place(value.most) * room, middle, textColor, 1),
      text(from + place(value.most) * room + 6, middle + 4, `${shownNumber(value.median)}${remarkText}`),
    )
  }
  drawn.push(line(from, top + headPx - 4, from, top + headPx + bars.length * rowPx - 4, mutedColor))
  return drawn
}
