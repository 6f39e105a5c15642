/** The figures of bench store, as text and as a plot. Pure. */
import { markdownTable } from '../../tools/markdown-table.js'
import { cellText, medianOf, shown, spreadIn, tablesOf, type Tables } from '../kept-results.js'
import type { Row } from '../output.js'
import { barPlot, type BarPanel } from '../plot/bars.js'

export function drawStore(rows: readonly Row[], sourceOf: (rows: readonly Row[]) => string[]): string {
  const [[, lives] = ['', []], [, appends] = ['', []]] = tablesOf(rows)
  const panels = (table: readonly Row[], titleOf: (row: Row) => string): BarPanel[] =>
    table.map((row) => ({
      title: titleOf(row),
      bars: (['directory', 'store'] as const).map((name) => ({ name, value: spreadIn(row, name) })),
    }))
  return barPlot({
    title: 'A queue in a directory, and in a store of three servers on the same disk',
    panels: [
      ...panels(lives, (row) => `lives/s: ${cellText(row['workload'])}`),
      ...panels(appends, (row) => `bare appends of ${shown(row['bytes'])} bytes, MiB/s`),
    ],
    source: sourceOf(rows),
  })
}

export function storeText(tables: Tables): string {
  const [lives = [], appends = [], queues = [], listings = []] = [...tables.values()]
  const rates = lives.map((row) => ({
    'whole lives a second': cellText(row['workload']),
    'in a directory': shown(row['directory']),
    'in the store': shown(row['store']),
    'of the directory': shown(row['ratio']),
    'store, MiB/s': shown(row['store MiB/s']),
    'bytes of WAL for each of data': shown(row['WAL bytes/byte']),
  }))
  const bare = appends.map((row) => ({
    'bare appends, one in flight': `${shown(row['bytes'])} bytes`,
    'directory, MiB/s': shown(row['directory']),
    'store, MiB/s': shown(row['store']),
    'of the directory': shown(row['ratio']),
  }))
  const most = Math.max(...appends.map((row) => medianOf(row['store'])))
  return [
    'Three servers share one disk and two processors with the queue, which on real machines they do',
    'not; each byte is written six times. So what a queue in a store comes to is bounded by what the',
    `servers take of bare appends, at most ${shown(most)} MiB/s here, and large mail comes up to that.`,
    '',
    markdownTable(rates),
    '',
    '![a queue in a directory and in a store](../bench/results/plots/store.svg)',
    '',
    markdownTable(bare),
    '',
    ...queues.map(
      (row) =>
        `${shown(row['queues'])} queues of one producer each come to ${shown(row['ratio'])} × one of them.`,
    ),
    ...listings.map((row) => `A listing takes ${shown(row['ratio'])} × the time of one in a directory.`),
  ].join('\n')
}
