/** The plots of the README: which result of which bench stands in which panel. Pure.
 * Invariant: a figure is read from the results, never written here. */
import { nounText } from '../src/base/text.js'
import { cellText, spreadIn, tablesOf } from './kept-results.js'
import type { Row } from './output.js'
import { barPlot, type BarPanel } from './plot/bars.js'
import { linePlot, type LinePanel } from './plot/lines.js'
import { shownNumber } from './plot/scales.js'
import { drawStore } from './store/figures.js'
import { drawIntervals, drawMinutes, drawPlaces, drawRunners, drawSharing } from './questions/figures.js'

export interface Figure {
  /** Of the file, without `.svg`. */
  readonly name: string
  /** The bench whose results it draws. */
  readonly bench: string
  readonly draw: (rows: readonly Row[]) => string
}

export const figures: readonly Figure[] = [
  {
    name: 'workload-r',
    bench: 'workload-r',
    draw: (rows) => drawLives('Workload R: lives per second, 1 KiB, one recipient (share of rawlog)', rows),
  },
  {
    name: 'lives',
    bench: 'lives',
    draw: (rows) =>
      drawLives('Whole lives of messages per second, 1 KiB, one recipient (share of rawlog)', rows),
  },
  { name: 'lives-variations', bench: 'lives', draw: drawVariations },
  { name: 'relay', bench: 'relay', draw: drawRelay },
  { name: 'scale', bench: 'scale', draw: drawScale },
  { name: 'sustained', bench: 'sustained', draw: drawSustained },
  { name: 'store', bench: 'store', draw: (rows) => drawStore(rows, sourceOf) },
  { name: 'layouts', bench: 'layouts', draw: drawLayouts },
  { name: 'question-intervals', bench: 'questions', draw: (rows) => drawIntervals(rows, sourceOf) },
  { name: 'question-places', bench: 'questions', draw: (rows) => drawPlaces(rows, sourceOf) },
  { name: 'question-runners', bench: 'questions', draw: (rows) => drawRunners(rows, sourceOf) },
  { name: 'question-minutes', bench: 'questions', draw: (rows) => drawMinutes(rows, sourceOf) },
  { name: 'question-sharing', bench: 'questions', draw: (rows) => drawSharing(rows, sourceOf) },
]

/** Machine, versions and moment of a run. */
function sourceOf(rows: readonly Row[]): string[] {
  const machine = rows.find(({ title }) => title === 'machine') ?? {}
  const said = (name: string): string => wordIn(machine, name)
  const version = /waybill ([\d.]+)/.exec(said('packages'))?.[1] ?? ''
  const [fileSystem] = said('fileSystem').split(' ')
  return [
    `waybill ${version}, Node ${said('node')}, ${said('cpu')}, ${said('cores')} cores, ${fileSystem}, ${said('kernel')}`,
    `npm run bench -- ${said('bench')}, ${said('startedAt').slice(0, 16)}, load average before: ${said('loadAverage')}`,
  ]
}

const wordIn = (row: Row, name: string): string => cellText(row[name])

const numberIn = (row: Row, name: string): number => Number(row[name])

function contenderPanel(title: string, rows: readonly Row[]): BarPanel {
  return {
    title,
    bars: rows.map((row) => ({
      name: wordIn(row, 'contender'),
      value: spreadIn(row, 'messages/s'),
      remark: `(${shownNumber(spreadIn(row, 'of rawlog').median)})`,
    })),
  }
}

/** What the first table has, a panel for each number of producers. */
function drawLives(title: string, rows: readonly Row[]): string {
  const [[, all] = ['', []]] = tablesOf(rows)
  const producers = [...new Set(all.map((row) => numberIn(row, 'producers')))]
  return barPlot({
    title,
    panels: producers.map((count) =>
      contenderPanel(
        `${count} ${nounText(count, 'producer')}`,
        all.filter((row) => numberIn(row, 'producers') === count),
      ),
    ),
    source: sourceOf(rows),
  })
}

function drawVariations(rows: readonly Row[]): string {
  const [, ...others] = tablesOf(rows)
  return barPlot({
    title: 'Whole lives per second at 100 producers (share of rawlog)',
    panels: others.map(([title, table]) =>
      contenderPanel(
        title,
        table.filter((row) => numberIn(row, 'producers') === 100),
      ),
    ),
    source: sourceOf(rows),
  })
}

function drawRelay(rows: readonly Row[]): string {
  return barPlot({
    title: 'Messages per second through a relay (CPU µs a message)',
    panels: [...tablesOf(rows)].map(([title, table]) => ({
      title,
      bars: table.map((row) => ({
        name: wordIn(row, 'relay'),
        value: spreadIn(row, 'messages/s'),
        remark: `(${shownNumber(spreadIn(row, 'CPU µs/message').median)})`,
      })),
    })),
    source: sourceOf(rows),
  })
}

function drawScale(rows: readonly Row[]): string {
  const [[, all] = ['', []]] = tablesOf(rows)
  const filled = all.filter((row) => numberIn(row, 'deferred') > 0)
  const over = (name: string): (readonly [number, number])[] =>
    filled.map((row) => [numberIn(row, 'deferred'), spreadIn(row, name).median])
  const single = (title: string, name: string): LinePanel => ({
    title,
    lines: [{ name, points: over(name) }],
  })
  return linePlot({
    title: 'A queue as it grows: what does not grow with it',
    xTitle: 'deferred messages',
    xKind: 'logarithmic',
    panels: [
      {
        title: 'First submission accepted after start, ms',
        lines: [
          { name: 'files cached', points: over('accepts after ms') },
          { name: 'cold', points: over('cold: accepts ms') },
        ],
      },
      {
        title: 'First deferred message attempted after start, ms',
        lines: [
          { name: 'files cached', points: over('delivers after ms') },
          { name: 'cold', points: over('cold: delivers ms') },
        ],
      },
      single('Memory that the open queue adds, MiB', 'added MiB'),
      single('Lives per second, of those in the empty queue', 'of the empty queue'),
      single('Recovery after SIGKILL under full load, ms', 'recovers after kill ms'),
    ],
    source: sourceOf(rows),
  })
}

function drawSustained(rows: readonly Row[]): string {
  const [[, all] = ['', []]] = tablesOf(rows)
  const panel = (title: string, name: string): LinePanel => ({
    title,
    lines: [{ name, points: all.map((row) => [numberIn(row, 'minute'), numberIn(row, name)] as const) }],
  })
  return linePlot({
    title: 'Full rate without a pause, 100 producers, 1 KiB',
    xTitle: 'minutes',
    xKind: 'linear',
    panels: [
      panel('Lives per second', 'lives/s'),
      panel('Submit p99, ms', 'p99 ms'),
      panel('Resident memory, MiB', 'RSS MiB'),
      panel('Queue on disk, MiB', 'disk MiB'),
    ],
    source: sourceOf(rows),
  })
}

function drawLayouts(rows: readonly Row[]): string {
  const [[, all] = ['', []]] = tablesOf(rows)
  const shares = [...new Set(all.map((row) => numberIn(row, 'deferred %')))]
  const panels = (what: string, name: string): BarPanel[] =>
    shares.map((share) => ({
      title: `${what}, ${share} % deferred`,
      bars: all
        .filter((row) => numberIn(row, 'deferred %') === share)
        .map((row) => ({ name: wordIn(row, 'layout'), value: spreadIn(row, name) })),
    }))
  const rates = panels('messages/s', 'messages/s')
  const bytes = panels('journal bytes a message', 'journal bytes/message')
  const device = panels('bytes a message on the device', 'device bytes/message')
  return barPlot({
    title: 'A lane per interval, or one log for everything',
    panels: rates.flatMap((rate, i) => [rate, bytes[i]!, device[i]!]),
    source: sourceOf(rows),
  })
}
