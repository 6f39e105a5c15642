/** Tier 1, what senders ask to be told of: a crash at every third operation, and at fewer in one
 * log (with many recipients: many-recipients.test.ts). */
import { expect, test } from 'vitest'
import { asking } from '../../src/sim/workload/asking-workloads.js'
import { QueueLife } from '../../src/sim/life/queue-life.js'
import { QueueModel } from '../../src/sim/model/queue-model.js'
import { inOneLog } from '../../src/sim/workload/small-workloads.js'
import { crashEverywhere, lines } from './fixture.js'

for (const [workload, every] of [
  [asking, 3],
  [inOneLog(asking), 7],
] as const)
  test(`whatever crash meets the workload '${workload.name}', each report that is due comes once`, async () => {
    const result = await crashEverywhere(workload, { seed: 1, order: 'fifo', every })
    expect(lines(result.findings)).toEqual([])
    expect(result.recoveredCount).toBeGreaterThan(0)
  })

test(`'asking' has reports of every kind, and mail that is told of by another server or nobody`, async () => {
  const life = new QueueLife({ seed: 1, order: 'fifo', workload: asking, model: new QueueModel() })
  await life.open()
  const actions = new Map<string, number>()
  life.queue!.on('reported', ({ action }) => actions.set(action, (actions.get(action) ?? 0) + 1))
  life.plan(asking.steps)
  await life.run(30_000)
  life.model.allEnded(1)
  expect(life.model.violations).toEqual([])
  // Of m0 at two attempts, m1 at three, m2 and m4 once; of m3, who grows too old, a warning before.
  expect(Object.fromEntries(actions)).toEqual({ delivered: 5, failed: 2, delayed: 2 })
})
