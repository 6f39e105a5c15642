/** The profile, as text. Pure. */
import { markdownTable } from '../../tools/markdown-table.js'
import { cellText, shown, type Tables } from '../kept-results.js'

/** Of a message: parts below it are one row. */
const shareMin = 2

export function profileText(tables: Tables): string {
  const [rows = []] = tables.values()
  const parts = rows.filter((row) => Number(row['of all %']) >= shareMin)
  const rest = rows.filter(({ 'of all %': share }) => share !== null && Number(share) < shareMin)
  const sum = (name: string): number => rest.reduce((all, row) => all + Number(row[name]), 0)
  const shownRows = [
    ...parts,
    {
      part: `${rest.length} parts of less than ${shareMin} %`,
      'of all %': sum('of all %'),
      'µs/message': sum('µs/message'),
    },
  ]
  return [
    "Where the time of a message goes in a queue's thread, workload R at 100 producers: no room is large.",
    'Other stores do less for a message, and most of that in native code and in other threads.',
    '',
    markdownTable(
      shownRows.map((row) => ({
        part: cellText(row.part),
        share: `${shown(row['of all %'])} %`,
        'a message': `${shown(row['µs/message'])} µs`,
      })),
    ),
  ].join('\n')
}
