/** Tier 1, messages whose recipients stand in separate frames: a crash at every fifth operation;
 * where something is asked of most, at fewer. */
import { expect, test } from 'vitest'
import { askedOfMany } from '../../src/sim/workload/asking-workloads.js'
import { manyRecipients } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

for (const [what, workload, every] of [
  ['more recipients than a frame holds keep their places and their outcomes', manyRecipients, 5],
  ['what was asked of many stays with each of them', askedOfMany, 11],
] as const)
  test(`${what} through any crash`, async () => {
    const result = await crashEverywhere(workload, {
      seed: 1,
      order: 'fifo',
      power: { statesMax: 2, exhaustiveUnitsMax: 0, randomStates: 1 },
      every,
    })
    expect(lines(result.findings)).toEqual([])
    expect(result.recoveredCount).toBeGreaterThan(0)
  })
