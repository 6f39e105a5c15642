/** MessagePack written field by field, for the records that every message has: the same bytes as `encodeFields`, without arrays that
 * only carry fields and without a look at what each of them is (bench/codec.ts holds the numbers).
 * Invariant: payloads lie one behind the other in slabs that are never used again, so each stays what it is as long as
 * somebody holds it. One payload is written at a time. */

const slabBytes = 64 * 1024
/** The longest head of a field: an integer beyond 32 bits. */
const headBytesMax = 9

class PayloadWriter {
  #slab = Buffer.allocUnsafeSlow(slabBytes)
  #start = 0
  #at = 0

  /** The head of a list of so many fields, which follow. */
  list(length: number): this {
    this.#reserve(headBytesMax)
    const slab = this.#slab
    if (length < 0x10) slab[this.#at++] = 0x90 | length
    else if (length < 0x10000) this.#head16(0xdc, length)
    else this.#head32(0xdd, length)
    return this
  }

  /** A non-negative integer up to 2⁵³; beyond 32 bits a float, which holds it exactly. */
  count(value: number): this {
    this.#reserve(headBytesMax)
    const slab = this.#slab
    if (value < 0x80) slab[this.#at++] = value
    else if (value < 0x100) {
      slab[this.#at++] = 0xcc
      slab[this.#at++] = value
    } else if (value < 0x10000) this.#head16(0xcd, value)
    else if (value < 0x1_0000_0000) this.#head32(0xce, value)
    else {
      slab[this.#at++] = 0xcb
      slab.writeDoubleBE(value, this.#at)
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
    const slab = this.#slab
    let at = this.#at
    if (length < 0x20) slab[at++] = 0xa0 | length
    else {
      slab[at++] = 0xd9
      slab[at++] = length
    }
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 0x7f) return this.#anyText(text)
      slab[at + i] = unit
    }
    this.#at = at + length
    return this
  }

  texts(texts: readonly string[]): this {
    this.list(texts.length)
    for (let i = 0; i < texts.length; i++) this.text(texts[i]!)
    return this
  }

  /** What was written since the last end. */
  end(): Buffer {
    const payload = this.#slab.subarray(this.#start, this.#at)
    this.#start = this.#at
    return payload
  }

  #anyText(text: string): this {
    const bytes = Buffer.byteLength(text)
    this.#reserve(headBytesMax + bytes)
    const slab = this.#slab
    if (bytes < 0x20) slab[this.#at++] = 0xa0 | bytes
    else if (bytes < 0x100) {
      slab[this.#at++] = 0xd9
      slab[this.#at++] = bytes
    } else if (bytes < 0x10000) this.#head16(0xda, bytes)
    else this.#head32(0xdb, bytes)
    this.#at += slab.write(text, this.#at, 'utf8')
    return this
  }

  #head16(code: number, value: number): void {
    const slab = this.#slab
    slab[this.#at] = code
    slab[this.#at + 1] = value >>> 8
    slab[this.#at + 2] = value
    this.#at += 3
  }

  #head32(code: number, value: number): void {
    this.#slab[this.#at] = code
    this.#slab.writeUInt32BE(value, this.#at + 1)
    this.#at += 5
  }

  /** Makes place. A payload that was begun moves to a new slab as a whole. */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#slab.length) return
    const begun = this.#at - this.#start
    const slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, 2 * (begun + bytes)))
    this.#slab.copy(slab, 0, this.#start, this.#at)
    this.#slab = slab
    this.#start = 0
    this.#at = begun
  }
}

/** Up to this a loop over ASCII is faster than a call into the runtime. */
const loopCharsMax = 48

/** All records are encoded one at a time, in one step: they share it. */
export const payload: PayloadWriter = new PayloadWriter()
