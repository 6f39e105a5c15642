/** Messages of `mailq` as text, where their addresses are printable ASCII: from the frame into the
 * output, without an object on the way: half the time (bench scale).
 * Invariant: it writes what `textOf` says, or nothing: then that has to be asked. What is not shown
 * is not looked at: `log verify` decodes all. */
import type { MetMessage } from '../../../src/inspect/messages/queued-message.js'
import { EncodedEnvelope } from '../../../src/record/encoded-envelope.js'
import { listingIndent, listingWidths, queueMarks, reasonLine, type PlainPiece } from './mailq-text.js'
import { minuteText, reasonsByIndex, secondOf, senderText, shortTime } from '../text/shown-text.js'

/** More than a thousand messages, whose frames are one read of a walk. */
const fullBytes = 256 * 1024
/** Most mail waits for the same sites, for the same reasons. */
const reasonsMax = 10_000
/** Longer notes are read again each time. */
const notesBytesMax = 512

interface Reason {
  /** The notes of which it is the reason, and of how many recipients. */
  readonly notes: Buffer
  readonly recipientCount: number
  /** undefined: there are several. */
  readonly line: Buffer | undefined
}

const indent = Buffer.from(listingIndent, 'latin1')
const [space, lineFeed, questionMark, zero] = [0x20, 0x0a, 0x3f, 0x30]

export class PlainListing {
  /** What goes beyond its end is not written, and found out. */
  readonly #text = Buffer.allocUnsafe(2 * fullBytes)
  /** By 31 bits of the checksum of their notes: V8 finds a small number faster. */
  readonly #reasons = new Map<number, Reason>()
  #takenAt = 0
  #at = 0
  #count = 0
  #dataBytes = 0

  /** What was taken should be written, and `reset` called. */
  get isFull(): boolean {
    return this.#at >= fullBytes
  }

  /** @returns whether it is listed; when not, `textOf` says how it is
   * @throws WaybillError LOG_CORRUPT */
  add(message: MetMessage): boolean {
    const { envelope } = message
    if (message.waiting !== undefined || !(envelope instanceof EncodedEnvelope)) return false
    const { dataBytes } = envelope
    const reason = this.#reasonOf(envelope)
    const end = reason === undefined ? -1 : this.#write(message, envelope, dataBytes, reason)
    if (end < 0 || end >= this.#text.length) return false
    this.#at = end
    this.#count++
    this.#dataBytes += dataBytes
    return true
  }

  /** What was added since the last call, until `reset`; undefined: nothing. */
  take(): PlainPiece | undefined {
    if (this.#count === 0) return undefined
    const text = this.#text.subarray(this.#takenAt, this.#at)
    const piece = { kind: 'plain', text, count: this.#count, dataBytes: this.#dataBytes } as const
    this.#takenAt = this.#at
    this.#count = this.#dataBytes = 0
    return piece
  }

  /** Nobody needs the texts any more. */
  reset(): void {
    this.#takenAt = this.#at = 0
  }

  /** @returns where it ends; -1 where an address or the id is no printable ASCII */
  #write(
    { where, uncertain }: MetMessage,
    envelope: EncodedEnvelope,
    dataBytes: number,
    reason: Buffer,
  ): number {
    const text = this.#text
    const from = this.#at
    text[from] = lineFeed
    let at = envelope.copyId(text, from + 1)
    if (at < 0) return at
    at = this.#put(queueMarks[where], at)
    if (uncertain) text[at++] = questionMark
    while (at < from + 1 + listingWidths.id) text[at++] = space
    at = this.#field(String(dataBytes), listingWidths.size, at)
    at = this.#timeField(envelope.acceptedAt, at)
    text[at++] = space
    const senderAt = at
    at = envelope.copySender(text, at)
    if (at === senderAt) at = this.#put(senderText(''), at)
    if (at < 0) return at
    text[at++] = lineFeed
    reason.copy(text, at)
    return envelope.copyRecipients(text, at + reason.length, indent, lineFeed)
  }

  /** ASCII, behind a space and to the right of its column. */
  #field(text: string, width: number, at: number): number {
    for (let left = width + 1 - text.length; left > 1; left--) this.#text[at++] = space
    this.#text[at++] = space
    return this.#put(text, at)
  }

  #put(text: string, at: number): number {
    for (let i = 0; i < text.length; i++) this.#text[at++] = text.charCodeAt(i)
    return at
  }

  /** As `shortTime`, without a string that is made for it. */
  #timeField(acceptedAt: number, at: number): number {
    const minute = minuteText(acceptedAt)
    if (minute === undefined) return this.#field(shortTime(acceptedAt), listingWidths.time, at)
    const second = secondOf(acceptedAt)
    at = this.#field(minute, listingWidths.time - 2, at)
    this.#text[at++] = zero + Math.floor(second / 10)
    this.#text[at++] = zero + (second % 10)
    return at
  }

  /** The line with the reason for which all recipients wait. */
  #reasonOf(envelope: EncodedEnvelope): Buffer | undefined {
    const { notesChecksum, recipientCount } = envelope
    if (notesChecksum < 0) return undefined
    const key = notesChecksum >> 1
    const known = this.#reasons.get(key)
    if (known?.recipientCount === recipientCount && envelope.hasNotes(known.notes)) return known.line
    const notes = envelope.encodedNotes!
    const line = commonReason(envelope)
    if (notes.length > notesBytesMax) return line
    if (this.#reasons.size >= reasonsMax) this.#reasons.clear()
    this.#reasons.set(key, { notes: Buffer.from(notes), recipientCount, line })
    return line
  }
}

function commonReason(envelope: EncodedEnvelope): Buffer | undefined {
  const { notes, recipientCount } = envelope.decode()
  if (recipientCount === 0) return undefined
  const reasonAt = reasonsByIndex(notes, recipientCount)
  const first = reasonAt(0) ?? ''
  for (let index = 1; index < recipientCount; index++) if ((reasonAt(index) ?? '') !== first) return undefined
  return Buffer.from(first === '' ? '' : reasonLine(first))
}
