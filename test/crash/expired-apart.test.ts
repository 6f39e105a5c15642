/** Tier 1: recipients are given up, by their destination, while others of their messages
 * are tried again. */
import { expect, test } from 'vitest'
import { expiredApart, inOneLog } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

const power = { statesMax: 3, exhaustiveUnitsMax: 0, randomStates: 1 }

for (const [workload, order, every] of [
  [expiredApart, 'fifo', 2],
  [inOneLog(expiredApart), 'seeded', 5],
] as const)
  test(`whatever crash meets the workload '${workload.name}' (${order}), every promise is kept`, async () => {
    const result = await crashEverywhere(workload, { seed: 1, order, power, every })
    expect(lines(result.findings)).toEqual([])
    expect(result.recoveredCount).toBeGreaterThan(0)
  })
