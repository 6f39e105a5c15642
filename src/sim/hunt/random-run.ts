/** Long seeded runs: any workload, calls in any order, crashes at any moment, and rot after them.
 * Invariant: events at an operation are drawn from the seed and the operation's number alone, so a
 * run with `op` is the part of the whole run after this crash. */
import { below, prngAt, seededPrng, type Prng } from '../../base/prng.js'
import { asked, asks } from '../workload/asked.js'
import { aftermath, firstLife, type AftermathOptions } from '../life/aftermath.js'
import { crashPoint, drawnPower, type CrashPoint } from '../life/crash-point.js'
import type { CrashState } from '../disk/crash-states.js'
import {
  disturbanceOf,
  disturbed,
  disturbedLife,
  isDisturbed,
  stepBetweenMs,
  type Disturbance,
  type LaterLife,
} from '../workload/disturbance.js'
import type { DiskModeName } from '../disk/disk-mode.js'
import type { EventOrder } from '../world/event-queue.js'
import type { HuntResult } from './exhaustive.js'
import { QueueModel } from '../model/queue-model.js'
import { rotten } from './rot.js'
import { randomVerbs, randomWorkload } from '../workload/random-workload.js'
import { isConsumed } from '../workload/consumed.js'
import { isPassedBy, passingMail, withSlowSites } from '../workload/passed-by.js'
import { isTimed, timedMail } from '../workload/timed.js'
import { isPlain, laterLife, varied, withOrders } from '../workload/variety.js'
import type { Step, VerbStep, Workload } from '../workload/workload.js'

export interface RandomOptions {
  readonly seed: number
  /** Only the crash before this operation; every crash is taken there. */
  readonly op?: number
  /** Only these steps of the workload, by index, after shrinking. */
  readonly only?: readonly number[]
  /** Stop at the first violation. */
  readonly untilFirst?: boolean
  /** The kind of disk. Default: a file system. */
  readonly disk?: DiskModeName
}

/** Two runs of three. */
const hasVerbs = (seed: number): boolean => seed % 3 !== 2
const verbCountMax = 5
const bounds = { messageCountMax: 6, recipientCountMax: 3, dataBytesMax: 3500 }
/** Of a crash, so many states are taken. */
const statesPerCrash = 2

/** How much of a run is tried. */
interface Bounds {
  /** One operation in so many is a crash. */
  readonly crashOneIn: number
  /** The last one goes on to its end, the others some way. */
  readonly livesMax: number
  readonly lifeOperationsMax: number
}

const usual: Bounds = { crashOneIn: 8, livesMax: 10, lifeOperationsMax: 130 }
/** Each life is that of a crowd. */
const ofCrowds: Bounds = { crashOneIn: 80, livesMax: 3, lifeOperationsMax: 700 }
const ofPassedMail: Bounds = { crashOneIn: 60, livesMax: 5, lifeOperationsMax: 700 }

const boundsOf = (seed: number, { disturbance }: RandomPlan): Bounds =>
  disturbance?.crowdsHold === true ? ofCrowds : isPassedBy(seed) ? ofPassedMail : usual

export interface RandomPlan {
  readonly order: EventOrder
  readonly workload: Workload
  /** Undefined: none. */
  readonly disturbance: Disturbance | undefined
}

/** The run of a seed. */
export function planOf(options: RandomOptions): RandomPlan {
  const { seed, only, disk } = options
  const kept = isDisturbed(seed) ? disturbedPlan(seed) : undisturbedPlan(seed)
  const drawn = askedPlan(seed, isPassedBy(seed) ? passedPlan(seed, kept) : kept)
  const asking = isTimed(seed) && drawn.disturbance === undefined ? timedPlan(seed, drawn) : drawn
  const heard = isConsumed(seed) ? { ...asking, workload: { ...asking.workload, consumes: true } } : asking
  const plan = disk === undefined ? heard : { ...heard, workload: { ...heard.workload, disk } }
  if (only === undefined) return plan
  const steps = plan.workload.steps.filter((_, index) => only.includes(index))
  return { ...plan, workload: { ...plan.workload, steps } }
}

function askedPlan(seed: number, plan: RandomPlan): RandomPlan {
  const { workload } = plan
  return asks(seed)
    ? { ...plan, workload: { ...workload, steps: asked(workload.steps, askedAt(seed, 0)) } }
    : plan
}

function passedPlan(seed: number, plan: RandomPlan): RandomPlan {
  const prng = passedAt(seed, 0)
  const workload = withSlowSites(plan.workload, prng)
  return { ...plan, workload: { ...workload, steps: [...workload.steps, ...passingMail(prng, 0)] } }
}

function timedPlan(seed: number, plan: RandomPlan): RandomPlan {
  const { workload } = plan
  const steps = timedMail(seed, workload.steps)
  return { ...plan, workload: { ...workload, steps, verbs: timedMail(seed, workload.verbs ?? []) } }
}

function disturbedPlan(seed: number): RandomPlan {
  const { order, workload } = undisturbedPlan(seed)
  const prng = disturbanceAt(seed, 0)
  const disturbance = disturbanceOf(prng)
  return {
    // Waiting times are judged only where calls take effect in order.
    order: disturbance.clock !== 'still' && below(prng, 2) === 0 ? 'fifo' : order,
    workload: disturbed(workload, disturbance, prng),
    disturbance,
  }
}

function undisturbedPlan(seed: number): RandomPlan {
  const prng = seededPrng(seed)
  const order: EventOrder = below(prng, 4) === 0 ? 'fifo' : 'seeded'
  const mail = randomWorkload(prng, bounds)
  // Runs without orders are drawn as before orders existed, so that old seeds keep their meaning.
  const plain = hasVerbs(seed) ? { ...mail, verbs: randomVerbs(prng, verbCountMax, mail.steps.length) } : mail
  const workload = isPlain(seed) ? plain : varied(plain, at(seed, 0))
  return { order, workload, disturbance: undefined }
}

export async function randomRun(options: RandomOptions): Promise<HuntResult> {
  const plan = planOf(options)
  const { points, result } = await wholeRun(options, plan)
  for (const point of points) {
    if (options.untilFirst === true && result.findings.length > 0) break
    await crashAt(options, plan, point, result)
  }
  return result
}

/** The run without any crash, and the crashes of it that are drawn. */
export async function wholeRun(
  { seed, op }: RandomOptions,
  plan: RandomPlan,
): Promise<{ readonly points: readonly CrashPoint[]; readonly result: HuntResult }> {
  const { order, workload } = plan
  const { crashOneIn } = boundsOf(seed, plan)
  const points: CrashPoint[] = []
  const model = new QueueModel()
  const life = await firstLife({
    seed,
    order,
    workload,
    model,
    onOperation: (current, call) => {
      if (op === undefined ? below(at(seed, call.n), crashOneIn) > 0 : call.n !== op) return
      points.push(crashPoint(current, call, powerAt(seed, call.n)))
    },
  })
  const result: HuntResult = {
    operationCount: life.disk.callCount,
    crashCount: 0,
    duplicateCount: model.duplicateCount,
    recoveredCount: 0,
    findings: model.violations.map((v) => ({
      ...v,
      seed,
      op: 0,
      secondOp: undefined,
      where: 'without any crash',
    })),
  }
  return { points, result }
}

async function crashAt(
  { seed }: RandomOptions,
  plan: RandomPlan,
  point: CrashPoint,
  result: HuntResult,
): Promise<void> {
  const { order, workload } = plan
  const prng = at(seed, point.n)
  for (const state of sample(point.states, statesPerCrash, prng)) {
    const where = (): string => `before ${point.operation}; ${state.describe()}`
    if (below(prng, 8) === 0) {
      const found = await rotten({ seed, order, workload, point, image: state.image, prng })
      result.crashCount++
      result.findings.push(
        ...found.map((v) => ({
          ...v,
          seed,
          op: point.n,
          secondOp: undefined,
          where: `${where()}; then rot`,
        })),
      )
      continue
    }
    await livesFrom(seed, plan, point, state, prng, where, result)
  }
}

/** Life after life, each with new mail, the last one to its end. */
async function livesFrom(
  seed: number,
  plan: RandomPlan,
  first: CrashPoint,
  firstState: CrashState,
  prng: Prng,
  firstWhere: () => string,
  result: HuntResult,
): Promise<void> {
  const { order, disturbance } = plan
  const { livesMax, lifeOperationsMax } = boundsOf(seed, plan)
  let point = first
  let state = firstState
  let where = firstWhere
  const lives = 1 + below(prng, livesMax)
  const variety = at(seed, -first.n)
  const trouble = disturbanceAt(seed, -first.n)
  const requests = askedAt(seed, -first.n)
  const passing = passedAt(seed, -first.n)
  for (let n = 1; n <= lives; n++) {
    const others = isPassedBy(seed) ? passingMail(passing, n) : []
    const crashOp = n === lives ? Infinity : 1 + below(prng, lifeOperationsMax)
    let next: CrashPoint | undefined
    const drawn = {
      seed: prng.uint32(),
      order,
      workload: isPlain(seed) ? plan.workload : laterLife(plan.workload, variety),
      model: point.model.copy(),
      image: state.image,
      wallMs: point.wallMs + 1 + below(prng, 3) * 700,
      looks: below(prng, 2) === 0,
      more: [...(asks(seed) ? asked(moreSteps(prng, n), requests) : moreSteps(prng, n)), ...others],
      orders: ordersOf(seed, prng, variety),
    }
    const timed = { more: timedMail(seed, drawn.more), orders: timedMail(seed, drawn.orders) }
    const life = await aftermath({
      ...(disturbance === undefined ? { ...drawn, ...timed } : disturbedBy(disturbance, drawn, trouble)),
      onOperation: (current, call) => {
        if (call.n !== crashOp) return
        next = crashPoint(current, call, powerAt(seed, first.n + call.n))
        current.world.stop()
      },
    })
    result.crashCount++
    result.operationCount += life.disk.callCount
    result.recoveredCount += life.recoveredCount
    const known = next as CrashPoint | undefined
    const model = known?.model ?? life.model
    const secondOp = n === 1 ? undefined : point.n
    for (const violation of model.violations)
      result.findings.push({ ...violation, seed, op: first.n, secondOp, where: where() })
    if (known === undefined || model.violations.length > 0) {
      result.duplicateCount += model.duplicateCount
      return
    }
    const [chosen] = sample(known.states, 1, prng)
    if (chosen === undefined) return
    point = known
    state = chosen
    const before = where
    where = () => `${before()}; life ${n + 1} before ${known.operation}; ${chosen.describe()}`
  }
}

/** The life with its disturbances, and with a clock that was set before it. */
function disturbedBy(
  disturbance: Disturbance,
  drawn: AftermathOptions & LaterLife,
  prng: Prng,
): AftermathOptions {
  const { model, wallMs, workload } = drawn
  const byMs = stepBetweenMs(disturbance, prng)
  model.clockStepped(byMs, wallMs, workload.lifetimeMs)
  return { ...drawn, ...disturbedLife(drawn, disturbance, prng), wallMs: wallMs + byMs }
}

/** A few of the states, spread over those that come first. */
export function sample(states: Iterable<CrashState>, countMax: number, prng: Prng): CrashState[] {
  const chosen: CrashState[] = []
  for (const state of states) {
    if (below(prng, 3) > 0) continue
    chosen.push(state)
    if (chosen.length === countMax) return chosen
  }
  return chosen
}

function ordersOf(seed: number, prng: Prng, variety: Prng): readonly VerbStep[] {
  if (!hasVerbs(seed)) return []
  const orders = randomVerbs(prng, 2, bounds.messageCountMax)
  return isPlain(seed) ? orders : withOrders(orders, variety)
}

const moreSteps = (prng: Prng, life: number): Step[] =>
  Array.from({ length: below(prng, 3) }, (_, m) => ({
    atMs: below(prng, 2) * 30,
    sender: `l${life}m${m}@sender.test`,
    recipients: [`ok-l${life}@a.test`, `defer1-l${life}-${m}@b.test`].slice(0, 1 + below(prng, 2)),
    dataBytes: below(prng, 2) === 0 ? 100 : 2600,
  }))

const powerAt = (seed: number, n: number): Parameters<typeof crashPoint>[2] => drawnPower(at(seed, n), 4)

/** The same for its disturbances. */
const disturbanceAt = (seed: number, n: number): Prng => at(seed ^ 0x4000_0000, n)

/** The same for its DSN requests. */
const askedAt = (seed: number, n: number): Prng => at(seed ^ 0x1000_0000, n)

/** The same for mail that passes it. */
const passedAt = (seed: number, n: number): Prng => at(seed ^ 0x0040_0000, n)

/** A generator for one operation of one seed. */
export const at = (seed: number, n: number): Prng => prngAt(seed, n, 0)
