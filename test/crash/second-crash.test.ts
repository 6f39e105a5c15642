/** Tier 1: a crash, and then another one at every operation of the recovery. */
import { expect, test } from 'vitest'
import { crashEverywhere, lines } from './fixture.js'
import { carried, everything, inOneLog } from '../../src/sim/workload/small-workloads.js'

for (const [workload, secondEvery] of [
  [everything, 101],
  [carried, 97],
  [inOneLog(everything), 67],
] as const)
  test(`a crash at any operation of a recovery of '${workload.name}' breaks no promise`, async () => {
    const result = await crashEverywhere(workload, {
      seed: 5,
      order: 'fifo',
      power: { statesMax: 2, exhaustiveUnitsMax: 0, randomStates: 0 },
      secondEvery: secondEvery,
      secondStatesMax: 2,
    })
    expect(lines(result.findings)).toEqual([])
    expect(result.crashCount).toBeGreaterThan(2 * result.operationCount)
  })
