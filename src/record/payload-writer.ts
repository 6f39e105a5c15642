/** Writes MessagePack field by field, for the records that every message has: the same bytes as
 * `encodeFields`. It makes no arrays of fields and does not look at their types (bench/codec.ts
 * holds the numbers).
 * Invariant: one payload is written at a time: to where it was aimed if there is room, else into a
 * slab. Bytes of a slab are written once, so a payload never changes. */

const slabBytes = 64 * 1024
/** The longest head of a field: an integer beyond 32 bits. */
const headBytesMax = 9

class PayloadWriter {
  #slab = Buffer.allocUnsafeSlow(slabBytes)
  #slabUsed = 0
  /** Where the payload is being written: from `#start` up to `#at`, and not beyond `#limit`. */
  #buffer: Buffer = this.#slab
  #start = 0
  #at = 0
  #limit = slabBytes

  /** The next payload is written into this buffer from `at` on, if it ends at `limit` or before:
   * then it need not be copied. */
  aim(buffer: Buffer, at: number, limit: number): void {
    this.#buffer = buffer
    this.#start = this.#at = at
    this.#limit = limit
  }

  /** Length of what was written since the last end, or aim. */
  get bytes(): number {
    return this.#at - this.#start
  }

  /** Does it stand there? */
  isAt(buffer: Buffer, at: number): boolean {
    return this.#buffer === buffer && this.#start === at
  }

  /** The head of a list of so many fields, which follow. */
  list(length: number): this {
    this.#reserve(headBytesMax)
    const buffer = this.#buffer
    if (length < 0x10) buffer[this.#at++] = 0x90 | length
    else if (length < 0x10000) this.#head16(0xdc, length)
    else this.#head32(0xdd, length)
    return this
  }

  /** A non-negative integer up to 2⁵³; beyond 32 bits a float, which holds it exactly. */
  count(value: number): this {
    this.#reserve(headBytesMax)
    const buffer = this.#buffer
    if (value < 0x80) buffer[this.#at++] = value
    else if (value < 0x100) {
      buffer[this.#at++] = 0xcc
      buffer[this.#at++] = value
    } else if (value < 0x10000) this.#head16(0xcd, value)
    else if (value < 0x1_0000_0000) this.#head32(0xce, value)
    else {
      buffer[this.#at++] = 0xcb
      buffer.writeDoubleBE(value, this.#at)
      this.#at += 8
    }
    return this
  }

  counts(values: readonly number[]): this {
    this.list(values.length)
    for (let i = 0; i < values.length; i++) this.count(values[i]!)
    return this
  }

  text(text: string): this {
    const { length } = text
    if (length > loopCharsMax) return this.#anyText(text)
    this.#reserve(headBytesMax + length)
    const buffer = this.#buffer
    let at = this.#at
    if (length < 0x20) buffer[at++] = 0xa0 | length
    else {
      buffer[at++] = 0xd9
      buffer[at++] = length
    }
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 0x7f) return this.#anyText(text)
      buffer[at + i] = unit
    }
    this.#at = at + length
    return this
  }

  texts(texts: readonly string[]): this {
    this.list(texts.length)
    for (let i = 0; i < texts.length; i++) this.text(texts[i]!)
    return this
  }

  /** What was written since the last end, or aim. */
  end(): Buffer {
    const payload = this.#buffer.subarray(this.#start, this.#at)
    this.drop()
    return payload
  }

  /** As `end`, when the payload stands where it belongs. */
  drop(): void {
    if (this.#buffer === this.#slab) this.#slabUsed = this.#at
    this.aim(this.#slab, this.#slabUsed, this.#slab.length)
  }

  #anyText(text: string): this {
    const bytes = Buffer.byteLength(text)
    this.#reserve(headBytesMax + bytes)
    const buffer = this.#buffer
    if (bytes < 0x20) buffer[this.#at++] = 0xa0 | bytes
    else if (bytes < 0x100) {
      buffer[this.#at++] = 0xd9
      buffer[this.#at++] = bytes
    } else if (bytes < 0x10000) this.#head16(0xda, bytes)
    else this.#head32(0xdb, bytes)
    this.#at += buffer.write(text, this.#at, 'utf8')
    return this
  }

  #head16(code: number, value: number): void {
    const buffer = this.#buffer
    buffer[this.#at] = code
    buffer[this.#at + 1] = value >>> 8
    buffer[this.#at + 2] = value
    this.#at += 3
  }

  #head32(code: number, value: number): void {
    const buffer = this.#buffer
    const at = this.#at
    buffer[at] = code
    buffer[at + 1] = value >>> 24
    buffer[at + 2] = value >>> 16
    buffer[at + 3] = value >>> 8
    buffer[at + 4] = value
    this.#at += 5
  }

  /** Makes room. A payload that was begun moves to a slab as a whole. */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#limit) return
    const begun = this.bytes
    const from = this.#buffer
    let at = this.#slabUsed
    if (at + begun + bytes > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, 2 * (begun + bytes)))
      this.#slabUsed = at = 0
    }
    // If nothing was written, the start may lie behind the end of the buffer: there was no room at
    // all.
    if (begun > 0) from.copy(this.#slab, at, this.#start, this.#at)
    this.aim(this.#slab, at, this.#slab.length)
    this.#at = at + begun
  }
}

/** Up to this a loop over ASCII is faster than a call into the runtime. */
const loopCharsMax = 48

/** All records are encoded one at a time, in one step: they share it. */
export const payload: PayloadWriter = new PayloadWriter()
