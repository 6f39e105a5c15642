/** Nodes of a queue on a simulated store, in small; by the thousand: `npm run crash -- --nodes`. */
import { expect, test } from 'vitest'
import {
  storeWorldRun,
  type StoreWorldKind,
  type StoreWorldResult,
} from '../../../src/sim/store/store-world.js'

async function runs(count: number, kind: StoreWorldKind): Promise<StoreWorldResult[]> {
  const results: StoreWorldResult[] = []
  for (let seed = 1; seed <= count; seed++) results.push(await storeWorldRun(seed, kind))
  return results
}

const sum = (results: readonly StoreWorldResult[], name: Exclude<keyof StoreWorldResult, 'broken'>): number =>
  results.reduce((all, result) => all + result[name], 0)

test('nodes that die, are paused and are cut off lose nothing, and an old owner begins no attempt', async () => {
  // One seed of three has a takeover, and each Node has others: its promises settle in another
  // order.
  const results = await runs(12, 'nodes')
  expect(results.map(({ broken }) => broken)).toEqual(results.map(() => undefined))
  expect(sum(results, 'takeoverCount')).toBeGreaterThan(0)
  expect(sum(results, 'acceptedCount')).toBeGreaterThan(50)
})

test('a failover of the database is a pause: nothing twice, and no life ends', async () => {
  const results = await runs(3, 'failover')
  expect(results.map(({ broken }) => broken)).toEqual(results.map(() => undefined))
  expect(sum(results, 'failoverCount')).toBeGreaterThan(0)
  expect(sum(results, 'resumedCount')).toBeGreaterThan(0)
  expect(sum(results, 'doubledCount')).toBe(0)
})

test('while commits are not answered, or connections are ended, nobody takes the queue', async () => {
  const results = await runs(3, 'interruptions')
  expect(results.map(({ broken }) => broken)).toEqual(results.map(() => undefined))
  expect(sum(results, 'takeoverCount')).toBe(0)
})

test('a node whose primary is replaced while it resumes goes on at the new one', async () => {
  const results = await runs(4, 'replaced primary')
  expect(results.map(({ broken }) => broken)).toEqual(results.map(() => undefined))
  expect(sum(results, 'failoverCount')).toBeGreaterThan(3)
  expect(sum(results, 'resumedCount')).toBeGreaterThan(3)
})

test('one seed is one run', async () => {
  expect(await storeWorldRun(3, 'nodes')).toEqual(await storeWorldRun(3, 'nodes'))
})
