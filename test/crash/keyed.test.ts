/** Tier 1, submissions that are repeated with their keys: a crash at every third operation. */
import { expect, test } from 'vitest'
import { keyed } from '../../src/sim/workload/keyed.js'
import { inOneLog } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

for (const [workload, every] of [
  [keyed, 3],
  [inOneLog(keyed), 7],
] as const)
  test(`whatever crash meets the workload '${workload.name}', a key makes one message`, async () => {
    const result = await crashEverywhere(workload, { seed: 1, order: 'fifo', every })
    expect(lines(result.findings)).toEqual([])
    expect(result.recoveredCount).toBeGreaterThan(0)
  })
