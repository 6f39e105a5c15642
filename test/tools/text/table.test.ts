import { expect, test } from 'vitest'
import { table } from '../../../tools/commands/text/shown-text.js'

test('words stand to the left, numbers to the right, and a column is as wide as its widest cell', () => {
  const rows = [
    ['mx.example.net', 7, ''],
    ['a', 12_345, 'why'],
  ]
  expect(table(['name', 'count', 'reason'], rows).split('\n')).toEqual([
    'name             count  reason',
    'mx.example.net       7',
    'a               12 345  why',
  ])
})

test('a table has more rows than a call takes arguments', () => {
  const rows = Array.from({ length: 150_000 }, (_, i) => [`host${i}`, i])
  expect(table(['name', 'count'], rows).split('\n').at(-1)).toBe('host149999  149 999')
})

test('text of others ends no line of a table', () => {
  expect(table(['name', 'reason'], [['a', 'no\x1b[2J\nb  fine']])).toBe('name  reason\na     no?[2J?b  fine')
})
