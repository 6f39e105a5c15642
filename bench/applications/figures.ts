/** The figures of bench applications, as text. Pure. */
import { markdownTable } from '../../tools/markdown-table.js'
import { cellText, shown, type Tables } from '../kept-results.js'

export function applicationsText(tables: Tables): string {
  const [ways = [], comingBack = [], scheduled = []] = [...tables.values()]
  const rates = ways.map((row) => ({
    'whole lives': cellText(row['way']),
    'lives/s': shown(row['lives/s']),
    'of no option': shown(row['of no option']),
  }))
  const others = [
    ...comingBack.map((row) => ({
      '': 'a consumer that comes back',
      messages: shown(row['messages']),
      'a second': `${shown(row['outcomes/s'])} outcomes`,
      'memory added': '–',
    })),
    ...scheduled.map((row) => ({
      '': 'messages for a month ahead',
      messages: shown(row['messages']),
      'a second': `${shown(row['messages/s'])} submissions`,
      'memory added': `${shown(row['heap MiB more'])} MiB`,
    })),
  ]
  return [
    'What applications ask for, at 100 producers. One process is queue, producers and',
    'consumer, on one thread: what a consumer costs is not hidden on another processor.',
    '',
    markdownTable(rates),
    '',
    markdownTable(others),
  ].join('\n')
}
