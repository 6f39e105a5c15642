/** The figures of the pages, as text. Pure.
 * Invariant: every number comes from a kept result; rows without a result are left out. A test
 * compares the pages with it. */
import { markdownTable } from '../tools/markdown-table.js'
import { cellText, medianOf, shown, tablesOf, type Tables } from './kept-results.js'
import type { Cell, Row } from './output.js'
import { shownNumber } from './plot/scales.js'
import { wholeQueueText } from './whole-queue/figures.js'
import { applicationsText } from './applications/figures.js'
import { kindsText } from './kinds/figures.js'
import { questionsText } from './questions/figures.js'
import { sessionsText } from './sessions/figures.js'
import { storeText } from './store/figures.js'
import { profileText } from './profile/figures.js'
import { newestNodeText, workloadRText } from './workload-r/figures.js'

export const beginMark = '<!-- figures: begin -->'
export const endMark = '<!-- figures: end -->'

/** Rows of each bench by its name. */
export type Kept = ReadonlyMap<string, readonly Row[]>

/** Pages with figures, and their texts. */
export const pages: Readonly<Record<string, (kept: Kept) => string>> = {
  'README.md': headlinesText,
  'bench/FIGURES.md': (kept) => textOf(sections, kept),
  'src/LOG_STRUCTURED.md': (kept) => textOf([{ bench: 'questions', text: questionsText }], kept),
  'src/MACHINES.md': (kept) => textOf([{ bench: 'store', text: storeText }], kept),
  'src/lane/README.md': (kept) => textOf([{ bench: 'layouts', text: layoutTable }], kept),
}

/** @returns the page with its figures between the marks */
export function pageWith(page: string, figures: string): string {
  const begin = page.indexOf(beginMark)
  const end = page.indexOf(endMark)
  if (begin < 0 || end < begin) throw new Error('the page has no place for figures')
  const between = figures === '' ? '' : `${figures.split('\n\n').map(brokenText).join('\n\n')}\n\n`
  return `${page.slice(0, begin + beginMark.length)}\n\n${between}${page.slice(end)}`
}

const columnsMax = 100

/** A paragraph in lines as the formatter of the pages breaks them; a table or picture as it is. */
function brokenText(text: string): string {
  if (/^(?:\||!\[)/.test(text)) return text
  const lines: string[] = []
  for (const word of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const line = lines.at(-1)
    if (line === undefined || line.length + 1 + word.length > columnsMax) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.join('\n')
}

interface Section {
  readonly bench: string
  readonly text: (tables: Tables) => string
}

const textOf = (parts: readonly Section[], kept: Kept): string =>
  parts
    .flatMap(({ bench, text }) => {
      const rows = kept.get(bench)
      return rows === undefined ? [] : [`${text(tablesOf(rows))}\n\n${sourceText(rows)}`]
    })
    .join('\n\n')

const plot = (name: string, alt: string): string => `![${alt}](results/plots/${name}.svg)`

function sourceText(rows: readonly Row[]): string {
  const machine = rows.find(({ title }) => title === 'machine') ?? {}
  const said = (name: string): string => cellText(machine[name])
  const [fileSystem] = said('fileSystem').split(' ')
  const conditions = `${said('cpu')}, ${said('cores')} cores, ${fileSystem}, Node ${said('node').slice(1)}`
  const day = said('startedAt').slice(0, 10)
  return `<sub>\`npm run bench -- ${said('bench')}\`, ${day}: ${conditions}; load average before it: ${said('loadAverage')}</sub>`
}

/** The first figures for a reader, also where Waybill is behind. */
function headlinesText(kept: Kept): string {
  const rowsOf = (bench: string): readonly Row[] => firstTable(tablesOf(kept.get(bench) ?? []))
  const workload = tablesOf(kept.get('workload-r') ?? [])
  const scale = rowsOf('scale').at(-1)
  const relays = [...tablesOf(kept.get('relay') ?? []).values()]
  const ratios = relays.flatMap((table) => {
    const row = table.find(({ relay }) => relay === 'postfix')
    return row === undefined ? [] : [medianOf(row['waybill is × as fast'])]
  })
  const life = (title: string, producers: number, who: string): Readonly<Record<string, string>>[] => {
    const table = (workload.get(title) ?? []).filter((row) => row['producers'] === producers)
    const row = table.find(({ contender }) => contender === 'engine')
    if (row === undefined) return []
    const beside = besideStores(row, storesOf(table))
    return [
      {
        figure: `messages accepted, delivered and finished a second, ${who}`,
        Waybill: beside['lives/s']!,
        beside: `${beside['best store']!}; ${beside['of rawlog']!} of the bare log`,
      },
    ]
  }
  const rows = [
    ...life('steady, 1 KiB, one recipient', 1, '1 producer'),
    ...life('steady, 1 KiB, one recipient', 100, '100 producers'),
    ...life('steady, 10 recipients', 100, '100 producers, 10 recipients each'),
    ...(ratios.length === 0
      ? []
      : [
          {
            figure: 'messages a second through the relay',
            Waybill: `${shownNumber(Math.min(...ratios))} to ${shownNumber(Math.max(...ratios))} × Postfix`,
            beside: `${ratios.length} loads, the same disk`,
          },
        ]),
    ...(scale === undefined
      ? []
      : [
          {
            figure: `a start with ${shown(scale['deferred'])} deferred messages: until it accepts, memory`,
            Waybill: startText(scale),
            beside: `an empty queue: ${startText(rowsOf('scale')[0])}`,
          },
          {
            figure: 'listing all of them with `waybill mailq`',
            Waybill: `${shown(scale['mailq: all ms'])} ms`,
            beside: 'slow: it reads the disk',
          },
        ]),
  ]
  return markdownTable(rows)
}

/** Until a queue accepts mail, and the memory that it takes. */
const startText = (row: Row | undefined): string =>
  `${withUnit(row?.['accepts after ms'], 'ms')}, ${withUnit(row?.['added MiB'], 'MiB')}`

/** By the names under which results are kept. */
const sections: readonly Section[] = [
  { bench: 'commit', text: commitText },
  { bench: 'lives', text: livesText },
  { bench: 'workload-r', text: workloadRText },
  { bench: 'workload-r-newest', text: newestNodeText },
  { bench: 'profile', text: profileText },
  { bench: 'turns', text: turnsText },
  { bench: 'relay', text: relayText },
  { bench: 'sessions', text: sessionsText },
  { bench: 'kinds', text: kindsText },
  { bench: 'smtp', text: smtpText },
  { bench: 'scale', text: scaleText },
  { bench: 'whole-queue', text: wholeQueueText },
  { bench: 'sustained', text: sustainedText },
  { bench: 'layouts', text: layoutsText },
  { bench: 'applications', text: applicationsText },
]

const firstTable = (tables: Tables): readonly Row[] => [...tables.values()][0] ?? []

function commitText(tables: Tables): string {
  const accepted = firstTable(tables).filter(({ contender }) => contender === 'accept')
  const rows = accepted.map((row) => ({
    producers: cellText(row['producers']),
    'submissions/s': shown(row['messages/s']),
    'of the bare loop': shown(row['of bare']),
    'syncs/message': shown(row['syncs/message']),
    'bytes/message': shown(row['bytes/message']),
    p99: `${shown(row['p99 ms'])} ms`,
  }))
  return [
    'Durable submissions of 1 KiB, beside a loop that writes and syncs the same bytes and does nothing else. None is delivered here, so no segment comes',
    'back, and each new one is filled with zeroes first, which the loop does not do:',
    '',
    markdownTable(rows),
  ].join('\n')
}

function livesText(tables: Tables): string {
  const all = firstTable(tables)
  const engine = all.filter(({ contender }) => contender === 'engine')
  const stores = storesOf(all)
  const byProducers = engine.map((row) => ({
    ...besideStores(row, stores),
    'syncs/message': shown(row['syncs/message']),
    'bytes/message': shown(row['bytes/message']),
    ...p99s(row, all),
  }))
  const bySync = [...tables].flatMap(([title, rows]) => {
    const slower = /^every sync (.*) slower$/.exec(title)?.[1]
    return slower === undefined ? [] : slowRows(slower, rows)
  })
  return [
    'The life of a message: submitted, durable, delivered by a transport that answers at once and reads nothing, its outcome recorded, finished. Beside it _rawlog_, a loop that appends the same',
    'framed, checksummed records with group commit and keeps no state (the ceiling of this runtime), other stores, and one file per message.',
    '',
    plot('lives', 'lives per second by number of producers'),
    '',
    markdownTable(byProducers),
    '',
    ...(bySync.length === 0
      ? []
      : ['With so much added to each sync, as on disks without a cache:', '', markdownTable(bySync), '']),
    'The same at 100 producers with larger messages, more recipients, slower disks and a backlog:',
    '',
    plot('lives-variations', 'lives per second, variations'),
  ].join('\n')
}

const storesOf = (rows: readonly Row[]): readonly Row[] =>
  rows.filter(({ contender }) => !['engine', 'rawlog', 'files'].includes(cellText(contender)))

/** @param row the engine's, @param stores of the same table */
function besideStores(row: Row, stores: readonly Row[]): Record<string, string> {
  const best = bestOf(stores.filter(({ producers }) => producers === row['producers']))
  return {
    producers: cellText(row['producers']),
    'lives/s': shown(row['messages/s']),
    'of rawlog': shown(row['of rawlog']),
    'best store': best === undefined ? '–' : `${cellText(best['contender'])}, ${shown(best['messages/s'])}`,
  }
}

/** Of the engine, and of the store that operators know best. */
function p99s(row: Row, rows: readonly Row[]): Record<string, string> {
  const sqlite = rows.find(
    ({ contender, producers }) => contender === 'sqlite' && producers === row['producers'],
  )
  return { 'submit p99': withUnit(row['p99 ms'], 'ms'), "SQLite's": withUnit(sqlite?.['p99 ms'], 'ms') }
}

const slowRows = (slower: string, rows: readonly Row[]): Record<string, string>[] =>
  rows
    .filter(({ contender }) => contender === 'engine')
    .map((row) => ({ 'each sync': `+ ${slower}`, ...besideStores(row, storesOf(rows)), ...p99s(row, rows) }))

function bestOf(rows: readonly Row[]): Row | undefined {
  return [...rows].sort((a, b) => medianOf(b['messages/s']) - medianOf(a['messages/s']))[0]
}

function turnsText(tables: Tables): string {
  const rows = [...tables.values()].flat().map((row) => ({
    producers: cellText(row['producers']),
    '': cellText(row['contender']),
    'a write': withUnit(row['write µs'], 'µs'),
    'beside it': withUnit(row['beside µs'], 'µs'),
    'between two': withUnit(row['between µs'], 'µs'),
    'of that, a message': withUnit(row['between µs/message'], 'µs'),
    'loop busy': shown(row['loop busy']),
  }))
  return [
    'What keeps it from the ceiling where a sync costs next to nothing: producers wait while a batch is written and submit between two writes, so a turn is',
    'the sum of both. Between two writes rawlog copies a message and takes one checksum; the engine checks addresses and lines, writes an envelope',
    'and keeps what a delivery needs. Two batches in flight would hide it, for twice the syncs. Deliveries and their records run beside the write, and that is',
    'not free either: Linux as a guest often wakes the thread that writes on the processor of the event loop, though another is idle (`perf sched timehist`),',
    'and there it waits. _As busy_ is rawlog with a loop that turns on the spot beside each write, for about as long as the engine works there.',
    '',
    markdownTable(rows),
  ].join('\n')
}

function relayText(tables: Tables): string {
  const rows = [...tables].map(([title, table]) => {
    const of = (relay: string, name: string): Cell | undefined =>
      table.find((row) => row['relay'] === relay)?.[name]
    return {
      load: title,
      'waybill/s': shown(of('waybill', 'messages/s')),
      'Postfix/s': shown(of('postfix', 'messages/s')),
      'Haraka/s': shown(of('haraka', 'messages/s')),
      '× Postfix': shown(of('postfix', 'waybill is × as fast')),
      '× Haraka': shown(of('haraka', 'waybill is × as fast')),
      'of a bare passage': shown(of('passage', 'waybill is × as fast')),
      '× Postfix per CPU second': shown(of('postfix', 'waybill needs 1/× of the CPU')),
      'queue thread': withUnit(of('waybill', 'queue thread CPU µs/message'), 'µs'),
    }
  })
  return [
    'The relay: smtp-source → relay → smtp-sink, messages completed per second. Waybill as `npm start` runs it; Postfix and Haraka do what they do by default, on the same disk;',
    'Haraka does not sync what it accepts. A _bare passage_ is a process of Node that passes all bytes on as they come and writes them to the disk: what it takes to move the bytes. _Queue thread_: processor time of the thread of the queue, a message.',
    '',
    plot('relay', 'messages per second through a relay'),
    '',
    markdownTable(rows),
  ].join('\n')
}

function smtpText(tables: Tables): string {
  const rows = [...tables].map(([title, table]) => {
    const of = (server: string): string =>
      withUnit(table.find((row) => row['server'] === server)?.['CPU µs/message'], 'µs')
    return { clients: title, 'a bare socket': of('bare'), 'smtp-server': of('library'), relay: of('relay') }
  })
  return [
    'What a message of 1 KiB costs on its way in, before the queue ([src/relay](../src/relay/README.md) says where the rest goes):',
    '',
    markdownTable(rows),
  ].join('\n')
}

function scaleText(tables: Tables): string {
  const rows = firstTable(tables).map((row) => ({
    deferred: shown(row['deferred']),
    'accepts after': `${shown(row['accepts after ms'])} ms`,
    'delivers after': withUnit(row['delivers after ms'], 'ms'),
    'files not cached': withUnit(row['cold: delivers ms'], 'ms'),
    'memory added': `${shown(row['added MiB'])} MiB`,
    'disk/message': withUnit(row['disk bytes/message'], 'B'),
    mailq: `${shown(row['mailq: all ms'])} ms`,
    'lives/s of the empty queue': shown(row['of the empty queue']),
    'recovers after SIGKILL': `${shown(row['recovers after kill ms'])} ms`,
  }))
  return [
    'A queue as it grows, opened by a new process:',
    '',
    plot('scale', 'start, memory and rate by deferred messages'),
    '',
    markdownTable(rows),
  ].join('\n')
}

function sustainedText(tables: Tables): string {
  const rows = [...tables.values()][1] ?? []
  const quarters = rows.map((row) => ({
    quarter: cellText(row['quarter']),
    'lives/s': shown(row['lives/s']),
    'submit p99': `${shown(row['p99 ms'])} ms`,
    memory: `${shown(row['RSS MiB'])} MiB`,
    'queue on disk': `${shown(row['disk MiB'])} MiB`,
  }))
  return [
    'Full rate without a pause, medians of the first and the last quarter:',
    '',
    plot('sustained', 'rate, latency, memory and disk over time'),
    '',
    markdownTable(quarters),
  ].join('\n')
}

function layoutTable(tables: Tables): string {
  const rows = firstTable(tables).map((row) => ({
    deferred: `${cellText(row['deferred %'])} %`,
    layout: `\`${cellText(row['layout'])}\``,
    'attempts/message': shown(row['attempts/message']),
    'CPU/message': `${shown(row['CPU µs/message'])} µs`,
    'journal/message': `${shown(row['journal bytes/message'])} B`,
    'messages/s': shown(row['messages/s']),
    'submit p99': `${shown(row['p99 ms'])} ms`,
    'device/message': `${shown(row['device bytes/message'])} B`,
    'logs at most': `${shown(row['logs MiB at most'])} MiB`,
  }))
  return [`![both layouts](../../bench/results/plots/layouts.svg)`, '', markdownTable(rows)].join('\n')
}

function layoutsText(): string {
  return 'One log for everything, or a lane per retry interval: [src/lane/README.md](../src/lane/README.md#which-layout).'
}

const withUnit = (cell: Cell | undefined, unit: string): string =>
  cell === undefined || cell === null ? '–' : `${shown(cell)} ${unit}`
