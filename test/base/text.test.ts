import { expect, test } from 'vitest'
import { countText } from '../../src/base/text.js'

test.each([
  [0, '0 messages'],
  [1, '1 message'],
  [2, '2 messages'],
  [999, '999 messages'],
  [1000, '1 000 messages'],
  [1_234_567, '1 234 567 messages'],
])('%d is told as %s', (count, text) => {
  expect(countText(count, 'message')).toBe(text)
})

test('a noun whose plural is its own is given both', () => {
  expect(countText(1, 'batch', 'batches')).toBe('1 batch')
  expect(countText(4, 'batch', 'batches')).toBe('4 batches')
})
