import { expect, test } from 'vitest'
import { HeaderEnd, headerFields, leadingFields } from '../../src/base/header.js'

/** @returns where the body begins in all the pieces together */
function bodyAt(pieces: readonly string[]): number {
  const end = new HeaderEnd()
  let before = 0
  for (const piece of pieces) {
    const at = end.find(Buffer.from(piece))
    if (at >= 0) return before + at
    before += piece.length
  }
  return -1
}

test.each([
  ['a: b\r\n\r\nc', 8],
  ['a: b\n\nc', 6],
  ['a: b\r\rc', 6],
  ['a: b\n\r\nc', 7],
  ['a: b\r\n\rc', 7],
  ['a: b\r\n\r\n\r\nc', 8],
  ['\r\nc', 2],
  ['\nc', 1],
  ['a: b\r\n c\r\n\r\n', 12],
  ['a: b\r\n', -1],
  ['a: b', -1],
  ['', -1],
])('the body of %j begins at %i, wherever the pieces part', (text, at) => {
  expect(bodyAt([text])).toBe(at)
  for (let i = 0; i < text.length; i++) expect(bodyAt([text.slice(0, i), text.slice(i)]), `at ${i}`).toBe(at)
  expect(bodyAt(text.split(''))).toBe(at)
})

const fieldsOf = (text: string): string[] | undefined =>
  headerFields(Buffer.from(text, 'latin1'))?.map(({ name, value }) => `${name}|${value}`)

test.each([
  ['A: b\r\nC:d\r\n\r\n', ['a| b', 'c|d']],
  ['A: b\nC:d\rE:\n\n', ['a| b', 'c|d', 'e|']],
  ['A: b\r\n c\r\n\td \r\nE: f', ['a| b c\td ', 'e| f']],
  ['From \t: a', ['from| a']],
  ['A: \xe9:\x0b', ['a| \xe9:\x0b']],
  ['', []],
])('the header %j has its fields', (text, fields) => {
  expect(fieldsOf(text)).toEqual(fields)
})

test.each([
  ['begins with a folded line', ' a: b\r\nc: d\r\n'],
  ['has a line without a colon', 'a: b\r\nc d\r\n'],
  ['begins like a mailbox file', 'From ada@example.org Sun Nov 22 10:00:00 2026\r\na: b\r\n'],
  ['has a blank in a name', 'a b: c\r\n'],
  ['has a field without a name', ': c\r\n'],
  ['has a name of other letters than ASCII', '\xe9: c\r\n'],
  ['has a line of blanks', 'a: b\r\n \t\r\nc: d\r\n'],
])('what %s is no header', (_, text) => {
  expect(fieldsOf(text)).toBeUndefined()
})

test('a header of very many lines takes no longer for each than one of few', () => {
  const folded = headerFields(Buffer.from(`a: b\r\n${' c\r\n'.repeat(100_000)}`))
  expect(folded?.map(({ value }) => value.length)).toEqual([200_002])
})

const leadingOf = (text: string): unknown => {
  const data = Buffer.from(text, 'latin1')
  const { fields, end, isCut } = leadingFields(data)
  return [
    fields.map(({ name, start, end: fieldEnd }) => `${name}=${data.toString('latin1', start, fieldEnd)}`),
    end,
    isCut,
  ]
}

test.each([
  ['A: b\r\nC: d\r\n e\r\n\r\nx', [['a=A: b\r\n', 'c=C: d\r\n e\r\n'], 16, false]],
  ['A: b\rC: d\nE: f\r\n\nx', [['a=A: b\r', 'c=C: d\n', 'e=E: f\r\n'], 16, false]],
  ['A: b\r\rC: d\r\n', [['a=A: b\r'], 5, false]],
  ['A: b\r\nno field\r\n', [['a=A: b\r\n'], 6, false]],
  ['A: b\r\n \r\n\t\r\n c\r\nD: e\r\n', [['a=A: b\r\n \r\n\t\r\n c\r\n', 'd=D: e\r\n'], 22, true]],
  [' \r\nA: b\r\n', [[], 0, false]],
  ['A: b\r\nC', [['a=A: b\r\n'], 6, false]],
  ['A: b', [['a=A: b'], 4, true]],
  ['', [[], 0, true]],
])('the fields at the beginning of %j', (text, expected) => {
  expect(leadingOf(text)).toEqual(expected)
})
