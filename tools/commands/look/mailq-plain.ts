/** Messages of `mailq`, as text or as JSON, where their addresses are printable ASCII: from the
 * frame into the output, without an object on the way: half the time (bench whole-queue).
 * Invariant: it writes what `textOf` or `jsonOf` says, or nothing: then that has to be asked. What
 * is not shown is not looked at: `log verify` decodes all. */
import type { MetMessage } from '../../../src/inspect/messages/queued-message.js'
import { EncodedEnvelope } from '../../../src/record/encoded-envelope.js'
import { listingIndent, listingWidths, queueMarks, reasonLine, type PlainPiece } from './mailq-text.js'
import {
  escapedJson,
  minuteText,
  reasonsByIndex,
  secondOf,
  senderText,
  shortTime,
} from '../text/shown-text.js'

/** More than a thousand messages, whose frames are one read of a walk. */
const fullBytes = 256 * 1024
/** Most mail waits for the same sites, for the same reasons. */
const reasonsMax = 10_000
/** Longer notes are read again each time. */
const notesBytesMax = 512

/** Writes one message, whose recipients all wait for the same reason. */
interface Form {
  /** @param text bytes beyond its end are not written
   * @returns where the message ends; -1 where it is not plain */
  readonly write: (text: Buffer, at: number, message: PlainMessage, reason: Reason) => number
  /** @param reason undefined: none is known */
  readonly reasonOf: (reason: string | undefined) => Reason
}

interface PlainMessage extends MetMessage {
  readonly envelope: EncodedEnvelope
}

/** What a form writes for it. */
interface Reason {
  readonly before: Buffer
  readonly between: Buffer
  readonly behind: Buffer
}

export class PlainListing {
  /** What goes beyond its end is not written, and found out. */
  readonly #text = Buffer.allocUnsafe(2 * fullBytes)
  readonly #form: Form
  readonly #reasons: CommonReasons
  #takenAt = 0
  #at = 0
  #count = 0
  #dataBytes = 0

  constructor(form: 'text' | 'json') {
    this.#form = forms[form]
    this.#reasons = new CommonReasons(this.#form)
  }

  /** What was taken should be written, and `reset` called. */
  get isFull(): boolean {
    return this.#at >= fullBytes
  }

  /** @returns whether it is listed; when not, `textOf` or `jsonOf` says how it is
   * @throws WaybillError LOG_CORRUPT */
  add(message: MetMessage): boolean {
    if (!isPlain(message)) return false
    const { envelope } = message
    const { dataBytes } = envelope
    const reason = this.#reasons.of(envelope)
    const end = reason === undefined ? -1 : this.#form.write(this.#text, this.#at, message, reason)
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
}

const isPlain = (message: MetMessage): message is PlainMessage =>
  message.waiting === undefined && message.envelope instanceof EncodedEnvelope

/** Reasons for which all recipients of a message wait, by its encoded notes. */
class CommonReasons {
  readonly #form: Form
  /** By 31 bits of the checksum of the notes: V8 finds a small number faster. */
  readonly #known = new Map<number, KnownReason>()

  constructor(form: Form) {
    this.#form = form
  }

  /** @returns undefined: there are several, or it cannot be seen */
  of(envelope: EncodedEnvelope): Reason | undefined {
    const { notesChecksum, recipientCount } = envelope
    if (notesChecksum < 0) return undefined
    const key = notesChecksum >> 1
    const known = this.#known.get(key)
    if (known?.recipientCount === recipientCount && envelope.hasNotes(known.notes)) return known.reason
    const notes = envelope.encodedNotes!
    const reason = this.#read(envelope)
    if (notes.length > notesBytesMax) return reason
    if (this.#known.size >= reasonsMax) this.#known.clear()
    this.#known.set(key, { notes: Buffer.from(notes), recipientCount, reason })
    return reason
  }

  #read(envelope: EncodedEnvelope): Reason | undefined {
    const { notes, recipientCount } = envelope.decode()
    if (recipientCount === 0) return undefined
    const reasonAt = reasonsByIndex(notes, recipientCount)
    const first = reasonAt(0)
    for (let index = 1; index < recipientCount; index++) if (reasonAt(index) !== first) return undefined
    return this.#form.reasonOf(first)
  }
}

interface KnownReason {
  /** The notes of which it is the reason, and of how many recipients. */
  readonly notes: Buffer
  readonly recipientCount: number
  readonly reason: Reason | undefined
}

const [space, lineFeed, questionMark, zero] = [0x20, 0x0a, 0x3f, 0x30]
/** Bytes that are shown as they are. */
const printableAscii = Uint8Array.from({ length: 256 }, (_, byte) => Number(byte >= 0x20 && byte <= 0x7e))
const unescapedInJson = printableAscii.map((isShown, byte) =>
  '"\\'.includes(String.fromCharCode(byte)) ? 0 : isShown,
)

const textForm: Form = {
  reasonOf: (reason = '') => ({
    before: Buffer.from((reason === '' ? '' : reasonLine(reason)) + listingIndent),
    between: Buffer.from(`\n${listingIndent}`),
    behind: Buffer.from('\n'),
  }),
  write: (text, from, { envelope, where, uncertain }, { before, between }) => {
    text[from] = lineFeed
    let at = envelope.copyId(text, from + 1, printableAscii)
    if (at < 0) return at
    at = put(text, at, queueMarks[where])
    if (uncertain) text[at++] = questionMark
    while (at < from + 1 + listingWidths.id) text[at++] = space
    at = putField(text, at, String(envelope.dataBytes), listingWidths.size)
    at = putTime(text, at, envelope.acceptedAt)
    text[at++] = space
    at = putSender(text, at, envelope, printableAscii)
    if (at < 0) return at
    text[at++] = lineFeed
    at = putBytes(text, at, before)
    at = envelope.copyRecipients(text, at, between, printableAscii)
    if (at >= 0) text[at++] = lineFeed
    return at
  },
}

/** What stands before each value, in the order of `jsonOf`. */
const members = {
  where: Buffer.from('{"queue_name":"'),
  id: Buffer.from('","queue_id":"'),
  acceptedAt: Buffer.from('","arrival_time":'),
  dataBytes: Buffer.from(',"message_size":'),
  sender: Buffer.from(',"force_expired":false,"sender":"'),
  attempts: Buffer.from(',"attempts":'),
  dueAt: Buffer.from(',"due_time":'),
  waitingCount: Buffer.from(',"recipient_count":'),
  uncertain: Buffer.from(',"uncertain":true'),
} as const

const jsonForm: Form = {
  reasonOf: (reason) => {
    const member = reason === undefined ? '' : `,"delay_reason":${escapedJson(JSON.stringify(reason))}`
    return {
      before: Buffer.from('","recipients":[{"address":"'),
      between: Buffer.from(`"${member}},{"address":"`),
      behind: Buffer.from(`"${member}}],"lane":`),
    }
  },
  write: (text, from, message, { before, between, behind }) => {
    const { envelope, dueAt } = message
    if (envelope.mayAsk) return -1
    let at = put(text, putBytes(text, from, members.where), message.where)
    at = envelope.copyId(text, putBytes(text, at, members.id), unescapedInJson)
    if (at < 0) return at
    at = putNumber(text, putBytes(text, at, members.acceptedAt), Math.floor(envelope.acceptedAt / 1000))
    at = putNumber(text, putBytes(text, at, members.dataBytes), envelope.dataBytes)
    at = putSender(text, putBytes(text, at, members.sender), envelope, unescapedInJson)
    if (at < 0) return at
    at = envelope.copyRecipients(text, putBytes(text, at, before), between, unescapedInJson)
    if (at < 0) return at
    at = putNumber(text, putBytes(text, at, behind), message.lane)
    at = putNumber(text, putBytes(text, at, members.attempts), envelope.attempts)
    at = putBytes(text, at, members.dueAt)
    at = dueAt === Infinity ? put(text, at, 'null') : putNumber(text, at, Math.floor(dueAt / 1000))
    at = putNumber(text, putBytes(text, at, members.waitingCount), message.waitingCount)
    if (message.uncertain) at = putBytes(text, at, members.uncertain)
    at = put(text, at, '}')
    text[at++] = lineFeed
    return at
  },
}

const forms = { text: textForm, json: jsonForm } as const

/** Each writes at a place, and returns where it ends. */
function put(text: Buffer, at: number, ascii: string): number {
  for (let i = 0; i < ascii.length; i++) text[at++] = ascii.charCodeAt(i)
  return at
}

const putNumber = (text: Buffer, at: number, number: number): number => put(text, at, String(number))

function putBytes(text: Buffer, at: number, bytes: Buffer): number {
  bytes.copy(text, at)
  return at + bytes.length
}

/** Behind a space and to the right of its column. */
function putField(text: Buffer, at: number, ascii: string, width: number): number {
  for (let left = width + 1 - ascii.length; left > 1; left--) text[at++] = space
  text[at++] = space
  return put(text, at, ascii)
}

/** As `shortTime`, without a string that is made for it. */
function putTime(text: Buffer, at: number, timeMs: number): number {
  const minute = minuteText(timeMs)
  if (minute === undefined) return putField(text, at, shortTime(timeMs), listingWidths.time)
  const second = secondOf(timeMs)
  at = putField(text, at, minute, listingWidths.time - 2)
  text[at++] = zero + Math.floor(second / 10)
  text[at++] = zero + (second % 10)
  return at
}

function putSender(text: Buffer, at: number, envelope: EncodedEnvelope, copied: Uint8Array): number {
  const end = envelope.copySender(text, at, copied)
  return end === at ? put(text, at, senderText('')) : end
}
