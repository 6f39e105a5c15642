/** The check of submitted data beside a naive one, over any splitting into pieces. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isWaybillError } from '../../src/errors.js'
import { DataCheck } from '../../src/engine/accept/data-check.js'

const lineBytesMax = 998

/** RFC 5321: at most 998 octets and CRLF; a lone LF ends a line too. */
function naiveVerdict(data: Buffer, bytesMax: number): string {
  if (data.length > bytesMax) return 'MESSAGE_TOO_LARGE'
  if (data.includes(0)) return 'NUL_IN_DATA'
  for (const line of data.toString('latin1').split(/\r?\n/))
    if (line.length > lineBytesMax) return 'LINE_TOO_LONG'
  return 'fine'
}

function verdict(pieces: readonly Buffer[], bytesMax: number): string {
  const check = new DataCheck(bytesMax, false)
  try {
    for (const piece of pieces) check.add(piece)
    check.end()
    return 'fine'
  } catch (error) {
    if (isWaybillError(error)) return error.code
    throw error
  }
}

function split(data: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...cuts.map((cut) => cut % (data.length + 1)), 0, data.length].sort((a, b) => a - b)
  return places.slice(1).map((place, i) => data.subarray(places[i], place))
}

/** Lines whose lengths are near the bound, with every kind of end. */
const anyLine = fc
  .record({
    length: fc.oneof(fc.nat(20), fc.integer({ min: 990, max: 1003 }), fc.integer({ min: 1990, max: 2005 })),
    end: fc.constantFrom('\n', '\r\n', '\r', '\r\r\n', ''),
  })
  .map(({ length, end }) => 'a'.repeat(length) + end)
const anyData = fc.array(anyLine, { maxLength: 12 }).map((lines) => Buffer.from(`${lines.join('')}\n`))

test('data is refused or not as the naive check says, however it is cut into pieces', () => {
  fc.assert(
    fc.property(anyData, fc.array(fc.nat(), { maxLength: 30 }), (data, cuts) => {
      expect(verdict(split(data, cuts), 1e6)).toBe(naiveVerdict(data, 1e6))
    }),
    { numRuns: 3000 },
  )
})

test('data that comes byte by byte is refused or not as in one piece', () => {
  fc.assert(
    fc.property(anyData, (data) => {
      const bytes = Array.from(data, (byte) => Buffer.of(byte))
      expect(verdict(bytes, 1e6)).toBe(naiveVerdict(data, 1e6))
    }),
    { numRuns: 300 },
  )
})

test.each([
  ['998 and LF', '\n', 998, 'fine'],
  ['998 and CRLF', '\r\n', 998, 'fine'],
  ['999 and LF', '\n', 999, 'LINE_TOO_LONG'],
  ['999 and CRLF', '\r\n', 999, 'LINE_TOO_LONG'],
])('a line of %s octets', (_, end, length, expected) => {
  expect(verdict([Buffer.from('a'.repeat(length) + end)], 1e6)).toBe(expected)
  expect(verdict([Buffer.from(`x\r\n${'a'.repeat(length)}${end}y`)], 1e6)).toBe(expected)
})

test('a last line of 998 octets needs no end', () => {
  expect(verdict([Buffer.from('a'.repeat(998))], 1e6)).toBe('fine')
})

test('a last line of 999 octets without an end is refused', () => {
  expect(verdict([Buffer.from('a'.repeat(999))], 1e6)).toBe('LINE_TOO_LONG')
})

test('a NUL is found in any piece, and its offset counts from the first', () => {
  const check = new DataCheck(1e6, false)
  check.add(Buffer.from('abc\r\n'))
  expect(() => check.add(Buffer.from('de\0f'))).toThrow(
    expect.objectContaining({ code: 'NUL_IN_DATA', place: { offsetBytes: 7 } }),
  )
})

test('the size is the sum of the pieces, and exactly the bound is accepted', () => {
  expect(verdict([Buffer.alloc(60, 97), Buffer.alloc(40, 97)], 100)).toBe('fine')
  expect(verdict([Buffer.alloc(60, 97), Buffer.alloc(41, 97)], 100)).toBe('MESSAGE_TOO_LARGE')
})
