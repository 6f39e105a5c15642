/** Tier 1, lives that are unlike the one before: such as only accept, and such as have another
 * policy and another layout; a crash at every third operation where a run is long. */
import { expect, test } from 'vitest'
import { crashEverywhere, lines } from './fixture.js'
import {
  accepting,
  carried,
  changedPolicy,
  inOneLog,
  onlyAccepts,
  ordersBetween,
} from '../../src/sim/workload/small-workloads.js'

const power = { statesMax: 2, exhaustiveUnitsMax: 0, randomStates: 1 }

test('mail and orders of a life that only accepts survive any crash of it', async () => {
  const result = await crashEverywhere(accepting, { seed: 1, order: 'fifo', power, every: 3 })
  expect(lines(result.findings)).toEqual([])
  expect(result.crashCount).toBeGreaterThan(result.operationCount / 3)
})

test('a life that only accepts attempts nothing that a crash left, and carries orders out on it', async () => {
  const result = await crashEverywhere(carried, {
    seed: 1,
    order: 'fifo',
    power,
    every: 3,
    after: onlyAccepts(carried),
    orders: ordersBetween,
  })
  expect(lines(result.findings)).toEqual([])
  expect(result.recoveredCount).toBeGreaterThan(0)
})

test('a queue goes on after any crash with another policy and another layout', async () => {
  const result = await crashEverywhere(inOneLog(carried), {
    seed: 1,
    order: 'fifo',
    power,
    after: changedPolicy(carried),
  })
  expect(lines(result.findings)).toEqual([])
  expect(result.recoveredCount).toBeGreaterThan(0)
})
