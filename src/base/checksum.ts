/** CRC-32 (IEEE 802.3), running: `crc32(b, crc32(a))` is the checksum of a followed by b.
 * Two implementations of one polynomial, by length: the call into zlib costs more than a short loop over a table,
 * and beats it from about 300 bytes. bench/checksum.ts holds the numbers. */
import { crc32 as zlibCrc32 } from 'node:zlib'
import CRC32 from 'crc-32'

export const zlibFromBytes = 288

/** @param seed a checksum to go on from, or any 32-bit number that the reader of the checksum knows as well
 * @returns an unsigned 32-bit integer */
export function crc32(bytes: Uint8Array, seed = 0): number {
  return bytes.length < zlibFromBytes ? CRC32.buf(bytes, seed) >>> 0 : zlibCrc32(bytes, seed >>> 0)
}
