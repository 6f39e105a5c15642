/** The replacement of a message: its remaining recipients, in an envelope for the lane of its next
 * attempt.
 * Invariant: each recipient without a final outcome is in it, with the reason why it remains. */
import type { ActiveMessage, RecipientState } from '../../active/active-message.js'
import { thrownText } from '../../base/realms.js'
import { nowhere, type Position } from '../../base/position.js'
import { notifyOf, type AskedRecipient } from '../../base/notification.js'
import { forEachIn, toRanges, type Ranges } from '../../base/ranges.js'
import { notAwaited } from '../../delivery/call-listener.js'
import { WaybillError } from '../../errors.js'
import { askedOfEach, notifyNotes, type EnvelopeDsn } from '../../record/dsn.js'
import type { DataPlace, Envelope, EnvelopeRoute } from '../../record/envelope.js'
import type { Lane } from '../../lane/lane.js'
import { frameBytes } from '../../record/frame.js'
import { condensed, type OutcomeNote } from '../../record/outcome-note.js'
import { encodeReplaced } from '../../record/replaced.js'
import { termsOf, type EnvelopeTerms } from '../../record/terms.js'
import { checkEnvelope } from '../accept/submission.js'
import { sameRecipients, type EngineOptions } from '../life/options.js'
import { messageGroup, type EnvelopeFacts, type MessageGroup } from '../message/message-group.js'
import { farthest, startOrFarthest } from './late-start.js'
import { acceptedAtFrom, type Now } from './message-age.js'
import type { MessageReader } from '../message/message-reader.js'
import type { Report } from './report.js'

export interface Remainder {
  /** Indexes in the old envelope, ascending. */
  readonly indexes: readonly number[]
  readonly recipients: readonly string[]
  /** Why they remain, by their new indexes. */
  readonly notes: readonly OutcomeNote[]
  /** What was asked for them. */
  readonly dsn: EnvelopeDsn | undefined
  readonly smtputf8: boolean
}

/** The recipients that have no final outcome. */
export async function remainderOf(message: ActiveMessage, reader: MessageReader): Promise<Remainder> {
  const indexes = [...message.indexesIn('pending'), ...message.indexesIn('deferred')].sort((a, b) => a - b)
  const { addresses: recipients, orcpts } = await reader.addresseesAt(message, indexes)
  const renumbered = new Map(indexes.map((index, i) => [index, i]))
  const notes: OutcomeNote[] = []
  const keep = ({ ranges, ...note }: OutcomeNote, ofState: RecipientState): void => {
    const left: number[] = []
    forEachIn(ranges, (index) => {
      if (message.stateOf(index) === ofState) left.push(renumbered.get(index)!)
    })
    if (left.length > 0) notes.push({ ranges: toRanges(left), ...note })
  }
  // Of those that were not attempted again the reasons of the attempt before stay.
  for (const note of message.envelope.notes) keep(note, 'pending')
  for (const note of message.notesOf('deferred')) keep(note, 'deferred')
  const { dsn: all, smtputf8 } = message.envelope
  const dsn = all === undefined ? undefined : remainingDsn(message, all, indexes, orcpts)
  return { indexes, recipients, notes: condensed(notes), dsn, smtputf8 }
}

/** As an envelope has the original recipients: none where the sender gave none. */
export const givenOrcpts = (orcpts: readonly string[]): readonly string[] =>
  orcpts.every((orcpt) => orcpt === '') ? [] : orcpts

function remainingDsn(
  message: ActiveMessage,
  dsn: EnvelopeDsn,
  indexes: readonly number[],
  orcpts: readonly string[],
): EnvelopeDsn {
  return {
    ret: dsn.ret,
    envid: dsn.envid,
    notify: notifyNotes(Uint8Array.from(indexes, (index) => message.askedOf(index))),
    orcpts: givenOrcpts(orcpts),
  }
}

/** The remainder of a requeued message, with the recipients that the embedder's tables name now.
 * Where these cannot be had, nothing is appended, and the message stays as it is.
 * @throws WaybillError OPTION_INVALID when the embedder's function throws, or answers no list;
 * ADDRESS_INVALID, RECIPIENTS_EMPTY, RECIPIENTS_TOO_MANY */
export function requeuedRecipients(
  { id, smtputf8 }: Envelope,
  remainder: Remainder,
  options: EngineOptions,
): Remainder {
  if (options.requeueRecipients === sameRecipients) return remainder
  const { dsn: all } = remainder
  const given = answerOf(options, askedOf(remainder), id)
  const dsn = all && { id: all.envid || undefined, return: all.ret }
  const checked = checkEnvelope({ sender: '', recipients: given, data: '', dsn }, options)
  return {
    ...remainder,
    recipients: checked.recipients,
    dsn: checked.dsn,
    smtputf8: smtputf8 || checked.smtputf8,
  }
}

function askedOf({ recipients, dsn }: Remainder): readonly AskedRecipient[] {
  const asked = dsn && askedOfEach(dsn, recipients.length)
  return recipients.map((address, i) => ({
    address,
    notify: asked && notifyOf(asked[i]!),
    orcpt: dsn?.orcpts[i] || undefined,
  }))
}

function answerOf(
  { requeueRecipients }: EngineOptions,
  asked: readonly AskedRecipient[],
  id: string,
): readonly (string | AskedRecipient)[] {
  try {
    const answer: unknown = notAwaited(requeueRecipients(asked))
    if (Array.isArray(answer)) return answer as readonly (string | AskedRecipient)[]
    throw new TypeError('it must return a list of recipients, not a promise')
  } catch (error) {
    const words = thrownText(error)
    const place = { option: 'requeueRecipients', id }
    throw new WaybillError('OPTION_INVALID', `requeueRecipients() failed: ${words}`, place, error)
  }
}

/** An operator's changes to a message that is moved. */
export interface EnvelopeChanges {
  /** It counts as accepted now, with no attempt made and no route set. */
  readonly isNew?: true
  /** Goes there from now on. */
  readonly route?: EnvelopeRoute
  /** It is not attempted before this time, milliseconds since 1970. */
  readonly notBefore?: number
}

/** Reports of a message that was made new more often could have the id of an earlier one. */
const requeuesMax = 999

/** @param warnings delay warnings that the sender will have had */
export function replacementFacts(
  message: ActiveMessage,
  { notes, dsn, smtputf8 }: Pick<Remainder, 'notes' | 'dsn' | 'smtputf8'>,
  warnings: number,
  changes: EnvelopeChanges,
  now: Now,
): EnvelopeFacts {
  const { envelope } = message
  const { isNew = false } = changes
  // One literal: objects put together from others cost as much as all else that a retry does with
  // its envelope.
  return {
    id: envelope.id,
    sender: envelope.sender,
    smtputf8,
    dataBytes: envelope.dataBytes,
    checksum: envelope.checksum,
    replaces: nowhere,
    reported: [],
    acceptedAt: isNew ? now.wallMs : acceptedAtFrom(envelope.acceptedAt, now),
    // The number of an attempt is that of its report: one that may have been reported is counted.
    attempts: isNew ? 0 : envelope.attempts + (message.hasOutcome || message.isReportedOn ? 1 : 0),
    notes: isNew ? [] : notes,
    warnings: isNew ? 0 : warnings,
    route: isNew ? undefined : (changes.route ?? envelope.route),
    requeues: isNew ? Math.min(envelope.requeues + 1, requeuesMax) : envelope.requeues,
    dsn,
    held: false,
    priority: envelope.priority,
    terms: termsAfter(envelope.terms, warnings > envelope.warnings, changes),
  }
}

/** An operator who makes a message new wants it sent now. @param isWarned the delay is
 * reported to the sender */
function termsAfter(
  terms: EnvelopeTerms | undefined,
  isWarned: boolean,
  { isNew, notBefore }: EnvelopeChanges,
): EnvelopeTerms | undefined {
  if (terms === undefined) return undefined
  if (isNew === true)
    return termsOf({ tags: terms.tags, notBefore: 0, expiresAt: 0, warnAt: 0, trace: terms.trace })
  const warnAt = isWarned ? 0 : terms.warnAt
  return { ...terms, notBefore: notBefore ?? terms.notBefore, warnAt }
}

/** Data that does not move with the envelope: its file, or the reference. */
export const fixedData = (
  message: ActiveMessage,
): Exclude<DataPlace, { kind: 'before' | 'lane' }> | undefined => {
  const { data } = message.envelope
  return data.kind === 'spool' || data.kind === 'ref' ? data : undefined
}

/** What is appended to a lane. */
export interface Replacement {
  readonly message: ActiveMessage
  readonly lane: Lane
  /** Of a replacement that is made again; undefined: now. */
  readonly timeMs: number | undefined
  readonly facts: EnvelopeFacts
  readonly recipients: readonly string[]
  /** Its bytes, when they move with it. */
  readonly data: Buffer | Exclude<DataPlace, { kind: 'before' }>
  readonly written: Report | undefined
  readonly reported: Ranges
}

/** The envelope for a lane with separate logs. @param at where its data is in the lane */
export const laneGroup = ({ facts, recipients, data }: Replacement, at: Position | undefined): MessageGroup =>
  messageGroup(facts, recipients, Buffer.isBuffer(data) ? { kind: 'lane', position: at! } : data)

/** The group for a lane in the journal: it says itself what it replaces, as of now. For `incoming`
 * a note says it, so that recovery need not decode every envelope that was ever submitted. */
export function journalGroup({
  message,
  lane,
  facts,
  recipients,
  data,
  reported,
}: Replacement): MessageGroup {
  if (lane.kind === 'incoming') return messageGroup(facts, recipients, data)
  return messageGroup({ ...facts, replaces: startOrFarthest(message), reported }, recipients, data)
}

/** Bytes of the replacement in the journal, at the most. */
export function journalBytes(replacement: Replacement): number {
  const { message, lane, reported, facts } = replacement
  const { bytes } = journalGroup(replacement)
  if (lane.kind !== 'incoming') return bytes
  const note = { start: startOrFarthest(message), target: farthest, targetEnd: farthest, reported }
  return bytes + frameBytes(encodeReplaced({ ...note, warnings: facts.warnings }).length)
}
