/** CRC-32 (IEEE 802.3), running: `crc32(b, crc32(a))` is the checksum of a followed by b. Two
 * implementations of one polynomial, by length: a loop over tables is faster for short pieces, and
 * a call into zlib from about 300 bytes on. bench/checksum.ts holds the numbers. */
import { crc32 as zlibCrc32 } from 'node:zlib'

export const zlibFromBytes = 288

/** @param seed a checksum to continue from, or any 32-bit number that the reader also knows
 * @returns an unsigned 32-bit integer */
export const crc32 = (bytes: Uint8Array, seed = 0): number => crc32Of(bytes, 0, bytes.length, seed)

/** The same of the bytes from `from` up to `to`. */
export function crc32Of(bytes: Uint8Array, from: number, to: number, seed: number): number {
  return to - from < zlibFromBytes
    ? byTables(bytes, from, to, seed)
    : zlibCrc32(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), seed >>> 0)
}

/** The checksum of A followed by B, from those of A (with any seed) and of B (with seed 0): B is
 * not read again.
 * @param secondBytes length of B, below 2³¹
 * @see zlib's crc32_combine: a checksum is a polynomial, and what follows A multiplies it by
 * x^(8 × length) */
export function crc32Joined(first: number, second: number, secondBytes: number): number {
  let power = shortPowers[secondBytes & shortMask]!
  let bits = 3 + shortBits // Of 8 × length: powers of x², x⁴, x⁸ …
  for (let left = secondBytes >>> shortBits; left > 0; left >>>= 1, bits++)
    if ((left & 1) !== 0) power = product(squares[bits]!, power)
  return (product(power, first) ^ second) >>> 0
}

/** The polynomial 1; bits are in reflected order. */
const unit = 0x80000000 | 0
const generator = 0xedb88320 | 0

/** The product of two polynomials modulo the generator. */
function product(a: number, b: number): number {
  let sum = 0
  for (let bit = unit; a !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) {
      sum ^= b
      a ^= bit
    }
    b = (b >>> 1) ^ (-(b & 1) & generator)
  }
  return sum
}

/** x to the 2ⁿ. */
const squares = new Int32Array(34)
squares[0] = 1 << 30
for (let n = 1; n < squares.length; n++) squares[n] = product(squares[n - 1]!, squares[n - 1]!)

/** Eight bytes a step ("slicing by 8"): table k holds the remainder of a byte that k
 * zero bytes follow. */
function byTables(bytes: Uint8Array, from: number, to: number, seed: number): number {
  let rest = ~seed
  let at = from
  for (const last = to - 8; at <= last; at += 8)
    rest =
      tables[0x700 + ((bytes[at]! ^ rest) & 0xff)]! ^
      tables[0x600 + ((bytes[at + 1]! ^ (rest >>> 8)) & 0xff)]! ^
      tables[0x500 + ((bytes[at + 2]! ^ (rest >>> 16)) & 0xff)]! ^
      tables[0x400 + (bytes[at + 3]! ^ (rest >>> 24))]! ^
      tables[0x300 + bytes[at + 4]!]! ^
      tables[0x200 + bytes[at + 5]!]! ^
      tables[0x100 + bytes[at + 6]!]! ^
      tables[bytes[at + 7]!]!
  for (; at < to; at++) rest = (rest >>> 8) ^ tables[(rest ^ bytes[at]!) & 0xff]!
  return ~rest >>> 0
}

const tables = new Int32Array(8 * 256)
for (let byte = 0; byte < 256; byte++) {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (-(rest & 1) & generator)
  tables[byte] = rest
}
for (let i = 0; i < 7 * 256; i++) tables[i + 256] = (tables[i]! >>> 8) ^ tables[tables[i]! & 0xff]!

/** x to the 8 × n, for lengths of mail as it mostly is. */
const shortBits = 12
const shortMask = (1 << shortBits) - 1
const shortPowers = new Int32Array(1 << shortBits)
shortPowers[0] = unit
for (let n = 1; n < shortPowers.length; n++) {
  const before = shortPowers[n - 1]!
  shortPowers[n] = (before >>> 8) ^ tables[before & 0xff]!
}
