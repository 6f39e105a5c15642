import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addressOf,
  filterNames,
  filterText,
  placeOf,
  selectorOf,
  spanMsOf,
  type Place,
} from '../../src/console/facts/place.js'

test('a link leads another reader to the same place', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  const filter = fc.record(
    Object.fromEntries(filterNames.map((name) => [name, text])) as Record<string, fc.Arbitrary<string>>,
    { requiredKeys: [] },
  )
  const place = fc.oneof(
    fc.record({
      view: fc.constantFrom('now', 'destinations', 'log', 'queues', 'nowhere'),
      filter: fc.constant({}),
    }),
    fc.record({ view: fc.constant('messages'), filter }),
    fc.record({ view: fc.constant('messages'), id: text, filter: fc.constant({}) }),
  ) as fc.Arbitrary<Place>
  fc.assert(
    fc.property(place, (one) => {
      expect(placeOf(addressOf(one))).toEqual(one)
    }),
  )
})

test('the empty sender is the null sender, and any other empty value is none', () => {
  expect(placeOf('#/messages?sender=&recipient=').filter).toEqual({ sender: '' })
  expect(filterText({ sender: '' })).toBe('messages from nobody (reports)')
})

test('a place that is not there is said to be none, and a broken link is no defect', () => {
  expect(placeOf('').view).toBe('now')
  expect(placeOf('#/nosuch').view).toBe('nowhere')
  expect(addressOf(placeOf('#/nosuch'))).toBe('#/nowhere')
  expect(placeOf('#/messages/%E0%A4%A').id).toBe('%E0%A4%A')
})

test('a verb without a filter is meant for all, and says so', () => {
  expect(selectorOf({})).toEqual({ all: true })
  expect(selectorOf({ lane: '3', olderThan: '2h', sender: '' })).toEqual({
    lane: 3,
    olderThan: 7_200_000,
    sender: '',
  })
  expect(selectorOf({ lane: 'hold' })).toEqual({ lane: 'hold' })
  expect([spanMsOf('90s'), spanMsOf('3d'), spanMsOf('soon')]).toEqual([90_000, 259_200_000, undefined])
})
