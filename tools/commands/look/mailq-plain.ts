/** Messages of `mailq` whose addresses are printable ASCII, as text or as JSON, in half the time.
 * They go from the frame into the output, without an object on the way (bench whole-queue).
 * Invariant: it writes what `textOf` or `jsonOf` says, or nothing: then that has to be asked. What
 * is not shown is not looked at: `log verify` decodes all. */
import type { MetMessage } from '../../../src/inspect/messages/queued-message.js'
import { EncodedEnvelope, wordsOf } from '../../../src/record/encoded-envelope.js'
import { listingIndent, listingWidths, queueMarks, reasonLine, type PlainPiece } from './mailq-text.js'
import { escapedJson, minuteText, reasonsByIndex, secondOf, senderText } from '../text/shown-text.js'

/** More than a thousand messages, whose frames are one read of a walk. */
const fullBytes = 256 * 1024
/** Most mail waits for the same sites, for the same reasons. */
const reasonsMax = 8192
const knownBytesMax = 2 * 1024 * 1024
/** Of one, with its notes. */
const reasonBytesMax = 2048
/** Slots that are looked at for one: what servers say may have the same hash. */
const probesMax = 16

/** Writes one message, whose recipients all wait for the same reason. */
interface Form {
  /** @param text bytes beyond its end are not written
   * @returns where the message ends; -1 where it is not plain */
  readonly write: (text: Buffer, at: number, message: PlainMessage, reason: CommonReasons) => number
  /** What is written for a reason. @param reason undefined: none is known */
  readonly shownOf: (reason: string | undefined) => string
}

interface PlainMessage extends MetMessage {
  readonly envelope: EncodedEnvelope
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
    const end = this.#reasons.find(envelope)
      ? this.#form.write(this.#text, this.#at, message, this.#reasons)
      : -1
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

/** Fields of a slot: the hash of the notes, and of how many recipients they are; where they begin
 * in the bytes, where they end and what is shown begins, and where that ends. An empty slot has no
 * end: 0. */
const [hashField, countField, notesField, shownField, endField, fieldCount] = [0, 1, 2, 3, 4, 5]
const slotCount = 2 * reasonsMax
/** In the place of the end: the recipients wait for several reasons. */
const several = -1

/** Reasons for which all recipients of a message wait, by its encoded notes; and the one of them
 * that was found last. They lie in two pieces of memory: objects took three times as long. */
class CommonReasons {
  readonly #form: Form
  readonly #slots = new Int32Array(slotCount * fieldCount)
  readonly #bytes = Buffer.allocUnsafeSlow(knownBytesMax)
  readonly #words = wordsOf(this.#bytes)
  #count = 0
  #usedBytes = 0
  #from = 0
  #end = 0

  constructor(form: Form) {
    this.#form = form
  }

  /** @returns whether there is one, and it can be seen */
  find(envelope: EncodedEnvelope): boolean {
    const { notesHash, recipientCount } = envelope
    if (notesHash < 0) return false
    const slots = this.#slots
    for (let probe = 0; probe < probesMax; probe++) {
      const slot = slotOf(notesHash, probe)
      const end = slots[slot + endField]!
      if (end === 0) return this.#learn(envelope, notesHash, slot)
      if (slots[slot + hashField] !== notesHash || slots[slot + countField] !== recipientCount) continue
      const from = slots[slot + shownField]!
      if (!envelope.hasNotes(this.#words, slots[slot + notesField]!, from)) continue
      this.#from = from
      this.#end = end
      return end !== several
    }
    return false
  }

  /** Writes what is shown of the found one. @returns where it ends */
  put(text: Buffer, at: number): number {
    this.#bytes.copy(text, at, this.#from, this.#end)
    return at + this.#end - this.#from
  }

  /** The same, apart. */
  get shown(): Buffer {
    return this.#bytes.subarray(this.#from, this.#end)
  }

  /** @param slot an empty one */
  #learn(envelope: EncodedEnvelope, hash: number, slot: number): boolean {
    const notes = envelope.encodedNotes!
    const reason = this.#read(envelope)
    const shown = Buffer.from(reason === several ? '' : this.#form.shownOf(reason))
    const bytes = notes.length + shown.length
    if (bytes > reasonBytesMax) return false
    if (this.#count === reasonsMax || this.#usedBytes + bytes > knownBytesMax) {
      this.#slots.fill(0)
      this.#count = this.#usedBytes = 0
      slot = slotOf(hash, 0)
    }
    const from = this.#usedBytes + notes.copy(this.#bytes, this.#usedBytes)
    const end = from + shown.copy(this.#bytes, from)
    const { recipientCount } = envelope
    this.#slots.set([hash, recipientCount, this.#usedBytes, from, reason === several ? several : end], slot)
    this.#count++
    this.#usedBytes = this.#end = end
    this.#from = from
    return reason !== several
  }

  /** @returns the one that all have; undefined: none is known */
  #read(envelope: EncodedEnvelope): string | undefined | typeof several {
    const { notes, recipientCount } = envelope.decode()
    if (recipientCount === 0) return several
    const reasonAt = reasonsByIndex(notes, recipientCount)
    const first = reasonAt(0)
    for (let index = 1; index < recipientCount; index++) if (reasonAt(index) !== first) return several
    return first
  }
}

const slotOf = (hash: number, probe: number): number => ((hash + probe) % slotCount) * fieldCount

const [space, lineFeed, questionMark, zero] = [0x20, 0x0a, 0x3f, 0x30]
/** Bytes that are shown as they are. */
const printableAscii = Uint8Array.from({ length: 256 }, (_, byte) => Number(byte >= 0x20 && byte <= 0x7e))
const unescapedInJson = printableAscii.map((isShown, byte) =>
  '"\\'.includes(String.fromCharCode(byte)) ? 0 : isShown,
)

const nextLine = Buffer.from(`\n${listingIndent}`)

const textForm: Form = {
  shownOf: (reason = '') => (reason === '' ? '' : reasonLine(reason)) + listingIndent,
  write: (text, from, { envelope, where, uncertain }, reason) => {
    text[from] = lineFeed
    let at = envelope.copyId(text, from + 1, printableAscii)
    if (at < 0) return at
    at = put(text, at, queueMarks[where])
    if (uncertain) text[at++] = questionMark
    at = putColumn(text, at, from + 1 + listingWidths.id, envelope.dataBytes)
    text[at++] = space
    at = putTime(text, at, envelope.acceptedAt)
    if (at < 0) return at
    text[at++] = space
    at = putSender(text, at, envelope, printableAscii)
    if (at < 0) return at
    text[at++] = lineFeed
    at = envelope.copyRecipients(text, reason.put(text, at), nextLine, printableAscii)
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
  recipients: Buffer.from('","recipients":[{"address":"'),
  /** Each behind the first, behind the reason of the one before. */
  recipient: Buffer.from('},{"address":"'),
  lane: Buffer.from('}],"lane":'),
  attempts: Buffer.from(',"attempts":'),
  dueAt: Buffer.from(',"due_time":'),
  waitingCount: Buffer.from(',"recipient_count":'),
  uncertain: Buffer.from(',"uncertain":true'),
} as const

const noBytes = Buffer.alloc(0)

const jsonForm: Form = {
  shownOf: (reason) =>
    reason === undefined ? '"' : `","delay_reason":${escapedJson(JSON.stringify(reason))}`,
  write: (text, from, message, reason) => {
    const { envelope, dueAt } = message
    if (envelope.mayAsk) return -1
    let at = put(text, putBytes(text, from, members.where), message.where)
    at = envelope.copyId(text, putBytes(text, at, members.id), unescapedInJson)
    if (at < 0) return at
    at = putNumber(text, putBytes(text, at, members.acceptedAt), Math.floor(envelope.acceptedAt / 1000))
    at = putNumber(text, putBytes(text, at, members.dataBytes), envelope.dataBytes)
    at = putSender(text, putBytes(text, at, members.sender), envelope, unescapedInJson)
    if (at < 0) return at
    const { recipientCount } = envelope
    const between = recipientCount > 1 ? Buffer.concat([reason.shown, members.recipient]) : noBytes
    at = putBytes(text, at, members.recipients)
    at = envelope.copyRecipients(text, at, between, unescapedInJson)
    if (at < 0) return at
    at = putBytes(text, reason.put(text, at), members.lane)
    at = putNumber(text, at, message.lane)
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

/** Below it digits are written without a string. */
const smallNumbersEnd = 2 ** 31

/** @param number not negative, whole */
function putNumber(text: Buffer, at: number, number: number): number {
  if (number >= smallNumbersEnd) return put(text, at, String(number))
  let end = at + 1
  for (let left = number; left >= 10; left = (left / 10) | 0) end++
  putDigits(text, at, end, number)
  return end
}

/** To the right of the column of sizes, behind the one of ids. */
function putColumn(text: Buffer, at: number, idEnd: number, number: number): number {
  const end = Math.max(at, idEnd) + 1 + listingWidths.size
  if (number >= columnNumbersEnd) {
    do text[at++] = space
    while (at <= idEnd)
    return put(text, at, String(number))
  }
  putDigits(text, at, end, number)
  return end
}

const columnNumbersEnd = 10 ** listingWidths.size

/** Down to `at`: spaces stand before the number. */
function putDigits(text: Buffer, at: number, end: number, number: number): void {
  let left = number | 0
  let to = end
  do {
    const tens = (left / 10) | 0
    text[--to] = zero + left - 10 * tens
    left = tens
  } while (left > 0)
  while (to > at) text[--to] = space
}

function putBytes(text: Buffer, at: number, bytes: Buffer): number {
  bytes.copy(text, at)
  return at + bytes.length
}

/** As `shortTime`. @returns -1: there is no such time */
function putTime(text: Buffer, at: number, timeMs: number): number {
  const { texts } = minutes
  const from = minutes.find(timeMs)
  if (from < 0) return from
  for (let i = 0; i < minuteLength; i++) text[at++] = texts[from + i]!
  const second = secondOf(timeMs)
  const tens = (second / 10) | 0
  text[at++] = zero + tens
  text[at++] = zero + second - 10 * tens
  return at
}

const minuteLength = listingWidths.time - 2
const minutesMax = 20_000

/** Minutes as `minuteText` writes them. */
class Minutes {
  readonly texts: Buffer = Buffer.allocUnsafeSlow(minutesMax * minuteLength)
  readonly #places = new Map<number, number>()

  /** @returns where its text begins; -1: there is no such time, or it is longer than others */
  find(timeMs: number): number {
    const minute = Math.floor(timeMs / 60_000)
    const known = this.#places.get(minute)
    if (known !== undefined) return known
    const text = minuteText(timeMs)
    if (text?.length !== minuteLength) return -1
    if (this.#places.size === minutesMax) this.#places.clear()
    const place = this.#places.size * minuteLength
    this.texts.write(text, place, 'latin1')
    this.#places.set(minute, place)
    return place
  }
}

const minutes = new Minutes()

function putSender(text: Buffer, at: number, envelope: EncodedEnvelope, copied: Uint8Array): number {
  const end = envelope.copySender(text, at, copied)
  return end === at ? put(text, at, senderText('')) : end
}
