/** Tier 1, mail that waits for a limit: a crash at some operations. */
import { expect, test } from 'vitest'
import { limited } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

test('whatever crash comes, mail that waits for a limit is neither lost nor sent twice', async () => {
  const result = await crashEverywhere(limited, { seed: 1, order: 'fifo', every: 31 })
  expect(lines(result.findings)).toEqual([])
  expect(result.recoveredCount).toBeGreaterThan(0)
})
