/** Tier 1 and 2: clocks that are set, callers who give up, and what is left on hold moved
 * together. */
import { expect, test } from 'vitest'
import { firstLife } from '../../src/sim/life/aftermath.js'
import { QueueModel } from '../../src/sim/model/queue-model.js'
import type { QueueLife } from '../../src/sim/life/queue-life.js'
import { planOf, randomRun } from '../../src/sim/hunt/random-run.js'
import { clockIsSet, crowdOnHold, givenUp } from '../../src/sim/workload/small-workloads.js'
import type { Workload } from '../../src/sim/workload/workload.js'
import { crashEverywhere, lines } from './fixture.js'

const power = { statesMax: 2, exhaustiveUnitsMax: 0, randomStates: 1 }

const lived = async (
  workload: Workload,
  onUnlink: (path: string) => void = () => undefined,
): Promise<QueueLife> =>
  firstLife({
    seed: 1,
    order: 'fifo',
    workload,
    model: new QueueModel(),
    onOperation: (_, { operation }) => {
      if (operation.kind === 'unlink') onUnlink(operation.path)
    },
  })

for (const workload of [clockIsSet, givenUp])
  for (const order of ['fifo', 'seeded'] as const)
    test(`whatever crash meets the workload '${workload.name}' (${order}), every promise is kept`, async () => {
      const result = await crashEverywhere(workload, { seed: 1, order, power, every: 2 })
      expect(lines(result.findings)).toEqual([])
      expect(result.recoveredCount).toBeGreaterThan(0)
    })

test('some submissions that are given up are rejected, and others are accepted', async () => {
  const { callers, model } = await lived(givenUp)
  expect(model.violations).toEqual([])
  expect(callers.abortedCount).toBeGreaterThan(3)
  expect(callers.abortedCount).toBeLessThan(givenUp.steps.length)
})

test('of a crowd on hold the segments go when most of it is taken away', async () => {
  const gone: string[] = []
  const { model } = await lived(crowdOnHold, (path) => gone.push(path))
  expect(model.violations).toEqual([])
  expect(gone.filter((path) => path.startsWith('lanes/1/envelopes/')).length).toBeGreaterThan(0)
})

test('a crash while what is left on hold is moved together breaks no promise', async () => {
  const result = await crashEverywhere(crowdOnHold, { seed: 1, order: 'fifo', power, every: 37 })
  expect(lines(result.findings)).toEqual([])
  expect(result.crashCount).toBeGreaterThan(10)
})

test('no disturbed seed breaks a promise', async () => {
  const kinds = new Set<string>()
  for (let seed = 1004; seed < 1054; seed += 5) {
    kinds.add(planOf({ seed }).disturbance!.clock)
    const { findings } = await randomRun({ seed })
    expect(lines(findings)).toEqual([])
  }
  expect(kinds.size).toBe(3)
})
