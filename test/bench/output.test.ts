/** What a bench prints is what it measured. */
import { expect, test } from 'vitest'
import { Output, spreadOf } from '../../bench/output.js'

function printed(json: boolean, print: (output: Output) => void): string[] {
  const lines: string[] = []
  print(new Output(json, (line) => lines.push(line)))
  return lines
}

test('the median of an even number of measurements lies between the two in the middle', () => {
  expect(spreadOf([9, 1, 4, 2])).toEqual({ median: 3, least: 1, most: 9, count: 4 })
  expect(spreadOf([9, 1, 4])).toEqual({ median: 4, least: 1, most: 9, count: 3 })
})

test('a spread of nothing is refused, not zero', () => {
  expect(() => spreadOf([])).toThrow(RangeError)
})

test('JSON output is one object a line, and no notes', () => {
  const lines = printed(true, (output) => {
    output.table('rates', [{ a: 1 }, { a: spreadOf([1, 2]) }])
    output.facts('machine', { node: 'v20' })
    output.note('for people')
  })
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { title: 'rates', a: 1 },
    { title: 'rates', a: { median: 1.5, least: 1, most: 2, count: 2 } },
    { title: 'machine', node: 'v20' },
  ])
})

test('a table shows a cell that only some rows have, and the range of a spread', () => {
  const text = printed(false, (output) =>
    output.table('rates', [{ name: 'x', rate: spreadOf([1, 2, 3]) }, { name: 'y' }]),
  ).join('\n')
  expect(text).toContain('2 (1–3)')
  expect(text).toContain('–')
})
