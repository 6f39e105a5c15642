/** Tier 1: each call fails once. What was settled survives, in the same boot, after a power loss in
 * the next life, and after a next start of which a call fails, too; what failed is reported. */
import { expect, test } from 'vitest'
import { failEach } from '../../src/sim/hunt/failing.js'
import { lines } from './fixture.js'
import { afterwards, carried, everything, inOneLog } from '../../src/sim/workload/small-workloads.js'

/** Of the states that failures leave, each so-manieth is started on with failing calls. */
const againEvery = { EIO: 60, ENOSPC: 40, SHORT: 20, EMFILE: 60 } as const

for (const errno of ['EIO', 'ENOSPC', 'SHORT', 'EMFILE'] as const)
  for (const workload of [everything, carried, inOneLog(everything)])
    test(`any call of '${workload.name}' may fail with ${errno}, and any of the start behind it`, async () => {
      const result = await failEach(workload, {
        seed: 1,
        order: 'fifo',
        errno,
        powerEvery: 120,
        againEvery: againEvery[errno],
        more: afterwards,
      })
      expect(lines(result.findings)).toEqual([])
      expect(result.crashCount).toBeGreaterThan(result.operationCount)
    })

for (const workload of [everything, inOneLog(everything)])
  test.each(['none', 'all'] as const)(
    `any call of '${workload.name}' may fail with ENOSPC, and segments not go, with the effect %s`,
    async (effect) => {
      const result = await failEach(workload, {
        seed: 1,
        order: 'fifo',
        errno: 'ENOSPC',
        effect,
        unlinkRefusals: 3,
        powerEvery: 0,
        more: afterwards,
      })
      expect(lines(result.findings)).toEqual([])
    },
  )

for (const workload of [everything, inOneLog(everything)])
  test(`any call of '${workload.name}' may fail with ENOSPC after it has had its effect`, async () => {
    const result = await failEach(workload, {
      seed: 1,
      order: 'fifo',
      errno: 'ENOSPC',
      effect: 'all',
      powerEvery: 0,
    })
    expect(lines(result.findings)).toEqual([])
  })
