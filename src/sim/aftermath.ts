/** What comes after a crash: a new life on what the disk holds, checked at every step, until the queue is empty.
 * Invariant: a branch has a model and an image of its own; nothing that happens in it is seen by another. */
import type { EventOrder } from './event-queue.js'
import type { DiskImage } from './disk-image.js'
import { leftBehind } from './left-behind.js'
import { QueueLife, textOf, type LifeOptions } from './queue-life.js'
import type { QueueModel } from './queue-model.js'
import type { Step, VerbStep, Workload } from './workload.js'

export interface AftermathOptions {
  readonly seed: number
  readonly order: EventOrder
  readonly workload: Workload
  readonly model: QueueModel
  readonly image: DiskImage
  readonly wallMs: number
  /** Submitted as soon as the queue is open again. */
  readonly more?: readonly Step[]
  /** Ordered in this life. */
  readonly orders?: readonly VerbStep[]
  /** The state after recovery is listed and compared before anything else happens. */
  readonly looks?: boolean
  readonly onOperation?: LifeOptions['onOperation']
}

/** Longer than anything that a run waits for. */
const longMs = 48 * 3_600_000

/** Lives on until nothing is left to happen. The model has what is wrong.
 * @returns the life, at its end */
export async function aftermath(options: AftermathOptions): Promise<QueueLife> {
  const life = lifeOf(options)
  try {
    await liveOn(life, options)
  } catch (error) {
    options.model.violate('O8', `the run does not come to an end: ${textOf(error)}`)
  }
  life.world.stop()
  return life
}

function lifeOf(options: AftermathOptions): QueueLife {
  const { seed, order, workload, model, image, wallMs, looks = true, onOperation } = options
  return new QueueLife({
    seed,
    order,
    workload,
    model,
    image,
    wallStartMs: wallMs,
    gated: looks,
    ...(onOperation === undefined ? {} : { onOperation }),
  })
}

async function liveOn(
  life: QueueLife,
  { model, more = [], orders = [], looks = true }: AftermathOptions,
): Promise<void> {
  if (!(await life.open())) return
  if (looks) {
    await life.settleDown()
    if (!life.recovered && life.ended === undefined && !life.world.stopped)
      model.violate('O8', 'recovery does not come to an end')
    await life.list()
    life.openGate()
  }
  life.plan(more, orders)
  await life.run(longMs)
  if (life.world.stopped || life.ended !== undefined) return
  if (!life.recovered) model.violate('O8', 'recovery does not come to an end')
  await checkEnd(life)
}

/** The first life of a queue, to its end. */
export async function firstLife(options: Omit<LifeOptions, 'wallStartMs'>): Promise<QueueLife> {
  const life = new QueueLife(options)
  await runToEnd(life, options.workload)
  return life
}

/** Opens a queue and lets everything happen that the steps bring about. */
export async function runToEnd(
  life: QueueLife,
  { steps, verbs = [] }: Pick<Workload, 'steps' | 'verbs'>,
): Promise<void> {
  try {
    if (!(await life.open())) return
    life.plan(steps, verbs)
    await life.run(longMs)
    if (!life.world.stopped && life.ended === undefined && !life.mayCrash) await checkEnd(life)
  } catch (error) {
    life.model.violate('O8', `the run does not come to an end: ${textOf(error)}`)
  }
}

/** Nothing is left to happen, but with what is on hold. */
async function checkEnd(life: QueueLife): Promise<void> {
  if (life.releaseAll()) await life.run(2 * longMs)
  if (life.world.stopped || life.ended !== undefined) return
  life.model.drained()
  await life.list()
  // The listing asked for a checkpoint, which goes on after it.
  await life.run(3 * longMs)
  for (const text of leftBehind(life.disk.image, life.spareCount)) life.model.violate('O7', text)
}
