import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventStream, pendingCharsMax } from '../../src/console/facts/event-stream.js'

const text =
  ': alive\n\nevent: figures\ndata: {"a":1}\nid: 7\n\ndata: one\ndata:two\r\n\r\nevent: cut\ndata: lost'

test('events are the same however the connection cuts the stream', () => {
  const whole = [
    { name: 'figures', data: '{"a":1}' },
    { name: 'message', data: 'one\ntwo' },
  ]
  fc.assert(
    fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
      const stream = new EventStream()
      const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
      const events = places.flatMap((from, i) => stream.push(text.slice(from, places[i + 1] ?? from)))
      expect(events).toEqual(whole)
    }),
  )
})

test('a line that has no end is an error, not memory', () => {
  const stream = new EventStream()
  const piece = 'x'.repeat(pendingCharsMax)
  stream.push(piece)
  expect(() => stream.push('x')).toThrow(RangeError)
})
