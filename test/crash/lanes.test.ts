/** Tier 1, lanes with separate logs: a crash at every operation of small workloads. */
import { expect, test } from 'vitest'
import { crashEverywhere, lines } from './fixture.js'
import { carried, crowded, everything, turning } from '../../src/sim/workload/small-workloads.js'

for (const workload of [everything, carried, turning, crowded])
  test(`whatever crash meets the workload '${workload.name}', every promise is kept`, async () => {
    const result = await crashEverywhere(workload, { seed: 1, order: 'fifo' })
    expect(lines(result.findings)).toEqual([])
    expect(result.crashCount).toBeGreaterThan(result.operationCount)
  })

for (const workload of [everything, carried])
  test(`'${workload.name}' keeps its promises when calls take effect in any order`, async () => {
    const result = await crashEverywhere(workload, { seed: 2, order: 'seeded' })
    expect(lines(result.findings)).toEqual([])
  })
