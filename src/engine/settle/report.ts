/** Reports to the sender: failures, delays, requested successes. A report is an ordinary message
 * from the null sender.
 * Invariant: it stands in one group with the record of its recipients, so none is lost or written
 * twice. */
import { thrownText } from '../../base/realms.js'
import { reportId } from '../../base/message-id.js'
import { crc32 } from '../../base/checksum.js'
import { isInternational, isMailAddress } from '../../base/mail-address.js'
import { nowhere } from '../../base/position.js'
import { forEachIn } from '../../base/ranges.js'
import type { ActiveMessage } from '../../active/active-message.js'
import { headerBytesMax } from '../../bounce/original.js'
import { composeReport } from '../../bounce/report.js'
import { reportDecision, reportRecipientsMax } from '../../bounce/report-decision.js'
import { tellsOf, type ReportedRecipient } from '../../bounce/report-input.js'
import { notAwaited } from '../../delivery/call-listener.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import { incomingLane } from '../../lane/lane.js'
import { untouched } from '../../record/envelope.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import type { EngineOptions } from '../life/options.js'
import { appendGroup, messageGroup, type MessageGroup } from '../message/message-group.js'
import type { Parts } from '../life/parts.js'
import { waits } from '../start/waiting-messages.js'

export interface Report {
  readonly group: MessageGroup
  /** What it is for: of recipients that are late it may name others that have failed, and of both
   * some that have been reached. */
  readonly action: 'failed' | 'delayed' | 'delivered'
  /** Its data's file, when it is large. */
  readonly spool: number | undefined
}

export interface ReportedOutcome {
  readonly index: number
  readonly action: ReportedRecipient['action']
  readonly status: string
  readonly text: string
  readonly remote?: string | undefined
}

/** The report, ready to be appended; undefined where the sender is not told.
 * @param besideBytes the rest of its group: if both do not fit a segment, its data gets
 * a separate file */
export async function report(
  parts: Parts,
  message: ActiveMessage,
  outcomes: readonly ReportedOutcome[],
  besideBytes: () => number = nothing,
): Promise<Report | undefined> {
  const { options } = parts
  const { envelope } = message
  if (reportDecision(envelope.sender, outcomes.length).kind === 'silent') return undefined
  const nowMs = options.clock.wallMs()
  // The number of the attempt; of the next one, when the last one is reported on and an operator
  // ends it before that.
  const attempt = envelope.attempts + (message.isReportedOn ? 2 : 1)
  const id = reportId(envelope.id, attempt, envelope.requeues)
  const data = await composeReport({
    id,
    originalId: envelope.id,
    originalSender: envelope.sender,
    recipients: await reported(parts, message, outcomes),
    acceptedAtMs: envelope.acceptedAt,
    nowMs,
    reportingMta: options.reportingMta,
    author: options.reportAuthor,
    data: await original(parts, message),
    dataBytes: envelope.dataBytes,
    smtputf8: envelope.smtputf8,
    envid: envelope.dsn?.envid || undefined,
    returnsFull: envelope.dsn?.ret === 'full',
  })
  const action = (['delayed', 'failed'] as const).find((one) => tellsOf(outcomes, one)) ?? 'delivered'
  const recipients = recipientsOf(options, envelope.sender)
  const facts = {
    id,
    sender: '',
    acceptedAt: nowMs,
    // The sender's address stands in the header, for any recipient.
    smtputf8: [envelope.sender, ...recipients].some(isInternational),
    dataBytes: data.length,
    checksum: crc32(data),
    ...untouched,
  }
  if (data.length <= options.inlineBytesMax) {
    const group = messageGroup(facts, recipients, data)
    if (group.bytes + besideBytes() <= parts.journal.groupBytesMost)
      return { group, action, spool: undefined }
  }
  const number = await keep(parts, data)
  return { group: messageGroup(facts, recipients, { kind: 'spool', number }), action, spool: number }
}

const nothing = (): number => 0

/** Octets of the addresses of a report. */
const recipientBytesMax = 3072

/** At least one: a report is not lost for an alias. */
function recipientsOf(options: EngineOptions, sender: string): readonly string[] {
  const recipients = new Set<string>()
  let bytes = 0
  for (const recipient of standsFor(options, sender)) {
    if (recipients.size === reportRecipientsMax) break
    if (typeof recipient !== 'string' || !isMailAddress(recipient) || recipients.has(recipient)) continue
    bytes += Buffer.byteLength(recipient)
    if (bytes <= recipientBytesMax) recipients.add(recipient)
  }
  return recipients.size === 0 ? [sender] : [...recipients]
}

/** @throws WaybillError OPTION_INVALID when the embedder's function throws, or answers no list: it
 * is asked again later */
function standsFor({ reportRecipients }: EngineOptions, sender: string): readonly unknown[] {
  try {
    const answer: unknown = notAwaited(reportRecipients(sender))
    if (Array.isArray(answer)) return answer
    throw new TypeError('it must return a list of addresses, not a promise')
  } catch (error) {
    const words = thrownText(error)
    const place = { option: 'reportRecipients' }
    throw new WaybillError('OPTION_INVALID', `reportRecipients() failed: ${words}`, place, error)
  }
}

/** A large report, in a separate file. */
async function keep({ spool, life }: Parts, data: Buffer): Promise<number> {
  const file = await spool.create()
  try {
    await file.write(data)
    await file.finish()
  } catch (error) {
    if (!life.isOver) await file.abort()
    throw error
  }
  return file.number
}

async function reported(
  { reader }: Parts,
  message: ActiveMessage,
  outcomes: readonly ReportedOutcome[],
): Promise<ReportedRecipient[]> {
  // Ascending, as they are read: failures and what expired come one after the other.
  const sorted = [...outcomes].sort((a, b) => a.index - b.index)
  const indexes = sorted.map(({ index }) => index)
  const { addresses, orcpts } = await reader.addresseesAt(message, indexes)
  return sorted.map(({ action, status, text, remote }, i) => ({
    address: addresses[i]!,
    action,
    status,
    reason: text,
    remote,
    orcpt: orcpts[i] || undefined,
  }))
}

/** The beginning of the original, for its header. A report goes out without it when it is a
 * reference, or cannot be read. */
async function original(parts: Parts, message: ActiveMessage): Promise<Buffer | undefined> {
  const { reader, events, life } = parts
  if (message.envelope.data.kind === 'ref') return undefined
  try {
    return await reader.beginning(message, headerBytesMax)
  } catch (error) {
    // Another verb has ended it where it waits, and its data is gone: that is no damage.
    const isOvertaken = message.start === nowhere && !waits(parts, message.place)
    if (life.isOver || isOvertaken || !isWaybillError(error)) throw error
    events.emit('warning', { code: error.code, message: error.message, id: message.envelope.id })
    return undefined
  }
}

/** Bytes in the group of its record. */
export const reportBytes = (written: Report | undefined): number => written?.group.bytes ?? 0

/** Appends it in the group that was opened, before its record, and hands it to the incoming
 * runner. */
export function appendReport(
  { journal, spool, lanes }: Parts,
  written: Report | undefined,
  timeMs: number,
): void {
  if (written === undefined) return
  const { group } = written
  const at = appendGroup(journal, group, incomingLane, timeMs)
  if (written.spool !== undefined) spool.appended(written.spool)
  const { envelope, envelopeBytes: bytes } = group
  lanes.incoming.runner.handOver({ position: at, bytes, timeMs, envelope, data: undefined, seenAtMs: 0 })
  journal.want()
}

/** Emits `reported` for a report that was appended. */
export function tellReport(
  { events }: Parts,
  { envelope }: ActiveMessage,
  written: Report | undefined,
): void {
  if (written !== undefined && events.listenerCount('reported') > 0)
    events.emit('reported', {
      id: envelope.id,
      report: written.group.envelope.id,
      action: written.action,
    })
}

/** Removes the spool file of a report that is not appended after all. */
export async function discardReport({ spool, life }: Parts, written: Report | undefined): Promise<void> {
  if (written?.spool === undefined || life.isOver) return
  await spool.giveUp(written.spool)
}

/** Recipients that need no further attempt and are still to be reported. */
export const finals = (message: ActiveMessage): ReportedOutcome[] => [
  ...outcomesOf(message.notesOf('failed'), message.unreportedFailures(), ({ status, text, remote }) => ({
    action: 'failed',
    status,
    text,
    remote,
  })),
  // What is said of a delivery to a mailbox is our own word: where its file lies, for one. The
  // caller does not get that error.
  ...outcomesOf(
    message.notesOf('delivered'),
    message.unreportedSuccesses(),
    ({ status, text, relayed, remote }) =>
      relayed === undefined
        ? { action: 'delivered', status, text: '' }
        : { action: 'relayed', status, text, remote },
  ),
]

/** Recipients that are given up, as far as the sender wants to be told of that. */
export const expiries = (message: ActiveMessage, expired: readonly number[]): ReportedOutcome[] =>
  expiriesOf(
    message,
    expired.filter((index) => message.tells(index, 'failure')),
  )

/** Late recipients that are reported, with the reason of their last attempt. */
export const delays = (message: ActiveMessage): ReportedOutcome[] =>
  outcomesOf(
    reasonsOf(message),
    message.indexesIn('deferred').filter((index) => message.tells(index, 'delay')),
    ({ status, text, remote }) => ({ action: 'delayed', status, text, remote }),
  )

/** Why recipients wait: of one, the last. */
const reasonsOf = (message: ActiveMessage): readonly OutcomeNote[] => [
  ...message.envelope.notes,
  ...message.notesOf('deferred'),
]

/** What becomes of recipients that are given up. */
export const expiriesOf = (message: ActiveMessage, indexes: readonly number[]): ReportedOutcome[] =>
  outcomesOf(reasonsOf(message), indexes, ({ text, remote }) => ({
    action: 'failed',
    status: '5.4.7',
    text: `delivery time expired${text === '' ? '' : `; the last attempt: ${text}`}`,
    remote,
  }))

/** The notes of some recipients as outcomes to report. */
function outcomesOf(
  notes: readonly OutcomeNote[],
  indexes: readonly number[],
  as: (note: OutcomeNote) => Omit<ReportedOutcome, 'index'>,
): ReportedOutcome[] {
  const noteOf = new Map<number, OutcomeNote>()
  for (const note of notes) forEachIn(note.ranges, (index) => noteOf.set(index, note))
  return indexes.map((index) => ({ index, ...as(noteOf.get(index) ?? unknownOutcome) }))
}

/** Texts may have been given up to keep a record small; kinds never. */
const unknownOutcome: OutcomeNote = { kind: 'failed', status: '', text: '', ranges: [] }
