/** Tier 1, destinations that are suspended and resumed: a crash at some operations. */
import { expect, test } from 'vitest'
import { suspended } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

test('whatever crash comes, what is suspended stays so, and mail goes when it is resumed', async () => {
  const result = await crashEverywhere(suspended, { seed: 1, order: 'fifo', every: 31 })
  expect(lines(result.findings)).toEqual([])
  expect(result.recoveredCount).toBeGreaterThan(0)
})
