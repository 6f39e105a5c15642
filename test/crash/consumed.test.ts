/** Tier 1, somebody consumes outcomes: O12, whatever crash meets the queue. */
import { expect, test } from 'vitest'
import { consumed } from '../../src/sim/workload/consumed.js'
import { inOneLog } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

for (const [workload, order, every] of [
  [consumed, 'fifo', 5],
  [inOneLog(consumed), 'seeded', 11],
] as const)
  test(`whatever crash meets the workload '${workload.name}' (${order}), a consumer gets every outcome`, async () => {
    const result = await crashEverywhere(workload, { seed: 1, order, every })
    expect(lines(result.findings)).toEqual([])
    expect(result.recoveredCount).toBeGreaterThan(0)
  })
