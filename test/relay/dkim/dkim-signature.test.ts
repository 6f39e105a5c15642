import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyHash } from '../../../src/relay/dkim/dkim-signature.js'
import { onTheWire } from './dkim-fixture.js'
import { relaxedBody } from './dkim-verifier.js'

function hashOf(pieces: readonly Buffer[]): string {
  const body = new BodyHash()
  for (const piece of pieces) body.update(piece)
  return body.digest()
}

const sha256 = (text: string): string => createHash('sha256').update(text, 'latin1').digest('base64')

test.each([
  ['nothing', '', ''],
  ['empty lines alone', '\r\n\r\n', ''],
  ['blanks alone', ' \t', ''],
  ['blanks and empty lines, RFC 6376 §3.4.5', ' C \r\nD \t E\r\n\r\n\r\n', ' C\r\nD E\r\n'],
  ['a last line without an end', 'a', 'a\r\n'],
  ['a CR by itself', 'a\rb', 'a\r\nb\r\n'],
  ['a CR at the end', 'a\r', 'a\r\n'],
  ['two CRs before an LF', 'a\r\r\nb', 'a\r\n\r\nb\r\n'],
  ['an LF by itself', 'a \nb', 'a\r\nb\r\n'],
  ['dots', '.\r\n..\r\n', '.\r\n..\r\n'],
  ['eight bits and controls', '\xff\x00\x0b \xa0\r\n', '\xff\x00\x0b \xa0\r\n'],
])('of a body with %s the relaxed form is hashed, wherever the pieces part', (_, text, form) => {
  const data = Buffer.from(text, 'latin1')
  expect(hashOf([data])).toBe(sha256(form))
  for (let i = 0; i <= data.length; i++)
    expect(hashOf([data.subarray(0, i), data.subarray(i)])).toBe(sha256(form))
})

test('what is hashed is what leaves, whatever stands in it and however it comes', () => {
  const part = fc.constantFrom('\r', '\n', '\r\n', '\r\n\r\n', ' ', '\t', 'a', '.', '\xff')
  fc.assert(
    fc.property(fc.array(fc.array(part, { maxLength: 8 }), { maxLength: 8 }), (parts) => {
      const pieces = parts.map((piece) => Buffer.from(piece.join(''), 'latin1'))
      const wire = onTheWire(Buffer.concat(pieces)).toString('latin1')
      expect(hashOf(pieces)).toBe(sha256(relaxedBody(wire)))
    }),
  )
})

test('a piece that is looked at stays as it is', () => {
  const piece = Buffer.from('a\rb\r\n')
  hashOf([piece])
  expect(piece.toString()).toBe('a\rb\r\n')
})
