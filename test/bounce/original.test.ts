import { expect, test } from 'vitest'
import { headerBytesMax, originalHeader } from '../../src/bounce/original.js'

const header = (text: string, dataBytes = text.length): string =>
  originalHeader(Buffer.from(text, 'latin1'), dataBytes).toString('latin1')

test.each([
  ['A: b\r\nC: d\r\n e\r\n\r\nbody: x', 'A: b\r\nC: d\r\n e\r\n'],
  ['A: b\nC: d\n\nbody', 'A: b\r\nC: d\r\n'],
  ['A: b', 'A: b\r\n'],
  ['A: b\r\nC: d', 'A: b\r\nC: d\r\n'],
  ['no header at all\r\n', ''],
  ['', ''],
  ['\r\nA: b\r\n', ''],
  [' x\r\nA: b\r\n', ''],
  ['A: b\r\nnot a field\r\nC: d\r\n', 'A: b\r\n'],
  ['A: b\r\n\0\x7fC: d\x1b\r\n', 'A: b\r\nC: d\r\n'],
  // A bare CR leaves as CRLF: what the next server takes for the body is no header here.
  ['A: b\rC: d\r\rbody: x\r\n', 'A: b\r\nC: d\r\n'],
  ['A: b\r\r\nbody: x', 'A: b\r\n'],
  ['A: b\r\n \r\n c\r\nD: e\r\n\r\nbody: x', 'A: b\r\n \r\n c\r\nD: e\r\n'],
  ['A: \x85\xe9\t\r\n', 'A: \x85\xe9\t\r\n'],
])('of %j the header is %j', (text, expected) => {
  expect(header(text)).toBe(expected)
})

test('a field that the end of the given data cuts short is left out', () => {
  expect(header('A: b\r\nC: dddd', 1000)).toBe('A: b\r\n')
  expect(header('A: bbbb', 1000)).toBe('A: bbbb\r\n')
})

test('a header is cut at a field before its bound', () => {
  const long = header(`A: ${'x '.repeat(400)}\r\n`.repeat(200))
  expect(long.length).toBeLessThanOrEqual(headerBytesMax)
  expect(long.length).toBeGreaterThan(headerBytesMax - 2000)
  expect(long.endsWith('x \r\n')).toBe(true)
})

test('a line longer than 998 octets is split, nothing is lost', () => {
  const split = header(`A: ${'x'.repeat(5000)}\r\n`)
  expect(Math.max(...split.split('\r\n').map((line) => line.length))).toBe(998)
  expect(split.replace(/\r\n ?/g, '')).toBe(`A: ${'x'.repeat(5000)}`)
})
