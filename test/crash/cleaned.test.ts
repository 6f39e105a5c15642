/** Tier 1, mail that is written once more because other mail passes it: a crash at some operations,
 * on a disk and on a store. */
import { expect, test } from 'vitest'
import { cleaned } from '../../src/sim/workload/cleaned.js'
import { onDisk } from '../../src/sim/workload/machine-workloads.js'
import { inOneLog } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

test.each([cleaned, onDisk(cleaned, 'store'), inOneLog(cleaned)])(
  'whatever crash comes, mail that is written once more keeps the promises: $name',
  async (workload) => {
    const result = await crashEverywhere(workload, { seed: 1, order: 'fifo', every: 61 })
    expect(lines(result.findings)).toEqual([])
    expect(result.recoveredCount).toBeGreaterThan(0)
  },
)
