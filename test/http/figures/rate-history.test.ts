import { expect, test } from 'vitest'
import { minuteCount, RateHistory, secondCount } from '../../../src/http/figures/rate-history.js'
import { noCounts } from '../../../src/http/figures/traffic.js'

const start = Date.parse('2026-11-26T00:00:00Z')
const minute = 60_000
const accepted = (count: number) => ({ ...noCounts, accepted: count })

test('what was counted stands in its second and its minute, and what nobody counted is unknown', () => {
  const history = new RateHistory()
  history.add(accepted(3), start, start + 1000)
  history.add(accepted(4), start + 1000, start + 2000)
  const seconds = history.series('minutes', start + 2000)
  expect(seconds.accepted.slice(-3)).toEqual([null, 3, 4])
  expect(seconds.fromAt).toBe(start + 2000 - (secondCount - 1) * 1000)
  const day = history.series('day', start + 2000)
  expect([day.accepted.length, day.accepted.at(-1), day.accepted.at(-2)]).toEqual([minuteCount, 7, null])
})

test('a timer that comes late leaves no hole, and a machine that slept does', () => {
  const history = new RateHistory()
  history.add(accepted(1), start, start + 1000)
  history.add(accepted(1), start + 1000, start + 4100)
  expect(history.series('minutes', start + 4100).accepted.slice(-5)).toEqual([null, 1, 0, 0, 1])
  history.add(accepted(1), start + 4100, start + 60_000)
  const seconds = history.series('minutes', start + 60_000).accepted
  expect(seconds.slice(-12)).toEqual([null, ...Array<number>(10).fill(0), 1])
})

test('the day goes on in the next process, with a hole where none ran', () => {
  const first = new RateHistory()
  for (let i = 1; i <= 3; i++) first.add(accepted(i), start + (i - 1) * minute, start + i * minute)
  const text = first.text(start + 3 * minute)
  const second = new RateHistory()
  expect(second.take(text, start + 6 * minute)).toBe(true)
  second.add(accepted(9), start + 6 * minute, start + 6 * minute + 1000)
  expect(second.series('day', start + 6 * minute + 1000).accepted.slice(-6)).toEqual([1, 2, 3, null, null, 9])
  const late = new RateHistory()
  expect(late.take(text, start + (minuteCount + 2) * minute)).toBe(true)
  expect(late.series('day', start + (minuteCount + 2) * minute).accepted.slice(0, 2)).toEqual([3, null])
})

test('a text that is cut off, or none of ours, begins the day anew', () => {
  const history = new RateHistory()
  history.add(accepted(1), start, start + 1000)
  const text = history.text(start + 1000)
  const wrong = [text.slice(0, -20), '', 'null', '{}', text.replace('"version":1', '"version":2')]
  for (const one of wrong) expect(new RateHistory().take(one, start + 2000)).toBe(false)
})

test('memory is bounded, also when the clock is set back', () => {
  const history = new RateHistory()
  for (let i = 0; i < 3 * secondCount; i++) history.add(accepted(1), start + i * 1000, start + (i + 1) * 1000)
  const back = start - 86_400_000
  for (let i = 0; i < secondCount; i++) history.add(accepted(2), back + i * 1000, back + (i + 1) * 1000)
  expect(history.series('minutes', back + secondCount * 1000).accepted).toEqual(
    Array<number>(secondCount).fill(2),
  )
})
