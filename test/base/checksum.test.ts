/** One polynomial, two implementations: nobody can see where one hands over to the other. */
import { crc32 as zlibCrc32 } from 'node:zlib'
import CRC32 from 'crc-32'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32, crc32Of, zlibFromBytes } from '../../src/base/checksum.js'

const anySeed = fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 })

test('the checksum is that of zlib for every length around the switch and every seed', () => {
  const bytes = Buffer.from(Array.from({ length: zlibFromBytes + 50 }, (_, i) => (i * 131 + 7) & 255))
  for (let length = 0; length <= bytes.length; length++)
    for (const seed of [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, -1, -5]) {
      const piece = bytes.subarray(0, length)
      expect(crc32(piece, seed)).toBe(zlibCrc32(piece, seed >>> 0))
    }
})

test('the checksum is that of an implementation that shares nothing with ours', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), anySeed, (bytes, seed) => {
      expect(crc32(bytes, seed)).toBe(CRC32.buf(bytes, seed) >>> 0)
    }),
  )
})

test('the checksum of a stretch is that of its bytes, wherever it begins and ends', () => {
  const bytes = Buffer.from(Array.from({ length: 2 * zlibFromBytes }, (_, i) => (i * 131 + 7) & 255))
  for (const from of [0, 1, 300])
    for (const to of [bytes.length - 1, bytes.length])
      expect(crc32Of(bytes, from, to, 5)).toBe(crc32(Buffer.from(bytes.subarray(from, to)), 5))
})

test('the checksum of a whole is that of its pieces one after the other, wherever they are cut', () => {
  const anyBytes = fc.uint8Array({ maxLength: 3 * zlibFromBytes })
  fc.assert(
    fc.property(anyBytes, fc.nat(), anySeed, (bytes, cut, seed) => {
      const at = cut % (bytes.length + 1)
      expect(crc32(bytes.subarray(at), crc32(bytes.subarray(0, at), seed))).toBe(crc32(bytes, seed))
    }),
  )
})

test('the checksum of the check string is the one that the standard names', () => {
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926)
})
