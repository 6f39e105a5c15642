/** Other kinds of mail through the relay, as text. Pure. */
import { markdownTable } from '../../tools/markdown-table.js'
import { shown, type Tables } from '../kept-results.js'
import type { Cell } from '../output.js'

export function kindsText(tables: Tables): string {
  const rows = [...tables].map(([kind, table]) => {
    const of = (relay: string, name: string): Cell | undefined =>
      table.find((row) => row['relay'] === relay)?.[name]
    return {
      mail: kind,
      'waybill/s': shown(of('waybill', 'messages/s')),
      'Postfix/s': shown(of('postfix', 'messages/s')),
      '× Postfix': shown(of('postfix', 'waybill is × as fast')),
      'CPU µs': shown(of('waybill', 'CPU µs/message')),
      '× Postfix per CPU second': shown(of('postfix', 'waybill needs 1/× of the CPU')),
    }
  })
  return [
    'Other mail through the relay, over 20 sessions that are kept; Postfix has OpenDKIM beside it for',
    'signatures, and Cyrus SASL for users:',
    '',
    markdownTable(rows),
  ].join('\n')
}
