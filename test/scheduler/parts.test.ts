import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addDestination } from '../../src/scheduler/destination.js'
import { FreeList } from '../../src/base/free-list.js'
import { Message } from '../../src/scheduler/message.js'
import { checkedParameters } from '../../src/scheduler/parameter-bounds.js'
import { Arrival, byAddress, sortArrivals } from '../../src/scheduler/recipient-order.js'
import { Transport } from '../../src/scheduler/transport.js'

test('a transport sums what its destinations can start, and what they lack', () => {
  const change = fc.record({
    at: fc.nat({ max: 2 }),
    window: fc.nat({ max: 5 }),
    busy: fc.nat({ max: 5 }),
    todo: fc.nat({ max: 5 }),
  })
  fc.assert(
    fc.property(fc.array(change, { size: 'max', maxLength: 30 }), (changes) => {
      const transport = new Transport('smtp', checkedParameters({}).defaults)
      const destinations = ['a', 'b', 'c'].map((name) => addDestination(transport, name, name))
      for (const { at, ...values } of changes) Object.assign(destinations[at]!, values).recount()
      const terms = destinations.map(({ window, busy, todo }) => Math.min(window - busy, todo))
      const sum = (sign: 1 | -1): number => terms.reduce((all, term) => all + Math.max(0, sign * term), 0)
      expect([transport.open, transport.deficit]).toEqual([sum(1), sum(-1)])
    }),
  )
})

test('recipients are ordered by domain, whatever its case, then by address; those without a domain come last', () => {
  const addresses = ['z', 'b@B.test', 'a@b.test', 'A@c.test', 'c@a.test', 'y']
  const arrivals = addresses.map(
    (address, index) => new Arrival({ index, address, transport: 't', nexthop: 'n' }),
  )
  sortArrivals(arrivals, byAddress)
  expect(arrivals.map(({ recipient }) => recipient.address)).toEqual([
    'c@a.test',
    'a@b.test',
    'b@B.test',
    'A@c.test',
    'y',
    'z',
  ])
})

test('a free list keeps as many as its bound says', () => {
  const free = new FreeList<number>(2)
  for (const n of [1, 2, 3]) free.give(n)
  expect([free.take(), free.take(), free.take()]).toEqual([2, 1, undefined])
})

test('a message that left holds nothing of its user', () => {
  const handle = {}
  const message = new Message(handle, 0, 10)
  expect(message.leave()).toBe(handle)
  expect(message.handle).not.toBe(handle)
})
