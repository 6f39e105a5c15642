/** A message that ends each process in the step in which it is attempted: one seed is a chain of
 * lives.
 * Invariant: after as many lives as the option says, and one more where the first one had accepted
 * it, the message is on hold, and nothing else is; all other mail is delivered. */
import { seededPrng, below, pick, type Prng } from '../../base/prng.js'
import type { ListedMessage } from '../../admin/select/listing.js'
import { DiskImage } from '../disk/disk-image.js'
import { QueueLife } from '../life/queue-life.js'
import { QueueModel } from '../model/queue-model.js'
import { fatal } from '../workload/machine-workloads.js'
import type { Step } from '../workload/workload.js'
import type { HuntResult } from './exhaustive.js'

const isFatal = ({ recipients }: Pick<Step, 'recipients'>): boolean => recipients[0]!.startsWith('fatal')

/** Long enough for all that is not on hold. */
const restMs = 3_600_000

export async function fatalRun({ seed }: { readonly seed: number }): Promise<HuntResult> {
  const prng = seededPrng(seed)
  const model = new QueueModel()
  const order = pick(prng, ['fifo', 'seeded', 'seeded'] as const)
  const workload = {
    ...fatal,
    setup: { ...fatal.setup, layout: pick(prng, ['lanes', 'lanes', 'single'] as const) },
  }
  const attemptedMax = fatal.setup.fruitlessRecoveriesMax! + 2
  const result: HuntResult = {
    operationCount: 0,
    crashCount: 0,
    duplicateCount: 0,
    recoveredCount: 0,
    findings: [],
  }
  let image = new DiskImage()
  let wallStartMs = 1_800_000_000_000
  for (let life = 1; ; life++) {
    const lived = new QueueLife({ seed: prng.uint32(), order, workload, model, image, wallStartMs })
    await live(lived, life === 1 ? workload.steps : more(life))
    result.operationCount += lived.disk.callCount
    result.recoveredCount += lived.recoveredCount
    wallStartMs = lived.world.clock.wallMs() + 1
    if (!lived.world.stopped) {
      await judgeRest(lived)
      break
    }
    result.crashCount++
    if (life > attemptedMax) {
      model.violate('O8', `a message has ended ${life} lives and is not on hold`)
      break
    }
    image = leftBy(lived, prng)
  }
  result.duplicateCount = model.duplicateCount
  result.findings.push(
    ...model.violations.map((violation) => ({
      ...violation,
      seed,
      op: 0,
      secondOp: undefined,
      where: `in the chain of seed ${seed}`,
    })),
  )
  return result
}

async function live(life: QueueLife, steps: readonly Step[]): Promise<void> {
  if (!(await life.open())) return
  life.plan(steps)
  await life.run(restMs)
}

/** Mail of a later life. */
const more = (life: number): Step[] => [
  { atMs: 0, sender: `l${life}@sender.test`, recipients: [`ok-l${life}@a.test`], dataBytes: 100 },
]

function leftBy({ disk }: QueueLife, prng: Prng): DiskImage {
  const states = below(prng, 2) === 0 ? disk.killStates() : disk.crashStates({ seed: prng.uint32() })
  const chosen = below(prng, 4)
  let n = 0
  let image = disk.image
  for (const state of states) {
    image = state.image
    if (n++ === chosen) break
  }
  return image
}

/** No event is left. */
async function judgeRest(life: QueueLife): Promise<void> {
  const { model, queue, world } = life
  if (queue === undefined || life.ended !== undefined) return
  const listing = async (): Promise<ListedMessage[]> => {
    const all: ListedMessage[] = []
    for await (const listed of queue.list({})) all.push(listed)
    return all
  }
  for (const listed of await world.settle(listing())) {
    const isHeld = listed.where === 'hold'
    if (isHeld && !isFatal(listed))
      model.violate('O8', `${listed.sender} is on hold for what another has done`)
    if (!isHeld) model.violate('O1', `${listed.sender} is neither delivered nor on hold`)
  }
}
