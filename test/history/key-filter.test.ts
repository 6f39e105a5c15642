/** The filter beside a file of the history. */
import { expect, test } from 'vitest'
import { KeyFilter } from '../../src/history/key-filter.js'

test('what was added is found, also from a file, and hardly anything else', () => {
  const filter = new KeyFilter()
  const keys = Array.from({ length: 10_000 }, (_, i) => `recipient someone-${i}@example.net`)
  for (const key of keys) filter.add(key)
  const read = KeyFilter.ofFile(filter.sealed)!
  expect(keys.filter((key) => !read.mayHave(key))).toEqual([])
  expect(keys.filter((key) => read.mayHave(`${key}.test`)).length).toBeLessThan(100)
})

test('a file that a crash has cut says nothing', () => {
  const filter = new KeyFilter()
  filter.add('id X')
  const { sealed } = filter
  expect(KeyFilter.ofFile(sealed.subarray(0, 4096))).toBeUndefined()
  expect(KeyFilter.ofFile(Buffer.alloc(sealed.length))).toBeUndefined()
})
