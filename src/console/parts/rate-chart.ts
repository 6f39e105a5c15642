/** A chart of the four rates, drawn by uPlot.
 * Invariant: the lines differ in dashes as well as in colour, and all that the chart shows is read
 * out in its label. Colours are those of the page, asked again when the reader's scheme changes. */
import uPlot from '/vendor/uplot/uPlot.esm.js'
import type { Kind } from '../facts/api.js'
import { axisDigits, rateDigits } from '../facts/format.js'
import { kinds, type Series } from '../facts/series.js'

/** As in the legend, which is drawn by the page. */
export const dashes: Readonly<Record<Kind, readonly number[]>> = {
  accepted: [],
  delivered: [],
  deferred: [6, 3],
  failed: [2, 2],
}

const heightPx = 220
const two = (value: number): string => String(value).padStart(2, '0')
const clock = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  const rest = seconds % 60 === 0 ? '' : `:${two(date.getSeconds())}`
  return `${two(date.getHours())}:${two(date.getMinutes())}${rest}`
}

class RateChart extends HTMLElement {
  #plot: uPlot | undefined
  #series: Series | undefined
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)')
  readonly #resized = new ResizeObserver(() => this.#fit())
  readonly #renew = (): void => {
    this.#plot?.destroy()
    this.#plot = undefined
    this.#draw()
  }

  connectedCallback(): void {
    this.setAttribute('role', 'img')
    this.#resized.observe(this)
    this.#scheme.addEventListener('change', this.#renew)
    this.#draw()
  }

  disconnectedCallback(): void {
    this.#resized.disconnect()
    this.#scheme.removeEventListener('change', this.#renew)
    this.#plot?.destroy()
    this.#plot = undefined
  }

  /** Drawn again at each assignment: the arrays are the same ones, with more in them. */
  set series(series: Series) {
    this.#series = series
    this.#draw()
  }

  #draw(): void {
    if (this.#series === undefined || !this.isConnected || this.clientWidth === 0) return
    const { times, rates } = this.#series
    const data = [times, ...kinds.map((kind) => rates[kind])] as unknown as uPlot.AlignedData
    this.setAttribute('aria-label', labelOf(this.#series))
    if (this.#plot === undefined) this.#plot = new uPlot(this.#options(), data, this)
    else this.#plot.setData(data)
  }

  #fit(): void {
    if (this.#plot === undefined) this.#draw()
    else if (this.#plot.width !== this.clientWidth)
      this.#plot.setSize({ width: this.clientWidth, height: heightPx })
  }

  #options(): uPlot.Options {
    const style = getComputedStyle(this)
    const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim()
    const axis = {
      stroke: colour('muted'),
      font: `11px ${style.fontFamily}`,
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
    }
    return {
      width: this.clientWidth,
      height: heightPx,
      padding: [10, 28, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: {
        x: { time: true },
        y: { range: (_plot, _least, most) => [0, Math.max(1, (most ?? 0) * 1.1)] },
      },
      axes: [
        { ...axis, size: 26, space: 70, values: (_plot, values) => values.map(clock) },
        { ...axis, size: 44, space: 36, values: (_plot, values) => values.map(axisDigits) },
      ],
      series: [
        {},
        ...kinds.map((kind) => ({
          label: kind,
          stroke: colour(kind),
          width: 1.75,
          dash: [...dashes[kind]],
          points: { show: false },
          spanGaps: false,
        })),
      ],
    }
  }
}

function labelOf({ times, rates }: Series): string {
  const most = (kind: Kind): number => Math.max(0, ...rates[kind].map((value) => value ?? 0))
  const minutes = Math.max(1, Math.round(((times.at(-1) ?? 0) - (times[0] ?? 0)) / 60))
  const parts = kinds.map(
    (kind) => `${kind} ${rateDigits(rates[kind].at(-1) ?? 0)} now, at most ${rateDigits(most(kind))}`,
  )
  return `Events a second in the last ${minutes} minutes: ${parts.join('; ')}`
}

customElements.define('rate-chart', RateChart)
