/** The figures of bench whole-queue, as text. Pure. */
import { markdownTable } from '../../tools/markdown-table.js'
import { cellText, medianOf, shown, type Tables } from '../kept-results.js'
import type { Row } from '../output.js'
import { shownNumber } from '../plot/scales.js'

export const commandsTitle = 'commands that read it all'
export const deletionsTitle = 'delete --older-than, in the process of the queue'

export function wholeQueueText(tables: Tables): string {
  const commands = tables.get(commandsTitle) ?? []
  const deletions = tables.get(deletionsTitle) ?? []
  return [
    `What reads a whole queue, with ${shown(commands[0]?.['deferred'])} deferred messages:`,
    '',
    markdownTable(
      commands.map((row) => ({
        command: `\`${cellText(row['command'])}\``,
        'first output': `${shown(row['first ms'])} ms`,
        end: `${shown(row['all ms'])} ms`,
        'memory at the most': `${shown(row['peak MiB'])} MiB`,
      })),
    ),
    '',
    'A verb on a part of it, `delete --older-than`: it reads the queue in the thread that takes mail.',
    '',
    markdownTable(
      deletions.map((row) => ({
        'deleted messages': shown(row['deleted']),
        'producers beside it': cellText(row['producers']),
        time: `${shown(row['ms'])} ms`,
        'lives/s of those before': row['lives/s before'] === null ? '–' : keptOf(row),
      })),
    ),
  ].join('\n')
}

const keptOf = (row: Row): string =>
  shownNumber(medianOf(row['lives/s meanwhile']) / medianOf(row['lives/s before']))
