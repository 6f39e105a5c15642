/** Tier 1, the single-log layout: a crash at every operation of small workloads. */
import { expect, test } from 'vitest'
import { crashEverywhere, lines } from './fixture.js'
import { carried, crowded, everything, inOneLog, turning } from '../../src/sim/workload/small-workloads.js'

for (const workload of [everything, carried, turning, crowded].map(inOneLog))
  test(`whatever crash meets the workload '${workload.name}', every promise is kept`, async () => {
    const result = await crashEverywhere(workload, { seed: 3, order: 'fifo' })
    expect(lines(result.findings)).toEqual([])
    expect(result.crashCount).toBeGreaterThan(result.operationCount)
  })
