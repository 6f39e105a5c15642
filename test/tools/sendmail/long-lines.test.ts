import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shortLines } from '../../../tools/commands/sendmail/long-lines.js'

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
const longest = (text: string): number => Math.max(...text.split('\r\n').map((line) => line.length))

test.each([998, 10])('a line of %d octets stays as it is', (octets) => {
  const line = `${'x'.repeat(octets)}\r\n`
  expect(shortLines(line)).toBe(line)
})

test('a longer line is broken before a blank where there is one', () => {
  const line = `${'word '.repeat(400)}end\r\n`
  expect(longest(shortLines(line))).toBeLessThanOrEqual(998)
  expect(shortLines(line).replaceAll('\r\n ', ' ')).toBe(line)
})

test('elsewhere a space is put in, between characters', () => {
  const line = latin1(`x${'ü€😀'.repeat(500)}\r\n`)
  const broken = shortLines(line)
  expect(longest(broken)).toBeLessThanOrEqual(998)
  expect(broken.replaceAll('\r\n ', '')).toBe(line)
  for (const part of broken.split('\r\n'))
    expect(Buffer.from(part, 'latin1').toString()).not.toContain('\ufffd')
})

test('no octet of any text is lost', () => {
  const part = fc.oneof(
    fc.constantFrom(' ', '\t', '\r\n', '\r'),
    fc.integer({ min: 1, max: 2500 }).map((n) => 'y'.repeat(n)),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const text = `${parts.join('')}\r\n`
      const broken = shortLines(text)
      expect(longest(broken)).toBeLessThanOrEqual(999)
      expect(broken.replace(/[\r\n \t]/g, '')).toBe(text.replace(/[\r\n \t]/g, ''))
    }),
  )
})

test('a list without blanks is broken behind a comma', () => {
  const list = Array.from({ length: 60 }, (_, i) => `first.last-${i}@long-domain.example.net`)
  const lines = shortLines(`To: ${list.join(',')}\r\n`)
  const unfolded = lines.slice('To: '.length).split(',')
  expect(unfolded.map((address) => address.trim())).toEqual(list)
  expect(Math.max(...lines.split('\r\n').map(({ length }) => length))).toBeLessThan(999)
})

test.each([`Subject: x${' '.repeat(1200)}`, `Subject: x${' '.repeat(2500)}y`, '\t'.repeat(3000)])(
  'a run of blanks makes no line of blanks, which would end a header: %#',
  (line) => {
    const parts = shortLines(`${line}\r\n`).split('\r\n').slice(0, -1)
    expect(parts.slice(1).filter((part) => /^[ \t]*$/.test(part))).toEqual([])
    expect(parts.join('').replace(/[ \t]/g, '')).toBe(line.replace(/[ \t]/g, ''))
  },
)
