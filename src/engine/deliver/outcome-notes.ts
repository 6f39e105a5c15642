/** Outcomes of an entry as notes, one for all that share kind, status and text, and the
 * record of them. */
import type { ActiveMessage } from '../../active/active-message.js'
import type { Relayed } from '../../base/notification.js'
import type { Position } from '../../base/position.js'
import { forEachIn, toRanges, type Ranges } from '../../base/ranges.js'
import type { Report } from '../../delivery/outcome.js'
import type { Outcome } from '../../delivery/transport.js'
import type { Journal } from '../../log/journal.js'
import { writeDelivery } from '../../record/delivery.js'
import { frameBytes, kinds } from '../../record/frame.js'
import { tagBytesMax, tagCountMax, tagsOf } from '../../record/terms.js'
import type { DeferReason } from '../../scheduler/scheduler.js'
import type { AttemptFields } from '../../record/consumer-fields.js'
import { addressOf, type Job } from './job.js'
import { sessionOf, tlsText, type Origin } from './recipient-events.js'
import {
  condensed,
  notesBytesMost,
  rangeBytesMax,
  notesMax,
  type OutcomeNote,
} from '../../record/outcome-note.js'

/** Of a delivery's record, without its notes. */
const besideNotesBytes = 32

const deliveredTo = (ranges: Ranges): OutcomeNote => ({ kind: 'delivered', status: '', text: '', ranges })

/** What becomes of most messages: shared, because a note is never changed. */
const firstDelivered: readonly OutcomeNote[] = [deliveredTo([0, 0])]

/** @param recipients of the entry, in its order: that of the outcomes, @param tellsSuccess it
 * matters where deliveries went */
export function notesOf(
  recipients: readonly number[],
  { outcomes }: Pick<Report, 'outcomes'>,
  tellsSuccess: boolean,
): readonly OutcomeNote[] {
  const first = outcomes[0]
  if (tellsSuccess) return grouped(recipients, outcomes, relayedOf)
  if (outcomes.length === 1 && first!.kind === 'delivered' && first!.response === undefined)
    return recipients[0] === 0 ? firstDelivered : [deliveredTo(toRanges([recipients[0]!]))]
  if (first !== undefined && outcomes.every((outcome) => outcome === first)) {
    const ranges = toRanges(recipients.slice())
    if (first.kind === 'delivered')
      return [{ kind: 'delivered', status: '', text: first.response ?? '', ranges }]
    const { kind, status, reason: text, remote } = first
    return [remote === undefined ? { kind, status, text, ranges } : { kind, status, text, ranges, remote }]
  }
  return grouped(recipients, outcomes, undefined)
}

/** @param relayedBy undefined: nobody wants to know where deliveries went */
function grouped(
  recipients: readonly number[],
  outcomes: readonly Outcome[],
  relayedBy: typeof relayedOf | undefined,
): readonly OutcomeNote[] {
  const groups = new Map<string, { readonly note: Omit<OutcomeNote, 'ranges'>; indexes: number[] }>()
  recipients.forEach((index, i) => {
    const outcome = outcomes[i]!
    const { kind } = outcome
    const status = kind === 'delivered' ? '' : outcome.status
    const text = kind === 'delivered' ? (outcome.response ?? '') : outcome.reason
    const relayed = relayedBy?.(outcome)
    // The server of a delivery matters only if that is reported.
    const remote = kind === 'delivered' && relayed === undefined ? undefined : outcome.remote
    const key = `${kind} ${relayed ?? ''} ${status} ${remote ?? ''} ${text}`
    const group = groups.get(key)
    if (group !== undefined) group.indexes.push(index)
    else {
      const server = remote === undefined ? undefined : { remote }
      const note = { kind, status, text, ...(relayed === undefined ? undefined : { relayed }), ...server }
      groups.set(key, { note, indexes: [index] })
    }
  })
  return condensed([...groups.values()].map(({ note, indexes }) => ({ ranges: toRanges(indexes), ...note })))
}

/** Recipients that are put off without an attempt. */
export function deferralOf(
  recipients: readonly number[],
  { status, text, remote }: DeferReason,
): OutcomeNote {
  const ranges = toRanges([...recipients])
  return { kind: 'deferred', status, text, ranges, ...(remote === undefined ? undefined : { remote }) }
}

/** Without a note it says that an attempt has begun. @returns where the record stands */
export function appendOutcomes(
  journal: Journal,
  { start, place }: ActiveMessage,
  notes: readonly OutcomeNote[],
  finishes: boolean,
  timeMs: number,
  told?: AttemptFields,
): Position {
  journal.aim()
  writeDelivery({ start, notes, finishes, told })
  return journal.appendAlone(kinds.delivery, place.lane, timeMs)
}

/** What a record says beside, for consumers of outcomes.
 * @param bytesMax of the addresses: where they take more there are none */
export function toldOf(
  job: Pick<Job, 'message' | 'addresses'>,
  notes: readonly OutcomeNote[],
  bytesMax: number,
  { transport, nexthop, outcomes = [] }: Origin,
): AttemptFields {
  const { envelope } = job.message
  const { id, sender, attempts } = envelope
  const named: string[] = []
  let bytes = 0
  for (const { ranges } of notes)
    forEachIn(ranges, (index) => {
      const address = addressOf(job, index)
      bytes += addressBytesMost(address)
      named.push(address)
    })
  const { remote = '', tls } = sessionOf(outcomes)
  return {
    id,
    sender,
    attempt: attempts + 1,
    recipients: bytes > bytesMax ? [] : named,
    tags: tagsOf(envelope),
    // Names of an operator's, as short as hosts: what is longer is no place that a consumer knows.
    transport: transport.slice(0, nameCharsMax),
    nexthop: nexthop.slice(0, nameCharsMax),
    remote: remote.slice(0, nameCharsMax),
    tls: tls === undefined ? '' : tlsText(tls).slice(0, nameCharsMax),
  }
}

const addressBytesMost = (address: string): number => 3 * address.length + 5

/** Of each name in a record: three bytes at the most. */
const nameCharsMax = 255

/** Bytes of an address in a record, and of what stands beside all of them. */
const addressBytes = 520
const besideAddressesBytes = 1024 + tagCountMax * (tagBytesMax + 2) + 4 * 3 * nameCharsMax

/** Bytes that this takes in the journal for so many recipients, at the most. */
export const toldBytesMost = (recipientCount: number, bytesMax: number): number =>
  besideAddressesBytes + Math.min(addressBytes * recipientCount, bytesMax)

/** The most bytes that outcomes of an entry with so many recipients take in the journal. */
export const outcomeBytesMost = (recipientCount: number): number =>
  frameBytes(notesBytesMost(recipientCount) + besideNotesBytes)

/** The most bytes of a deferral of so many recipients, with one status and text for all. */
export const deferralBytesMost = (recipientCount: number): number =>
  outcomeBytesMost(1) + rangeBytesMax * recipientCount

/** Has the journal room for the outcomes of one more attempt, whatever they are? */
export function canRecord(journal: Journal): boolean {
  const bytes = Math.min(outcomeBytesMost(notesMax), journal.grid.segmentBytes / 4)
  return journal.room(bytes, 'accepted mail') === 'yes'
}

/** Is one of the notes of this kind? */
export function hasKind(notes: readonly OutcomeNote[], kind: OutcomeNote['kind']): boolean {
  for (const note of notes) if (note.kind === kind) return true
  return false
}

const relayedOf = (outcome: Outcome): Relayed | undefined =>
  outcome.kind === 'delivered' ? outcome.relayed : undefined
