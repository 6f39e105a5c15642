/** Tier 1: the first start of a queue that was copied without what is empty, of which each call
 * fails, or is the last one before a kill; the next start of the same boot takes mail, and then the
 * power goes. What the copy lacked had names in the page cache only. */
import { expect, test } from 'vitest'
import { aftermath, oneLife, runToEnd } from '../../src/sim/life/aftermath.js'
import { copyImage, leanCopy } from '../../src/sim/disk/copy.js'
import { crashPoint, type CrashPoint } from '../../src/sim/life/crash-point.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import type { Fault } from '../../src/sim/disk/faults.js'
import { isOfOneLeft, mayComeBack } from '../../src/sim/model/left-behind.js'
import type { OperationKind } from '../../src/sim/disk/operation.js'
import { QueueLife, type LifeOptions } from '../../src/sim/life/queue-life.js'
import { QueueModel } from '../../src/sim/model/queue-model.js'
import type { NumberedOperation } from '../../src/sim/disk/sim-disk.js'
import { afterwards, everything, inOneLog } from '../../src/sim/workload/small-workloads.js'
import { momentKey, TriedStates } from '../../src/sim/hunt/state-key.js'
import { describeViolation } from '../../src/sim/model/violation.js'
import type { Workload } from '../../src/sim/workload/workload.js'

/** Calls that fail, and what they do before: those that change names have done it, those that bring
 * something to the disk have not. */
const failures = [
  { kinds: ['create', 'makeDirectory', 'removeDirectory', 'unlink'], effect: 'all' },
  { kinds: ['syncDirectory', 'writeSynced'], effect: 'none' },
] as const
type Failure = (typeof failures)[number]
const isOf = ({ kinds }: Failure, kind: OperationKind): boolean => kinds.some((other) => other === kind)

/** Into every lane that retries. */
const more: Workload['steps'] = [
  ...afterwards,
  { atMs: 10, sender: 'x2@sender.test', recipients: ['defer3-y@c.test'], dataBytes: 300 },
]

interface Left {
  readonly where: string
  readonly model: QueueModel
  readonly image: DiskImage
  readonly wallMs: number
}

const copied = (life: QueueLife, call: NumberedOperation, where: string): Left => ({
  ...crashPoint(life, call, undefined),
  where: `${where} ${call.n}`,
  image: leanCopy(life.disk.image),
})

/** Copies of the queue at some moments of a life, and of the one behind that, of whose lanes
 * most are empty. */
async function copies(workload: Workload, every: number): Promise<Left[]> {
  const ofFirst: Left[] = []
  const life = new QueueLife({
    seed: 3,
    order: 'fifo',
    workload,
    model: new QueueModel(),
    onOperation: (current, call) => {
      if (current.queue !== undefined && call.n % every === 0)
        ofFirst.push(copied(current, call, 'copied before'))
    },
  })
  await runToEnd(life, workload)
  const ofNext: Left[] = []
  for (const { where, model, image, wallMs } of ofFirst) {
    let openedAt = 0
    await oneLife({
      seed: 4,
      order: 'fifo',
      workload,
      model: model.copy(),
      image: copyImage(image).image,
      wallMs: wallMs + 1,
      onOperation: (current, call) => {
        if (current.queue === undefined) openedAt = call.n
        else if (call.n === openedAt + 5) ofNext.push(copied(current, call, `${where}, and again before`))
      },
    })
  }
  return [...ofFirst, ...ofNext]
}

/** What the first start of the copy leaves, one for each call that fails and for each that
 * comes to nothing. */
async function* starts(workload: Workload, copy: Left): AsyncGenerator<Left> {
  const calls: OperationKind[] = []
  const kills: CrashPoint[] = []
  const begin = async (faults: readonly Fault[], see?: LifeOptions['onOperation']): Promise<QueueLife> => {
    const { image } = copyImage(copy.image)
    const start = { seed: 5, order: 'fifo', workload, wallMs: copy.wallMs + 1, image, faults } as const
    return oneLife({ ...start, model: copy.model.copy(), ...(see && { onOperation: see }) })
  }
  await begin([], (life, call) => {
    const { kind } = call.operation
    if (life.queue !== undefined || !failures.some((failure) => isOf(failure, kind))) return
    calls.push(kind)
    kills.push(crashPoint(life, call, undefined))
  })
  for (const { operation, states, model, wallMs } of kills)
    for (const { image } of states)
      yield { where: `${copy.where}; killed before ${operation}`, model: model.copy(), image, wallMs }
  for (const failure of failures)
    for (let at = 1; at <= calls.filter((kind) => isOf(failure, kind)).length; at++) {
      const life = await begin([{ at, errno: 'EIO', ...failure }])
      if (life.ended === undefined) life.queue?.crash()
      const failed = life.trouble.failedCalls[0]?.operation
      const where = `${copy.where}; ${failed?.kind} ${failed?.path} fails`
      yield { where, model: life.model, image: life.disk.image, wallMs: life.world.clock.wallMs() }
    }
}

/** @param powerEvery of the life behind the failed start each so-manieth operation is a power
 * loss */
async function goOn(workload: Workload, left: Left, powerEvery: number, seed: number): Promise<string[]> {
  const points: CrashPoint[] = []
  const mayBeLeft = mayComeBack(left.image)
  const common = { seed, order: 'fifo', workload } as const
  const next = await aftermath({
    ...common,
    model: left.model.copy(),
    image: left.image,
    wallMs: left.wallMs + 1,
    more,
    onOperation: (life, call) => {
      if (life.queue !== undefined && call.n % powerEvery === seed % powerEvery)
        points.push(crashPoint(life, call, { seed, statesMax: 2, exhaustiveUnitsMax: 0 }))
    },
  })
  const violations = [...left.model.violations, ...next.model.violations]
  for (const { n, states, model, wallMs } of points)
    for (const { image } of states) {
      const last = await aftermath({
        ...common,
        seed: seed + n,
        model: model.copy(),
        image,
        wallMs: wallMs + 1,
      })
      violations.push(...last.model.violations)
    }
  return violations
    .filter((violation) => !isOfOneLeft(violation, mayBeLeft))
    .map((violation) => `${left.where}: ${describeViolation(violation)}`)
}

/** With a message that is large and never done: the spool is not empty, so that lanes alone may
 * lack something. */
const withLarge: Workload = {
  ...everything,
  name: 'everything and a large one',
  steps: [
    { atMs: 0, sender: 'm3@sender.test', recipients: ['never-3@d.test'], dataBytes: 9000 },
    ...everything.steps,
  ],
}

for (const [workload, every, powerEvery] of [
  [everything, 150, 60],
  [withLarge, 110, 20],
  [inOneLog(everything), 60, 60],
] as const)
  test(`a copy of '${workload.name}' without what is empty is made whole for good`, async () => {
    const found: string[] = []
    const tried = new TriedStates()
    for (const copy of await copies(workload, every))
      for await (const left of starts(workload, copy))
        if (tried.add(momentKey(left), left.image)) {
          found.push(...(await goOn(workload, left, powerEvery, tried.count)))
        }
    expect(found).toEqual([])
    expect(tried.count).toBeGreaterThan(100)
  })
