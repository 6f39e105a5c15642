/** Destinations as the HTTP API shows them. */
import { expect, test } from 'vitest'
import { byImpact, shownDestination } from '../../../src/http/figures/destinations.js'
import type { DestinationSnapshot } from '../../../src/index.js'

const destination = (nexthop: string, more: Partial<DestinationSnapshot> = {}): DestinationSnapshot => ({
  transport: 'smtp',
  nexthop,
  name: nexthop,
  window: 5,
  busy: 0,
  todo: 0,
  state: { kind: 'ready' },
  recovery: 'none',
  rate: 0,
  ...more,
})

const limit = { kind: 'tag', name: 'news', count: 600, perMs: 60_000, untilMs: 9000 } as const
const traffic = { perSecond: { delivered: 0, deferred: 0, failed: 0 }, lastReply: null }

test('a destination whose mail waits for a limit says which, and until when', () => {
  expect(shownDestination(destination('a.test', { limit }), traffic).limit).toEqual({
    kind: 'tag',
    name: 'news',
    count: 600,
    perMs: 60_000,
    untilAt: 9000,
  })
  expect(shownDestination(destination('a.test'), traffic).limit).toBe(null)
})

test('those with a limit come behind what is dead or suspended, and before the others', () => {
  const dead = destination('dead.test', {
    state: { kind: 'dead', untilMs: 1, reason: { status: '4.4.1', text: 'timed out' } },
  })
  const all = [destination('busy.test', { todo: 9 }), destination('limited.test', { limit }), dead]
  expect(all.sort(byImpact).map(({ name }) => name)).toEqual(['dead.test', 'limited.test', 'busy.test'])
})
