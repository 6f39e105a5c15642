/** Tier 1, mail with times and tags: a crash at some operations. */
import { expect, test } from 'vitest'
import { inOneLog } from '../../src/sim/workload/small-workloads.js'
import { timed } from '../../src/sim/workload/timed.js'
import { crashEverywhere, lines } from './fixture.js'

for (const [workload, every] of [
  [timed, 17],
  [inOneLog(timed), 29],
] as const)
  test(`whatever crash meets the workload '${workload.name}', nothing is early, late or without its tags`, async () => {
    const result = await crashEverywhere(workload, { seed: 1, order: 'fifo', every })
    expect(lines(result.findings)).toEqual([])
    expect(result.recoveredCount).toBeGreaterThan(0)
  })
