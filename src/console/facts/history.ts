/** The records of a message as steps of its life, in words. Pure.
 * Invariant: a record that this page does not know is shown by its kind, never left out. */
import type { HistoryEntry, HistoryRecord, Note } from './api.js'
import { bytesText, counted, senderText } from './format.js'
import { countIn, reasonText } from './mail-words.js'

export interface Step {
  readonly title: string
  readonly mood: 'notice' | 'waiting' | 'paused' | 'well' | 'critical'
  readonly lines: readonly string[]
}

const holdLane = 1

/** @param id of the message: reports on it have records here, too
 * @param next the record behind it */
export function stepOf(record: HistoryRecord, id: string, next?: HistoryRecord): Step {
  const { kind, fields } = record
  switch (kind) {
    case 'envelope':
      return next !== undefined && isNewPlace(record, next)
        ? { title: 'Written anew', mood: 'notice', lines: ['its place in the log was needed'] }
        : envelopeStep(record, id)
    case 'start':
      return fields['carried'] === undefined || fields['carried'] === null
        ? {
            title: 'Attempt',
            mood: 'notice',
            lines: fields['outOfOrder'] === true ? ['before its time'] : [],
          }
        : { title: 'Resumed', mood: 'notice', lines: ['after a restart, or after a long wait'] }
    case 'delivery':
      return deliveryStep(notesOf(fields), fields['finishes'] === true)
    case 'finish':
      return { title: 'Finished', mood: 'well', lines: reportedLines(fields) }
    case 'replaced':
      return { title: 'Put off', mood: 'waiting', lines: reportedLines(fields) }
    default:
      return { title: kind, mood: 'notice', lines: [] }
  }
}

/** Does the next record, in the same group, name this envelope as the new place of an active
 * message? */
function isNewPlace({ log, position }: HistoryRecord, { kind, fields, ...next }: HistoryRecord): boolean {
  const { envelope, envelopeBytes, carried } = fields
  return (
    kind === 'start' &&
    carried !== undefined &&
    carried !== null &&
    next.log === log &&
    envelope === position &&
    next.position - position === envelopeBytes
  )
}

const outcomeSteps: Readonly<Record<string, readonly [string, Step['mood']]>> = {
  accepted: ['Accepted', 'notice'],
  delivered: ['Delivered', 'well'],
  deferred: ['Deferred', 'waiting'],
  failed: ['Failed', 'critical'],
  expired: ['Expired', 'critical'],
  deleted: ['Deleted', 'critical'],
  reported: ['Report', 'notice'],
  finished: ['Finished', 'well'],
}

/** Of mail that has left the log. */
export function stepOfEntry(entry: HistoryEntry): Step {
  const { kind, sender, recipients, recipientCount, status, text, remote } = entry
  const [title, mood] = outcomeSteps[kind] ?? [kind, 'notice']
  const named = recipients.length > 0 ? recipients.join(', ') : counted(recipientCount, 'recipient')
  const who =
    recipientCount === 0 ? [] : [kind === 'accepted' ? `from ${senderText(sender)} for ${named}` : named]
  const reply = [remote, status, text].filter((word) => word !== '').join(' ')
  return { title, mood, lines: reply === '' ? who : [...who, reply] }
}

function envelopeStep({ lane, fields }: HistoryRecord, id: string): Step {
  const sender = senderText(textOf(fields['sender']))
  const size = bytesText(numberOf(fields['dataBytes']))
  const what = `from ${sender} for ${counted(numberOf(fields['recipientCount']), 'recipient')}, ${size}`
  if (fields['id'] !== id) return { title: 'Report', mood: 'notice', lines: [what] }
  const attempts = numberOf(fields['attempts'])
  const lines = notesOf(fields).map(noteLine)
  if (lane === holdLane) return { title: 'On hold', mood: 'paused', lines: [what, ...lines] }
  if (attempts === 0) return { title: 'Accepted', mood: 'notice', lines: [what, ...lines] }
  return { title: `Waits after ${counted(attempts, 'attempt')}`, mood: 'waiting', lines: [what, ...lines] }
}

function deliveryStep(notes: readonly Note[], finishes: boolean): Step {
  const lines = [...notes.map(noteLine), ...(finishes ? ['nothing is left to do'] : [])]
  const has = (kind: Note['kind']): boolean => notes.some((note) => note.kind === kind)
  if (has('failed')) return { title: 'Failed', mood: 'critical', lines }
  if (has('deferred')) return { title: 'Deferred', mood: 'waiting', lines }
  return has('delivered')
    ? { title: 'Delivered', mood: 'well', lines }
    : { title: 'Attempt', mood: 'notice', lines: ['after one that had no outcome'] }
}

const noteLine = (note: Note): string =>
  [`${note.kind} for ${counted(countIn(note.ranges), 'recipient')}`, reasonText(note).trim()]
    .filter((text) => text !== '')
    .join(': ')

function reportedLines(fields: HistoryRecord['fields']): string[] {
  const ranges = fields['reported']
  const count = Array.isArray(ranges) ? countIn(ranges as number[]) : 0
  return count === 0 ? [] : [`${counted(count, 'recipient')} reported to the sender`]
}

const notesOf = (fields: HistoryRecord['fields']): readonly Note[] =>
  Array.isArray(fields['notes']) ? (fields['notes'] as Note[]) : []
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)
