import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32, crc32Joined } from '../../src/base/checksum.js'

const seed = fc.nat(0xffff_ffff)

test('the checksum of two pieces follows from those of each, whatever the length of the second', () => {
  const first = fc.uint8Array({ maxLength: 100 })
  const lengths = fc.oneof(fc.nat(600), fc.nat(20_000), fc.constantFrom(4095, 4096, 4097, 1 << 20))
  fc.assert(
    fc.property(first, lengths, seed, (before, bytes, given) => {
      const after = Buffer.alloc(bytes, 'some text')
      const joined = crc32Joined(crc32(before, given), crc32(after), bytes)
      expect(joined).toBe(crc32(Buffer.concat([before, after]), given))
    }),
  )
})

test('the checksum of twenty megabytes is joined like that of a line', () => {
  const long = Buffer.alloc(20_000_000, 'x')
  expect(crc32Joined(7, crc32(long), long.length)).toBe(crc32(long, 7))
})
