/** Workload R, as text. Pure. */
import { markdownTable } from '../../tools/markdown-table.js'
import { cellText, medianOf, shown, type Tables } from '../kept-results.js'
import type { Row } from '../output.js'
import { shownNumber } from '../plot/scales.js'

const engineIn = (rows: readonly Row[]): readonly Row[] =>
  rows.filter(({ contender }) => contender === 'engine')

const isStore = ({ contender }: Row): boolean => contender !== 'engine' && contender !== 'rawlog'

/** @param row the engine's, @param rows of its table */
function besideStores(row: Row, rows: readonly Row[]): Record<string, string> {
  const alike = rows.filter(({ producers }) => producers === row['producers'])
  const rate = (one: Row): number => medianOf(one['messages/s'])
  const best = alike.filter(isStore).sort((a, b) => rate(b) - rate(a))[0]
  const of = (contender: string): Row | undefined => alike.find((one) => one['contender'] === contender)
  const other = (contender: string, name: string): string => {
    const found = of(contender)
    return found === undefined ? '–' : shown(found[name])
  }
  return {
    'lives/s': shown(row['messages/s']),
    'of rawlog': shown(row['of rawlog']),
    'of the best store':
      best === undefined ? '–' : `${shownNumber(rate(row) / rate(best))}, ${cellText(best['contender'])}`,
    'CPU µs': shown(row['CPU µs/message']),
    "LMDB's": other('lmdb', 'CPU µs/message'),
    'p99 ms': shown(row['p99 ms']),
    "SQLite's": other('sqlite', 'p99 ms'),
    'device bytes': shown(row['device bytes/message']),
  }
}

const titled = (tables: Tables, pattern: RegExp): readonly (readonly [string, readonly Row[]])[] =>
  [...tables].filter(([title]) => pattern.test(title))

/** A row for each number of producers. @param name in its first column */
const producersIn = (tables: Tables, name: string, pattern: RegExp): Record<string, string>[] =>
  titled(tables, pattern).flatMap(([, rows]) =>
    engineIn(rows).map((row) => ({
      '': name,
      producers: cellText(row['producers']),
      ...besideStores(row, rows),
    })),
  )

const byProducers = (tables: Tables): string =>
  markdownTable([
    ...producersIn(tables, 'steady', /^steady, 1 KiB/),
    ...producersIn(tables, 'young', /^young/),
  ])

/** The same bench on the newest Node. */
export const newestNodeText = (tables: Tables): string =>
  [
    'Workload R on the newest Node, with the stores that can be installed there:',
    '',
    byProducers(tables),
  ].join('\n')

export function workloadRText(tables: Tables): string {
  const recipients = titled(tables, /recipients$/).flatMap(([title, rows]) =>
    engineIn(rows).map((row) => ({
      recipients: /(\d+) recipients$/.exec(title)![1]!,
      ...besideStores(row, rows),
    })),
  )
  const itself = titled(tables, /beside itself/).flatMap(([, rows]) =>
    rows.map((row) => ({
      'the engine': cellText(row['contender']),
      'lives/s': shown(row['messages/s']),
      'of one destination': shown(row['of one destination']),
      'CPU µs': shown(row['CPU µs/message']),
    })),
  )
  return [
    '_Workload R_ is what embedders do: 1000 senders, 5000 recipients in 500 domains; a transport',
    'reads the data, checks them, and answers a turn of the event loop later, once for each domain.',
    'The other stores do that with data that they hold in memory; they write one record when all is',
    'done, and know nothing of destinations, retries or reports. _Young_: the first messages of an',
    'empty directory, each time in a new process; _steady_: behind some seconds of 100 producers.',
    '',
    '![workload R: lives per second by number of producers](results/plots/workload-r.svg)',
    '',
    byProducers(tables),
    '',
    'The same, steady, at 100 producers with more recipients for each message:',
    '',
    markdownTable(recipients),
    '',
    'And the engine beside itself, at 100 producers:',
    '',
    markdownTable(itself),
  ].join('\n')
}
