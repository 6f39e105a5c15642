/** `waybill history`: what became of messages that may have ended, from the history of a relay. */
import { queryOf, type HistoryEntry, type HistorySelector } from '../../../src/history/history-entry.js'
import { historyDirectory, historyFiles } from '../../../src/history/history-files.js'
import { checkPlace, readHistory } from '../../../src/history/history-reader.js'
import { asUsage, UsageError, type Arguments } from '../cli/command.js'
import { parseCount } from '../cli/values.js'
import { fullTime, printable, senderText } from '../text/shown-text.js'
import { exits, inspectCommand, jsonOption, type InspectCommand, type Inspected } from './inspection.js'

export const history: InspectCommand = inspectCommand(
  {
    synopsis:
      '[--queue DIR] [--json] --id ID | --message-id ID | --recipient ADDRESS | --tag TAG [--limit N] [--after PLACE]',
    options: {
      ...jsonOption,
      id: { value: 'ID', help: 'of the message with this queue id' },
      'message-id': { value: 'ID', help: 'the acceptance of messages with this Message-ID' },
      recipient: { value: 'ADDRESS', help: 'what names this recipient' },
      tag: { value: 'TAG', help: 'of messages with this tag' },
      limit: { value: 'N', help: 'at most so many entries (all)' },
      after: { value: 'PLACE', help: 'go on behind the entries of a call with --limit' },
    },
    notes:
      'Works beside a relay, and without one. A relay keeps it with --history. Oldest first; without any entry it ends with 1.',
  },
  wishesOf,
  show,
)

const pageMax = 1000

function selectorOf(args: Arguments): HistorySelector {
  const values = {
    id: args.one('id'),
    messageId: args.one('message-id'),
    recipient: args.one('recipient'),
    tag: args.one('tag'),
  }
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  if (given.length !== 1) throw new UsageError('expected one of --id, --message-id, --recipient, --tag')
  return Object.fromEntries(given)
}

interface Wishes {
  readonly selector: HistorySelector
  readonly limit: number
  readonly after: string | undefined
}

/** @throws UsageError */
function wishesOf(args: Arguments): Wishes {
  const limit = args.one('limit')
  const after = args.one('after')
  const selector = selectorOf(args)
  try {
    queryOf(selector)
    checkPlace(after)
  } catch (error) {
    throw asUsage(error)
  }
  return {
    selector,
    after,
    limit: limit === undefined ? Infinity : parseCount('limit', limit, 1),
  }
}

async function show(
  { directory, args, out, surroundings }: Inspected,
  { selector, limit, after: first }: Wishes,
): Promise<number> {
  let left = limit
  let after = first
  let entryCount = 0
  do {
    const page = await readHistory(directory.disk, selector, { max: Math.min(left, pageMax), after })
    for (const entry of page.entries) {
      if (args.isSet('json')) out.json({ ...entry, at: new Date(entry.at).toISOString() })
      else out.line(lineOf(entry))
      if (out.isFull) await out.flush()
    }
    entryCount += page.entries.length
    left -= page.entries.length
    after = page.next
  } while (after !== undefined && left > 0)
  await out.flush()
  if (after !== undefined) surroundings.complain(`more with --after ${after}\n`)
  if (entryCount > 0) return exits.fine
  const isKept = historyFiles(await directory.disk.list(historyDirectory)).length > 0
  surroundings.complain(
    isKept
      ? 'waybill history: nothing of it is in the history\n'
      : 'waybill history: this queue has no history; `serve --history 7d` keeps one from then on\n',
  )
  return exits.wrong
}

function lineOf({ at, kind, id, sender, recipients, recipientCount, ...entry }: HistoryEntry): string {
  const { status, text, remote, tags = [], messageId, report } = entry
  const to =
    recipients.length > 0 ? recipients.join(',') : recipientCount > 0 ? `${recipientCount} recipients` : ''
  const from = kind === 'accepted' ? `from ${senderText(sender)}` : ''
  const reply = `${status} ${text}`.trim()
  const parts = [
    `${fullTime(at)} ${id} ${kind}`,
    from,
    to === '' ? '' : `to ${to}`,
    remote === '' ? '' : `by ${remote}`,
    reply,
    messageId ?? '',
    report ?? '',
    tags.map((tag) => `#${tag}`).join(' '),
  ]
  return printable(parts.filter((part) => part !== '').join(' '))
}
