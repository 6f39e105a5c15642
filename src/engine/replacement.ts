/** What is left of a message, as an envelope for the lane of its next attempt. */
import type { ActiveMessage } from '../active/active-message.js'
import { nowhere } from '../base/position.js'
import { forEachIn, toRanges } from '../base/ranges.js'
import type { DataPlace } from '../record/envelope.js'
import { condensed, type OutcomeNote } from '../record/outcome-note.js'
import type { EnvelopeFacts } from './message-group.js'
import type { MessageReader } from './message-reader.js'

export interface Remainder {
  /** Indexes in the old envelope, ascending. */
  readonly indexes: readonly number[]
  readonly recipients: readonly string[]
  /** Why they remain, by their new indexes. */
  readonly notes: readonly OutcomeNote[]
}

/** The recipients that have no final outcome. */
export async function remainderOf(message: ActiveMessage, reader: MessageReader): Promise<Remainder> {
  const indexes = [...message.indexesIn('pending'), ...message.indexesIn('deferred')].sort((a, b) => a - b)
  const recipients: string[] = []
  let from = 0
  let addresses: string[] = []
  for (const index of indexes) {
    if (index >= from + addresses.length) {
      from = index
      addresses = await reader.recipients(message, from, 1000)
    }
    recipients.push(addresses[index - from]!)
  }
  const renumbered = new Map(indexes.map((index, i) => [index, i]))
  const notes = condensed(message.notesOf('deferred')).map(({ kind, status, text, ranges }) => {
    const left: number[] = []
    forEachIn(ranges, (index) => left.push(renumbered.get(index)!))
    return { kind, status, text, ranges: toRanges(left) }
  })
  return { indexes, recipients, notes }
}

/** @param warnings delay warnings that the sender will have had */
export function replacementFacts(
  message: ActiveMessage,
  notes: readonly OutcomeNote[],
  warnings: number,
): EnvelopeFacts {
  const { id, sender, acceptedAt, attempts, smtputf8, dataBytes, checksum } = message.envelope
  return {
    id,
    sender,
    acceptedAt,
    attempts: attempts + 1,
    smtputf8,
    dataBytes,
    checksum,
    replaces: nowhere,
    notes,
    warnings,
    reported: [],
  }
}

/** Data that does not move with the envelope: its file, or the reference. */
export const fixedData = (
  message: ActiveMessage,
): Exclude<DataPlace, { kind: 'before' | 'lane' }> | undefined => {
  const { data } = message.envelope
  return data.kind === 'spool' || data.kind === 'ref' ? data : undefined
}
