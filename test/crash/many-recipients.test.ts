/** Tier 1, messages whose recipients stand in frames of their own: a crash at every fifth operation. */
import { expect, test } from 'vitest'
import { crashEverywhere, lines } from './fixture.js'
import { manyRecipients } from '../../src/sim/small-workloads.js'

test('more recipients than a frame holds keep their places and their outcomes through any crash', async () => {
  const result = await crashEverywhere(manyRecipients, {
    seed: 1,
    order: 'fifo',
    power: { statesMax: 2, exhaustiveUnitsMax: 0, randomStates: 1 },
    every: 5,
  })
  expect(lines(result.findings)).toEqual([])
  expect(result.recoveredCount).toBeGreaterThan(0)
})
