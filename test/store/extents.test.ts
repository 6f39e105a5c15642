import fc from 'fast-check'
import { expect, test } from 'vitest'
import { extentsOf, fill } from '../../src/store/extents.js'

/** Bytes, and runs of zeroes of any length between them. */
const content = fc
  .array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 0, max: 3000 })), { maxLength: 6 })
  .map((parts) =>
    Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.alloc(part) : Buffer.from(part)))),
  )

test('what is read back is what was written, wherever it is read', () => {
  fc.assert(
    fc.property(content, fc.nat(10_000), fc.nat(9000), fc.nat(9000), (bytes, position, from, length) => {
      const into = Buffer.alloc(length, 0xff)
      fill(into, position + from, extentsOf(bytes, position))
      const expected = Buffer.alloc(length)
      bytes.copy(expected, 0, Math.min(from, bytes.length))
      expect(into.equals(expected)).toBe(true)
    }),
  )
})

test('zeroes at an end, and a long run inside, are not stored', () => {
  const one = Buffer.from('one')
  const batch = Buffer.concat([one, Buffer.alloc(2000), Buffer.from('end'), Buffer.alloc(100)])
  expect(extentsOf(batch, 4096)).toEqual([
    { at: 4096, upto: 4096 + 2003, bytes: one },
    { at: 4096 + 2003, upto: 4096 + batch.length, bytes: Buffer.from('end') },
  ])
  expect(extentsOf(Buffer.alloc(5000), 0)).toEqual([])
})

test('extents of one write never overlap and end where it ended', () => {
  fc.assert(
    fc.property(content, (bytes) => {
      const extents = extentsOf(bytes, 10)
      for (const [i, { at, upto, bytes: stored }] of extents.entries()) {
        expect(stored.length).toBeLessThanOrEqual(upto - at)
        expect(upto).toBe(extents[i + 1]?.at ?? 10 + bytes.length)
      }
    }),
  )
})
