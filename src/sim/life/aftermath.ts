/** Runs the lives after a crash, checked at every step, until the queue is empty.
 * Invariant: each branch has its own model and image, and sees nothing of the others. */
import type { EventOrder } from '../world/event-queue.js'
import type { DiskImage } from '../disk/disk-image.js'
import { leftBehind } from '../model/left-behind.js'
import { textOf } from './error-text.js'
import { QueueLife, type LifeOptions } from './queue-life.js'
import type { QueueModel } from '../model/queue-model.js'
import {
  canEnd,
  isShortForGood,
  toItsEnd,
  type Step,
  type VerbStep,
  type Workload,
} from '../workload/workload.js'

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
  readonly faults?: LifeOptions['faults']
  readonly laterFaults?: LifeOptions['laterFaults']
  readonly onOperation?: LifeOptions['onOperation']
}

/** Longer than anything that a run waits for. */
const longMs = 48 * 3_600_000
/** Without room some work waits and polls. */
const shortOfRoomMs = 40_000

/** Runs until no event is left; a life that only accepts, or has no room, is followed by one that
 * delivers and has. The model collects violations.
 * @returns the last life, with the notices of all */
export async function aftermath(options: AftermathOptions): Promise<QueueLife> {
  const life = await oneLife(options)
  const isOver = life.world.stopped || (life.ended !== undefined && !life.mayAnswer(life.ended.error))
  life.world.stop()
  if (isOver || canEnd(options.workload)) return life
  const { seed, workload } = options
  const last = await aftermath({
    ...options,
    seed: seed + 1,
    workload: toItsEnd(workload),
    image: restOf(life, seed),
    wallMs: life.world.clock.wallMs() + 1,
    more: [],
    orders: [],
  })
  last.notices.unshift(...life.notices)
  for (const [name, lane] of life.wentTo) if (!last.wentTo.has(name)) last.wentTo.set(name, lane)
  return last
}

/** One life, until no event is left in it. The model collects violations. */
export async function oneLife(options: AftermathOptions): Promise<QueueLife> {
  const life = lifeOf(options)
  try {
    await liveOn(life, options)
  } catch (error) {
    options.model.violate('O8', `the run does not come to an end: ${textOf(error)}`)
  }
  return life
}

/** The state after a life without further events, by a kill or by a power loss. */
function restOf({ disk }: QueueLife, seed: number): DiskImage {
  const states = seed % 2 === 0 ? disk.killStates() : disk.crashStates({ seed, statesMax: 1 })
  for (const { image } of states) return image
  return disk.image
}

function lifeOf(options: AftermathOptions): QueueLife {
  const { seed, order, workload, model, image, wallMs, looks = true } = options
  const { faults, laterFaults, onOperation } = options
  return new QueueLife({
    seed,
    order,
    workload,
    model,
    image,
    wallStartMs: wallMs,
    gated: looks && workload.shortage === undefined,
    ...(faults === undefined ? {} : { faults }),
    ...(laterFaults === undefined ? {} : { laterFaults }),
    ...(onOperation === undefined ? {} : { onOperation }),
  })
}

async function liveOn(
  life: QueueLife,
  { model, workload, more = [], orders = [], looks = true }: AftermathOptions,
): Promise<void> {
  if (!(await life.open())) return
  if (looks && !life.isShortOfRoom) {
    await life.settleDown()
    if (!life.recovered && isWell(life)) model.violate('O8', 'recovery does not come to an end')
    await life.list()
    life.openGate()
  }
  life.plan(more, orders)
  if (isShortForGood(workload)) return life.run(shortOfRoomMs)
  await life.run(longMs)
  if (!isWell(life)) return
  if (!life.recovered) model.violate('O8', 'recovery does not come to an end')
  await checkEnd(life, workload)
}

/** The first life of a queue, to its end. */
export async function firstLife(options: Omit<LifeOptions, 'wallStartMs'>): Promise<QueueLife> {
  const life = new QueueLife(options)
  await runToEnd(life, options.workload)
  return life
}

/** Opens a queue and runs all steps and their effects. */
export async function runToEnd(life: QueueLife, workload: Workload): Promise<void> {
  const { steps, verbs = [], suspensions = [] } = workload
  try {
    if (!(await life.open())) return
    life.plan(steps, verbs)
    life.planSuspensions(suspensions)
    await life.run(longMs)
    if (isWell(life)) await checkEnd(life, workload)
  } catch (error) {
    life.model.violate('O8', `the run does not come to an end: ${textOf(error)}`)
  }
}

/** It goes on, on a device that has not failed. */
const isWell = ({ world, ended, mayCrash }: QueueLife): boolean =>
  !world.stopped && ended === undefined && !mayCrash

/** No event is left, except for mail on hold, or mail that this life does not attempt. */
async function checkEnd(life: QueueLife, workload: Workload): Promise<void> {
  const { model } = life
  const { unansweredCount } = life.callers
  if (unansweredCount > 0) model.violate('O8', `${unansweredCount} submissions and orders are never answered`)
  life.moments.forget()
  if (!canEnd(workload)) return life.list()
  if (life.callers.releaseAll()) await life.run(2 * longMs)
  if (!isWell(life)) return
  model.allEnded(workload.warningAgesMs?.length ?? 0)
  await life.list()
  // The listing asked for a checkpoint, which still runs.
  await life.run(3 * longMs)
  if (!isWell(life)) return
  const { disk, spareCount, isOwedOutcomes } = life
  for (const text of leftBehind(disk.image, spareCount, isOwedOutcomes)) model.violate('O7', text)
}
