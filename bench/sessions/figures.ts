/** The figures of bench sessions, as text. Pure. */
import { markdownTable } from '../../tools/markdown-table.js'
import { cellText, shown, type Tables } from '../kept-results.js'

export function sessionsText(tables: Tables): string {
  const [open = [], through = [], secured = []] = [...tables.values()]
  const ms = (cell: Parameters<typeof shown>[0]): string => `${shown(cell)} ms`
  return [
    'Sessions that are open and wait, each behind a message that it has sent:',
    '',
    markdownTable(
      open.map((row) => ({
        sessions: shown(row['sessions']),
        'memory of the relay': `${shown(row['RSS MiB'])} MiB`,
        'a session': `${shown(row['KiB a session'])} KiB`,
      })),
    ),
    '',
    'From the end of the data until the next server has all of them, at a tenth of what each relay',
    'takes at the most. Postfix answers its client when the message is in its queue, as Waybill does.',
    '',
    markdownTable(
      through.map((row) => ({
        relay: cellText(row['relay']),
        'messages/s': shown(row['messages/s']),
        p50: ms(row['p50']),
        p99: ms(row['p99']),
        most: ms(row['most']),
      })),
    ),
    '',
    'STARTTLS on both sides, 1 KiB, 20 sessions that are kept:',
    '',
    markdownTable(
      secured.map((row) => ({
        relay: cellText(row['relay']),
        'messages/s': shown(row['messages/s']),
        'Waybill is × as fast': shown(row['waybill is × as fast']),
        'CPU µs a message': shown(row['CPU µs/message']),
      })),
    ),
  ].join('\n')
}
