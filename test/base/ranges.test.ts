import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countIn, forEachIn, toRanges } from '../../src/base/ranges.js'

const anyIndexes = fc.uniqueArray(fc.nat(300), { maxLength: 200 })

test('ranges name exactly the indexes that they were made of, in order', () => {
  fc.assert(
    fc.property(anyIndexes, (indexes) => {
      const ranges = toRanges([...indexes])
      const visited: number[] = []
      forEachIn(ranges, (index) => visited.push(index))
      expect(visited).toEqual([...indexes].sort((a, b) => a - b))
      expect(countIn(ranges)).toBe(indexes.length)
    }),
  )
})

test('ranges are ascending and apart, so there is one way to write a set', () => {
  fc.assert(
    fc.property(anyIndexes, (indexes) => {
      const ranges = toRanges([...indexes])
      const firsts = ranges.filter((_, i) => i % 2 === 0)
      const lasts = ranges.filter((_, i) => i % 2 === 1)
      expect(firsts.every((first, i) => first <= lasts[i]!)).toBe(true)
      expect(firsts.slice(1).every((first, i) => first - lasts[i]! > 1)).toBe(true)
    }),
  )
})

test('neighbours are one range and no index is none', () => {
  expect(toRanges([3, 1, 2, 7])).toEqual([1, 3, 7, 7])
  expect(toRanges([])).toEqual([])
})
