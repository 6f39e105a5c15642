/** An envelope where it stands in its frame, read as far as it is asked.
 * Why: a walk through a whole queue looks at a few fields of each message; decoding them all took
 * three quarters of its time (bench whole-queue).
 * Invariant: it says what `decodeEnvelope` says, or throws as that does. What it is not asked is
 * not checked. */
import { decodeEnvelope, fieldsBeforeDsn, fieldsMin, fieldsWithKey, type Envelope } from './envelope.js'
import { frameHeaderBytes, payloadAt, payloadBytesAt } from './frame.js'

/** What can be had of an envelope without decoding all of it. */
export type EnvelopeFacts = Pick<
  Envelope,
  | 'id'
  | 'sender'
  | 'acceptedAt'
  | 'attempts'
  | 'recipientCount'
  | 'recipients'
  | 'recipientFrames'
  | 'dataBytes'
  | 'terms'
>

/** Heads of MessagePack. */
const heads = {
  float64: 0xcb,
  uint8: 0xcc,
  uint16: 0xcd,
  uint32: 0xce,
  text8: 0xd9,
  text16: 0xda,
  list16: 0xdc,
} as const
/** No place: what stands there is left to `decodeEnvelope`. */
const odd = -1
/** V8 reads a word as fast as a byte. */
const wordBytes = 4

export const wordsOf = ({ buffer, byteOffset, length }: Buffer): DataView =>
  new DataView(buffer, byteOffset, length)

function mixed(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x9e37_79b1)
  return product ^ (product >>> 15)
}

export class EncodedEnvelope implements EnvelopeFacts {
  #buffer: Buffer = Buffer.alloc(0)
  #words: DataView = wordsOf(this.#buffer)
  #frameAt = 0
  #end = 0
  #fieldCount = 0
  #idAt = 0
  #senderAt = 0
  #acceptedAt = 0
  #recipientCount = 0
  #recipientsAt = 0
  /** Nobody has asked: 0. What is asked next mostly stands a little behind. */
  #dataBytesAt = 0
  #notesAt = 0
  #notesEnd = 0
  #decoded: Envelope | undefined

  /** From now on it is the envelope of this frame, as long as the buffer does not change.
   * @param frameAt of a frame that verifies
   * @throws WaybillError LOG_CORRUPT */
  aim(buffer: Buffer, frameAt: number): void {
    const from = frameAt + frameHeaderBytes
    if (buffer !== this.#buffer) {
      this.#buffer = buffer
      this.#words = wordsOf(buffer)
    }
    this.#frameAt = frameAt
    this.#end = from + payloadBytesAt(buffer, frameAt)
    this.#dataBytesAt = this.#notesAt = 0
    this.#decoded = undefined
    if (!this.#readHead(from)) this.#decoded = this.decode()
  }

  /** All of it, apart from the buffer. @throws WaybillError LOG_CORRUPT */
  decode(): Envelope {
    return this.#decoded ?? decodeEnvelope(payloadAt(this.#buffer, this.#frameAt))
  }

  get id(): Envelope['id'] {
    return (this.#textAt(this.#idAt) as Envelope['id'] | undefined) ?? this.#whole.id
  }

  get sender(): string {
    return this.#textAt(this.#senderAt) ?? this.#whole.sender
  }

  get acceptedAt(): number {
    return this.#decoded?.acceptedAt ?? this.#acceptedAt
  }

  get recipientCount(): number {
    return this.#decoded?.recipientCount ?? this.#recipientCount
  }

  get recipients(): readonly string[] {
    const length = this.#listLength(this.#recipientsAt)
    if (this.#decoded !== undefined || length !== this.#recipientCount) return this.#whole.recipients
    const recipients: string[] = []
    let at = this.#firstOf(this.#recipientsAt)
    for (let i = 0; i < length; i++) {
      const text = this.#textAt(at)
      if (text === undefined) return this.#whole.recipients
      recipients.push(text)
      at = this.#behind(at)
    }
    return recipients
  }

  get recipientFrames(): readonly number[] {
    const isEmpty = this.#decoded === undefined && this.#listLength(this.#behind(this.#recipientsAt)) === 0
    return isEmpty ? none : this.#whole.recipientFrames
  }

  get dataBytes(): number {
    if (this.#decoded !== undefined) return this.#decoded.dataBytes
    const bytes = this.#countAt(this.#findDataBytes())
    return bytes < 0 ? this.#whole.dataBytes : bytes
  }

  get attempts(): number {
    // Behind the id, the sender, and when it was accepted.
    const attempts = this.#decoded === undefined ? this.#countAt(this.#fieldsBehind(this.#idAt, 3)) : odd
    return attempts < 0 ? this.#whole.attempts : attempts
  }

  /** May it have requests of its sender, a key or terms? */
  get mayAsk(): boolean {
    return this.#decoded !== undefined || this.#fieldCount > fieldsBeforeDsn
  }

  get terms(): Envelope['terms'] {
    return this.#decoded === undefined && this.#fieldCount <= fieldsWithKey ? undefined : this.#whole.terms
  }

  /** Copies its id, where all bytes of it may be copied.
   * @param into bytes beyond its end are not written, and count in what is returned
   * @param copied 1 for each byte that may be copied
   * @returns where the copy ends; -1 for another text */
  copyId(into: Buffer, at: number, copied: Uint8Array): number {
    return this.#copy(this.#idAt, into, at, copied)
  }

  /** The same of its sender. */
  copySender(into: Buffer, at: number, copied: Uint8Array): number {
    return this.#copy(this.#senderAt, into, at, copied)
  }

  /** The same of its recipients, with `between` between them; -1 also where it does not name all of
   * them. */
  copyRecipients(into: Buffer, at: number, between: Buffer, copied: Uint8Array): number {
    const length = this.#listLength(this.#recipientsAt)
    if (this.#decoded !== undefined || length !== this.#recipientCount) return odd
    let field = this.#firstOf(this.#recipientsAt)
    for (let i = 0; i < length && at >= 0; i++) {
      if (i > 0) {
        between.copy(into, at)
        at += between.length
      }
      at = this.#copy(field, into, at, copied)
      field = this.#behind(field)
    }
    return at
  }

  /** The notes as they stand there, as long as the buffer does not change; undefined where that
   * cannot be seen. */
  get encodedNotes(): Buffer | undefined {
    return this.#findNotes() ? this.#buffer.subarray(this.#notesAt, this.#notesEnd) : undefined
  }

  /** A number of 31 bits, the same for the same encoded notes, and mostly another one for others;
   * -1 where they cannot be seen. */
  get notesHash(): number {
    if (!this.#findNotes()) return odd
    const words = this.#words
    const end = this.#notesEnd
    let at = this.#notesAt
    let hash = end - at
    if (hash < wordBytes) return hash
    for (; at + wordBytes < end; at += wordBytes) hash = mixed(hash, words.getInt32(at, true))
    // The last word may begin within the one before.
    return mixed(hash, words.getInt32(end - wordBytes, true)) >>> 1
  }

  /** Are these its encoded notes? @param notes holds them from `from` up to `to` */
  hasNotes(notes: DataView, from: number, to: number): boolean {
    if (!this.#findNotes() || to - from !== this.#notesEnd - this.#notesAt) return false
    const words = this.#words
    const end = this.#notesEnd
    let at = this.#notesAt
    if (end - at < wordBytes) {
      for (; at < end; at++, from++) if (notes.getUint8(from) !== words.getUint8(at)) return false
      return true
    }
    for (; at + wordBytes < end; at += wordBytes, from += wordBytes)
      if (notes.getInt32(from, true) !== words.getInt32(at, true)) return false
    return notes.getInt32(to - wordBytes, true) === words.getInt32(end - wordBytes, true)
  }

  get #whole(): Envelope {
    return (this.#decoded ??= this.decode())
  }

  /** @returns whether it stands there as our writer writes it */
  #readHead(from: number): boolean {
    const buffer = this.#buffer
    this.#fieldCount = buffer[from] === heads.list16 ? (buffer[from + 1]! << 8) | buffer[from + 2]! : 0
    if (this.#fieldCount < fieldsMin) return false
    this.#idAt = from + 3
    this.#senderAt = this.#behind(this.#idAt)
    let at = this.#behind(this.#senderAt)
    this.#acceptedAt = this.#countAt(at)
    // Behind it, attempts and flags.
    at = this.#fieldsBehind(at, 3)
    this.#recipientCount = this.#countAt(at)
    this.#recipientsAt = this.#behind(at)
    return this.#acceptedAt >= 0 && this.#recipientCount >= 0 && this.#recipientsAt >= 0
  }

  /** Behind the recipients, their frames, and the kind of the data's place and the place. */
  #findDataBytes(): number {
    if (this.#dataBytesAt === 0) this.#dataBytesAt = this.#fieldsBehind(this.#recipientsAt, 4)
    return this.#dataBytesAt
  }

  /** @returns whether they can be seen */
  #findNotes(): boolean {
    if (this.#decoded !== undefined) return false
    if (this.#notesAt !== 0) return this.#notesAt > 0
    // Behind the data's size, its checksum, and what the envelope replaces.
    const at = this.#fieldsBehind(this.#findDataBytes(), 3)
    const noteCount = this.#listLength(at)
    let end = this.#firstOf(at)
    for (let i = 0; i < noteCount; i++) {
      const fieldCount = this.#listLength(end)
      end = fieldCount < 0 ? odd : this.#fieldsBehind(this.#firstOf(end), fieldCount)
    }
    const isSeen = noteCount >= 0 && end >= 0
    this.#notesAt = isSeen ? at : odd
    this.#notesEnd = end
    return isSeen
  }

  /** undefined where no text of ASCII stands, or all is decoded: of other bytes, which need not be
   * UTF-8, the library says what they mean. */
  #textAt(at: number): string | undefined {
    const end = this.#behindOne(at)
    const from = this.#textFrom(at, end)
    if (from < 0) return undefined
    const buffer = this.#buffer
    for (let i = from; i < end; i++) if (buffer[i]! > 0x7f) return undefined
    return buffer.toString('latin1', from, end)
  }

  #copy(at: number, into: Buffer, to: number, copied: Uint8Array): number {
    const end = this.#behindOne(at)
    const from = this.#textFrom(at, end)
    if (from < 0) return odd
    const buffer = this.#buffer
    for (let i = from; i < end; i++) {
      const byte = buffer[i]!
      if (copied[byte] === 0) return odd
      into[to++] = byte
    }
    return to
  }

  /** Where the bytes of the text at this place begin; `odd` where none stands, or all is
   * decoded. @param end of the field */
  #textFrom(at: number, end: number): number {
    if (end < 0 || this.#decoded !== undefined) return odd
    const head = this.#buffer[at]!
    if ((head & 0xe0) === 0xa0) return at + 1
    return head === heads.text8 ? at + 2 : head === heads.text16 ? at + 3 : odd
  }

  /** Not negative, `odd` where no count stands. */
  #countAt(at: number): number {
    if (this.#behindOne(at) < 0) return odd
    const buffer = this.#buffer
    const head = buffer[at]!
    if (head < 0x80) return head
    switch (head) {
      case heads.uint8:
        return buffer[at + 1]!
      case heads.uint16:
        return buffer.readUInt16BE(at + 1)
      case heads.uint32:
        return buffer.readUInt32BE(at + 1)
      case heads.float64: {
        const value = buffer.readDoubleBE(at + 1)
        return Number.isSafeInteger(value) && value >= 0 ? value : odd
      }
      default:
        return odd
    }
  }

  /** `odd` where no list stands. */
  #listLength(at: number): number {
    if (at < 0 || at >= this.#end) return odd
    const head = this.#buffer[at]!
    if ((head & 0xf0) === 0x90) return head & 0x0f
    return head === heads.list16 && at + 3 <= this.#end ? this.#buffer.readUInt16BE(at + 1) : odd
  }

  #firstOf(listAt: number): number {
    return listAt + (this.#buffer[listAt] === heads.list16 ? 3 : 1)
  }

  /** Where the field stands that is so many fields behind the one at `at`; as `#behind`. */
  #fieldsBehind(at: number, count: number): number {
    for (let field = 0; field < count; field++) at = this.#behind(at)
    return at
  }

  /** Where the field behind the one at `at` stands; `odd` when that cannot be seen. */
  #behind(at: number): number {
    const length = this.#listLength(at)
    if (length < 0) return this.#behindOne(at)
    let next = this.#firstOf(at)
    for (let i = 0; i < length && next >= 0; i++) next = this.#behindOne(next)
    return next
  }

  /** The same for a text or a count: no list that is walked over has lists in it. */
  #behindOne(at: number): number {
    const end = this.#end
    if (at < 0 || at >= end) return odd
    const buffer = this.#buffer
    const head = buffer[at]!
    let next = odd
    if (head < 0x80) next = at + 1
    else if ((head & 0xe0) === 0xa0) next = at + 1 + (head & 0x1f)
    else if (head === heads.float64) next = at + 9
    else if (head === heads.text8) next = at + 2 + (buffer[at + 1] ?? 0)
    else if (head === heads.uint8) next = at + 2
    else if (head === heads.uint32) next = at + 5
    else if (head === heads.uint16) next = at + 3
    else if (head === heads.text16) next = at + 3 + (((buffer[at + 1] ?? 0) << 8) | (buffer[at + 2] ?? 0))
    return next <= end ? next : odd
  }
}

const none: readonly number[] = []
