import { expect, test } from 'vitest'
import { seriesOf, sinceFirst, thinned } from '../../src/console/facts/series.js'

const none = { delivered: [], deferred: [], failed: [] }

test('counts of a step become events a second, and a step without the relay a gap', () => {
  const { times, rates } = seriesOf({ ...none, fromAt: 60_000, stepMs: 60_000, accepted: [120, null] })
  expect(times).toEqual([60, 120])
  expect(rates.accepted).toEqual([2, null])
})

test('means leave out what is not known, and a span that has not ended', () => {
  const accepted = [1, 3, null, null, null, null, null, null, 8]
  const means = thinned(
    seriesOf({
      fromAt: 0,
      stepMs: 1000,
      accepted,
      delivered: accepted,
      deferred: accepted,
      failed: accepted,
    }),
    4,
  )
  expect(means.times).toEqual([0, 4])
  expect(means.rates.accepted).toEqual([2, null])
})

test('the time before the relay ran is left out, down to a least length', () => {
  const accepted = [null, null, null, 4, 5]
  const series = seriesOf({
    fromAt: 0,
    stepMs: 1000,
    accepted,
    delivered: accepted,
    deferred: accepted,
    failed: accepted,
  })
  expect(sinceFirst(series, 1).times).toEqual([3, 4])
  expect(sinceFirst(series, 4).rates.accepted).toEqual([null, null, 4, 5])
  expect(sinceFirst(seriesOf({ ...none, fromAt: 0, stepMs: 1000, accepted: [] }), 3).times).toEqual([])
})
