import { expect, test } from 'vitest'
import { position, type Position } from '../../src/base/position.js'
import { Marks } from '../../src/lane/marks.js'

const at = (n: number): Position => position(n)

test('what is marked is fresh until it is taken for a record', () => {
  const marks = new Marks()
  for (let n = 1; n <= 5; n++) marks.add(at(8 * n))
  expect([marks.count, marks.freshCount]).toEqual([5, 5])
  expect(marks.takeFresh(3)).toEqual([8, 16, 24])
  expect([marks.count, marks.freshCount]).toEqual([5, 2])
  expect(marks.takeFresh(9)).toEqual([32, 40])
  expect(marks.takeFresh(9)).toEqual([])
})

test('a mark says nothing of its neighbours, wherever in the log it is', () => {
  for (const place of [0, 8, 65_528, 65_536, 2 ** 31, 2 ** 32 + 8, 2 ** 50]) {
    const marks = new Marks()
    marks.add(at(place))
    const near = [place - 65_536, place - 8, place, place + 8, place + 256, place + 65_536]
    expect(near.map((n) => n >= 0 && marks.has(at(n)))).toEqual([false, false, true, false, false, false])
  }
})

test('a mark that is made twice is recorded once', () => {
  const marks = new Marks(at(8))
  expect([marks.restore(at(24)), marks.restore(at(24))]).toEqual([true, false])
  marks.add(at(24))
  expect([marks.has(at(24)), marks.count, marks.freshCount, marks.lastRecord]).toEqual([true, 1, 0, 8])
})

test('marks are forgotten chunks behind the runner, except by a reader of an earlier moment', () => {
  const marks = new Marks()
  const places = [0, 65_528, 65_536, 131_072]
  for (const place of places) marks.add(at(place))
  const seen = (): boolean[] => places.map((place) => marks.has(at(place)))
  const then = marks.snapshot()
  marks.add(at(65_544))
  marks.passed(at(131_064))
  expect([seen(), marks.count]).toEqual([[false, false, true, true], 3])
  expect([...places, 65_544].map((place) => then.has(at(place)))).toEqual([true, true, true, true, false])
  expect(marks.snapshot().has(at(65_544))).toBe(true)
})
