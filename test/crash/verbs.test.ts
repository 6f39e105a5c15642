/** Tier 1, what operators do: a crash at every operation of workloads that contain every verb,
 * in both layouts. */
import { expect, test } from 'vitest'
import { crashEverywhere, lines } from './fixture.js'
import { inOneLog, operated, redirected } from '../../src/sim/workload/small-workloads.js'

for (const workload of [operated, redirected, inOneLog(operated)])
  test(`whatever crash meets the workload '${workload.name}', every promise is kept`, async () => {
    const result = await crashEverywhere(workload, { seed: 1, order: 'fifo' })
    expect(lines(result.findings)).toEqual([])
    expect(result.crashCount).toBeGreaterThan(result.operationCount)
  })

test(`'operated' keeps its promises when calls take effect in any order`, async () => {
  const result = await crashEverywhere(operated, { seed: 2, order: 'seeded' })
  expect(lines(result.findings)).toEqual([])
})
