import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fold, oneLine } from '../../src/bounce/safe-text.js'

test('line breaks and tabs become spaces, other controls go', () => {
  expect(oneLine(' 550-a\r\n550\tb\0\x1b[31m\u2028c\u202e\ufeff ', 100)).toBe('550-a 550 b[31m c')
})

test('what is too long is cut between characters', () => {
  expect(oneLine('\u00e9'.repeat(50), 20)).toBe(`${'\u00e9'.repeat(8)}...`)
  expect(oneLine('x'.repeat(20), 20)).toBe('x'.repeat(20))
})

test('any text becomes one well-formed line within its bound', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 3, max: 50 }), (text, bytesMax) => {
      const line = oneLine(text, bytesMax)
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(bytesMax)
      expect(line).not.toMatch(/\p{Cc}|\p{Cs}|\p{Zl}|\p{Zp}/u)
    }),
  )
})

test('folding keeps the words and their order, and only indents after the first line', () => {
  const word = fc.string({ unit: fc.constantFrom('a', '\u00e9', '.'), minLength: 1, maxLength: 90 })
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), (words) => {
      const lines = fold(words.join(' '), '    ').split('\r\n')
      expect(lines.map((line) => line.trim()).join(' ')).toBe(words.join(' '))
      expect(lines.slice(1).every((line) => /^ {4}\S/.test(line))).toBe(true)
      expect(lines.every((line) => Buffer.byteLength(line) <= 76 || !line.trim().includes(' '))).toBe(true)
    }),
  )
})

test('a word too long for any line is broken', () => {
  const lines = fold('x'.repeat(2500), ' ').split('\r\n')
  expect(lines.map((line) => line.length)).toEqual([900, 901, 701])
})
