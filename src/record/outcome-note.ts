/** Notes: the outcomes of some recipients of one message, as all records have them.
 * One note is for all recipients with the same kind, status and text. They are ranges of indexes in
 * the envelope that the start links to. */
import type { Relayed } from '../base/notification.js'
import { forEachIn, toRanges, type Ranges } from '../base/ranges.js'
import { WaybillError } from '../errors.js'
import { payload } from './payload-writer.js'

export type OutcomeKind = 'delivered' | 'deferred' | 'failed'

export interface OutcomeNote {
  readonly kind: OutcomeKind
  /** RFC 3463, '' for a delivery. */
  readonly status: string
  /** It and `remote` have at most 500 characters together. */
  readonly text: string
  readonly ranges: Ranges
  /** Of a delivery that is reported to the sender; undefined: it was the final delivery. */
  readonly relayed?: Relayed | undefined
  /** The server whose reply the text ends with, ASCII. A delivery has one only where
   * it was relayed. */
  readonly remote?: string | undefined
}

const relays: readonly (Relayed | undefined)[] = [undefined, 'without-dsn', 'with-dsn']
const codes: readonly OutcomeKind[] = ['delivered', 'deferred', 'failed']

/** Into the payload that is being written. */
export function writeNotes(notes: readonly OutcomeNote[]): void {
  payload.list(notes.length)
  for (const { kind, status, text, ranges, relayed, remote } of notes) {
    const hasServer = relayed !== undefined || (remote !== undefined && kind !== 'delivered')
    payload.list(hasServer ? (remote === undefined ? 5 : 6) : 4)
    payload.count(codes.indexOf(kind)).text(status).text(text).counts(ranges)
    if (hasServer) payload.count(relays.indexOf(relayed ?? 'without-dsn'))
    if (hasServer && remote !== undefined) payload.text(remote)
  }
}

/** @throws WaybillError LOG_CORRUPT */
export function notesFromFields(fields: readonly unknown[]): OutcomeNote[] {
  return fields.map((field) => {
    if (!Array.isArray(field)) throw malformed()
    const [code, status, text, ranges, relay, server] = field as unknown[]
    const kind = Number.isSafeInteger(code) ? codes[code as number] : undefined
    if (kind === undefined || typeof status !== 'string' || typeof text !== 'string' || !areRanges(ranges))
      throw malformed()
    if (relay === undefined) return { kind, status, text, ranges }
    const relayed = Number.isSafeInteger(relay) ? relays[relay as number] : undefined
    if (relayed === undefined || (server !== undefined && typeof server !== 'string')) throw malformed()
    const remote = server === undefined ? undefined : { remote: server }
    return { kind, status, text, ranges, ...(kind === 'delivered' ? { relayed } : undefined), ...remote }
  })
}

/** Notes in one record: a message with very many recipients, each with another text,
 * must fit a frame. */
export const notesMax = 100

/** Characters of a note's text, and the octets that it takes with its status. */
export const noteTextCharsMax = 500
const noteBytesMost = 3 * noteTextCharsMax + 64
/** Of the range of one recipient. */
export const rangeBytesMax = 10

/** Octets that the notes of so many recipients can take in one record, for any outcomes. */
export const notesBytesMost = (recipientCount: number): number =>
  Math.min(notesMax, recipientCount) * noteBytesMost + rangeBytesMax * recipientCount

/** The fields that are never given up. */
const plainClasses = codes.map((kind) => ({ kind, relayed: undefined }))
const allClasses: readonly Pick<OutcomeNote, 'kind' | 'relayed'>[] = [
  ...plainClasses,
  ...relays.slice(1).map((relayed) => ({ kind: 'delivered' as const, relayed })),
]

/** The same outcomes in at most `notesMax` notes: beyond that, texts are given up, kinds never, nor
 * where a delivery went. */
export function condensed(notes: readonly OutcomeNote[]): readonly OutcomeNote[] {
  if (notes.length <= notesMax) return notes
  const classes = notes.some(({ relayed }) => relayed !== undefined) ? allClasses : plainClasses
  const keptCount = notesMax - classes.length
  const kept = notes.slice(0, keptCount)
  for (const { kind, relayed } of classes) {
    const rest = notes.slice(keptCount).filter((note) => note.kind === kind && note.relayed === relayed)
    if (rest.length === 0) continue
    const indexes: number[] = []
    for (const { ranges } of rest) forEachIn(ranges, (index) => indexes.push(index))
    const note = { kind, status: rest[0]!.status, text: 'one of many outcomes', ranges: toRanges(indexes) }
    kept.push(relayed === undefined ? note : { ...note, relayed })
  }
  return kept
}

export function areRanges(value: unknown): value is Ranges {
  if (!Array.isArray(value) || value.length % 2 !== 0) return false
  let previous = -1
  return value.every((index: unknown, i) => {
    const fits = Number.isSafeInteger(index) && (index as number) >= previous + (i % 2 === 0 ? 1 : 0)
    previous = index as number
    return fits
  })
}

const malformed = (): WaybillError => new WaybillError('LOG_CORRUPT', 'an outcome note is malformed')
