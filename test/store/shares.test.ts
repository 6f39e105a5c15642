/** What each queue of a store has of a site's limits. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { checkedParameters } from '../../src/scheduler/parameter-bounds.js'
import type { StoreStatus } from '../../src/store/store-status.js'
import { sharedLimits, sharedScheduler, Shares, type Share } from '../../tools/commands/parameters/shares.js'

const shares = (ownerCount: number): Share[] =>
  Array.from({ length: ownerCount }, (_, rank) => ({ rank, ownerCount }))

const names = ['smtp', 'relay', 'maildir']

test.each([1, 2, 3, 7])('the parts of %d queues sum up to the limit', (ownerCount) => {
  const all = shares(ownerCount).map((share) => sharedScheduler({}, share, names))
  const parts = all.map(({ defaultDestinationConcurrencyLimit: limit = 20 }) => limit)
  expect(parts.reduce((sum, part) => sum + part)).toBe(20)
  expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1)
})

test('what is set for a transport is divided, delays grow, and who delivers here keeps all', () => {
  const options = {
    defaultDestinationRateDelay: 1,
    transports: {
      smtp: { destinationConcurrencyLimit: 5, destinationRateDelay: 0, processLimit: 50 },
      relay: { destinationConcurrencyLimit: 0 },
      maildir: { destinationConcurrencyLimit: 2 },
    },
  }
  expect(sharedScheduler(options, { rank: 1, ownerCount: 2 }, names)).toEqual({
    defaultDestinationConcurrencyLimit: 10,
    defaultDestinationRateDelay: 2,
    defaultDestinationRateInterval: 120,
    transports: {
      smtp: { destinationConcurrencyLimit: 2, destinationRateDelay: 0, processLimit: 50 },
      relay: { destinationConcurrencyLimit: 0 },
      maildir: { destinationConcurrencyLimit: 2, destinationRateDelay: 1, destinationRateInterval: 60 },
    },
  })
})

test('more queues than a limit allows have one delivery each, and options stay within their bounds', () => {
  const most = { defaultDestinationRateDelay: 100_000_000, defaultDestinationConcurrencyLimit: 2 }
  for (const share of shares(5)) {
    const shared = sharedScheduler(most, share, names)
    expect(shared.defaultDestinationConcurrencyLimit).toBe(1)
    expect(() => checkedParameters(shared)).not.toThrow()
  }
})

test('a count is divided, and a small one is one in a longer time', () => {
  const limits = [
    { kind: 'nexthop', pattern: '*', count: 10, perMs: 1000 },
    { kind: 'tag', pattern: 'news', count: 2, perMs: 60_000 },
  ] as const
  const all = shares(3).map((share) => sharedLimits(limits, share))
  expect(all.map(([first]) => first!.count)).toEqual([4, 3, 3])
  expect(all.map(([, second]) => [second!.count, second!.perMs])).toEqual(
    Array.from({ length: 3 }, () => [1, 90_000]),
  )
  expect(sharedLimits(limits, { rank: 0, ownerCount: 1 })).toBe(limits)
})

test('without a store a queue is alone', async () => {
  const alone = new Shares(undefined, pino({ level: 'silent' }))
  expect(alone.of('queue')).toEqual({ rank: 0, ownerCount: 1 })
  await alone.run(() => expect.unreachable())
})

test('what cannot be changed at one look is changed at the next, and the process goes on', async () => {
  const queues = ['mx1', 'mx2'].map((name) => ({ name, state: 'beats' }))
  const status = { queues } as unknown as StoreStatus
  const two = new Shares(() => Promise.resolve(status), pino({ level: 'silent' }))
  let callCount = 0
  const onChange = (): void => {
    if (++callCount === 1) throw new Error('there is no transport of that name')
  }
  for (let look = 0; look < 4; look++) await two.look(onChange)
  expect(callCount).toBe(2)
  expect(two.of('mx2')).toEqual({ rank: 1, ownerCount: 2 })
})
