/** Tier 1, mail that waits for a limit: a crash at some operations, on a disk and on a store. */
import { expect, test } from 'vitest'
import { onDisk } from '../../src/sim/workload/machine-workloads.js'
import { limited } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

test.each([limited, onDisk(limited, 'store')])(
  'whatever crash comes, mail that waits for a limit keeps the promises: $name',
  async (workload) => {
    const result = await crashEverywhere(workload, { seed: 1, order: 'fifo', every: 31 })
    expect(lines(result.findings)).toEqual([])
    expect(result.recoveredCount).toBeGreaterThan(0)
  },
)
