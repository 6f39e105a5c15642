import { expect, test } from 'vitest'
import { position, type Position } from '../../src/base/position.js'
import { Marks } from '../../src/lane/marks.js'

const at = (n: number): Position => position(n)

test('what is marked is fresh until it is taken for a record, and marked until the runner has passed', () => {
  const marks = new Marks()
  for (let n = 1; n <= 5; n++) marks.add(at(n))
  expect([marks.count, marks.freshCount]).toEqual([5, 5])
  expect(marks.takeFresh(3)).toEqual([1, 2, 3])
  expect([marks.count, marks.freshCount]).toEqual([5, 2])
  expect(marks.takeFresh(9)).toEqual([4, 5])
  expect(marks.takeFresh(9)).toEqual([])
  marks.drop(at(2))
  expect([marks.has(at(2)), marks.has(at(3)), marks.count]).toEqual([false, true, 4])
})

test('a restored mark is in a record already and not fresh', () => {
  const marks = new Marks(at(8))
  marks.restore(at(3))
  expect([marks.has(at(3)), marks.freshCount, marks.lastRecord]).toEqual([true, 0, 8])
})
