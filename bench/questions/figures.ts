/** The plots and tables of the open questions. Pure.
 * Invariant: a figure is read from the results, never written here. */
import { markdownTable } from '../../tools/markdown-table.js'
import { cellText, medianOf, tablesOf, type Tables } from '../kept-results.js'
import type { Cell, Row } from '../output.js'
import { barPlot } from '../plot/bars.js'
import { linePlot, type Line } from '../plot/lines.js'
import { shownNumber } from '../plot/scales.js'
import { intervalsTitle } from './intervals.js'
import { placesTitle } from './places.js'
import { minutesTitle, runnersTitle } from './runners.js'
import { sharingTitle } from './sharing.js'

type Source = (rows: readonly Row[]) => readonly string[]

const tableOf = (rows: readonly Row[], title: string): readonly Row[] => tablesOf(rows).get(title) ?? []

const lineOf = (name: string, rows: readonly Row[], x: string, y: string): Line => ({
  name,
  points: rows.map((row) => [medianOf(row[x]), medianOf(row[y])]),
})

export function drawIntervals(rows: readonly Row[], source: Source): string {
  const table = tableOf(rows, intervalsTitle)
  const panel = (title: string, name: string) => ({
    title,
    lines: [lineOf(name, table, 'interval ms', name)],
  })
  return linePlot({
    title: 'How often positions are recorded',
    xTitle: 'time between checkpoints, ms',
    xKind: 'logarithmic',
    panels: [
      panel('Recovery after SIGKILL, ms', 'recovered ms'),
      panel('A start reads, KiB', 'a start reads KiB'),
      panel('Processor time a message, µs', 'CPU µs/message'),
      panel('Bytes a message on the device', 'device bytes/message'),
    ],
    source: source(rows),
  })
}

export function drawPlaces(rows: readonly Row[], source: Source): string {
  const table = tableOf(rows, placesTitle)
  return barPlot({
    title: 'Finding the restart positions',
    panels: ['warm ms', 'cold ms'].map((name) => ({
      title: name === 'warm ms' ? 'in the page cache, ms' : 'not in the page cache, ms',
      bars: table.map((row) => ({ name: cellText(row['positions']), value: spreadIn(row, name) })),
    })),
    source: source(rows),
  })
}

export function drawRunners(rows: readonly Row[], source: Source): string {
  const table = tableOf(rows, runnersTitle)
  const slower = [...new Set(table.map((row) => cellText(row['syncs slower by ms'])))]
  const panels = slower.flatMap((ms) =>
    ['messages/s', 'bytes read/message', 'device writes/1000 messages'].map((name) => ({
      title: `${name}${ms === '0' ? '' : `, syncs ${ms} ms slower`}`,
      bars: table
        .filter((row) => cellText(row['syncs slower by ms']) === ms)
        .map((row) => ({ name: cellText(row['layout']), value: spreadIn(row, name) })),
    })),
  )
  return barPlot({ title: 'One log, or one for each interval', panels, source: source(rows) })
}

export function drawMinutes(rows: readonly Row[], source: Source): string {
  const table = tableOf(rows, minutesTitle)
  const panels = ['bytes read/message', 'device bytes/message', 'device writes/1000 messages'].map(
    (name) => ({
      title: name,
      bars: table.map((row) => ({ name: cellText(row['layout']), value: spreadIn(row, name) })),
    }),
  )
  return barPlot({ title: 'The same, with retries after a minute', panels, source: source(rows) })
}

export function drawSharing(rows: readonly Row[], source: Source): string {
  const table = tableOf(rows, sharingTitle)
  const producers = [...new Set(table.map((row) => cellText(row['producers'])))]
  return linePlot({
    title: 'A submission waits, to share the sync of a delivery',
    xTitle: 'wait, ms',
    xKind: 'linear',
    panels: producers.flatMap((count) => {
      const of = table.filter((row) => cellText(row['producers']) === count)
      return ['messages/s', 'syncs/message'].map((name) => ({
        title: `${name}, ${count} ${count === '1' ? 'producer' : 'producers'}`,
        lines: [lineOf(name, of, 'wait ms', name)],
      }))
    }),
    source: source(rows),
  })
}

function spreadIn(row: Row, name: string): Exclude<Cell, string | number | boolean | null> {
  const cell = row[name]
  if (typeof cell !== 'object' || cell === null) throw new TypeError(`'${name}' is not a measurement`)
  return cell
}

const plotNames: ReadonlyMap<string, string> = new Map([
  [intervalsTitle, 'question-intervals'],
  [placesTitle, 'question-places'],
  [runnersTitle, 'question-runners'],
  [minutesTitle, 'question-minutes'],
  [sharingTitle, 'question-sharing'],
])

/** All of them, as text. */
export const questionsText = (tables: Tables): string =>
  [...plotNames]
    .map(([title, name]) =>
      [
        `![${title}](../bench/results/plots/${name}.svg)`,
        '',
        markdownTable((tables.get(title) ?? []).map(shownRow)),
      ].join('\n'),
    )
    .join('\n\n')

const shownRow = (row: Row): Record<string, string> =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([name]) => name !== 'title')
      .map(([name, cell]) => [
        name,
        cell === null ? '–' : typeof cell === 'string' ? cell : shownNumber(medianOf(cell)),
      ]),
  )
