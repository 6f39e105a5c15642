/** The plan of a torture: a chain of lives, each with mail, orders and trouble.
 * Invariant: everything is drawn before the first life begins, with one generator for each life, so
 * leaving pieces out of a failing chain shifts nothing else. */
import { below, pick, prngAt, type Prng } from '../../base/prng.js'
import { asked, asks } from '../workload/asked.js'
import { drawnPower } from '../life/crash-point.js'
import type { CrashOptions } from '../disk/crash-states.js'
import { disturbanceOf, disturbed, stepBetweenMs, type Disturbance } from '../workload/disturbance.js'
import type { EventOrder } from '../world/event-queue.js'
import { kindsOf } from './failing.js'
import type { Fault } from '../disk/faults.js'
import type { OperationKind } from '../disk/operation.js'
import { randomIntervals, randomVerbs, randomWorkload } from '../workload/random-workload.js'
import { isPassedBy, passingMail, withSlowSites } from '../workload/passed-by.js'
import { isTimed, timedMail } from '../workload/timed.js'
import { intervals, laterLife, varied } from '../workload/variety.js'
import {
  kibibyte,
  smallSegments,
  type Shortage,
  type Step,
  type VerbStep,
  type Workload,
} from '../workload/workload.js'

export interface HardLife {
  readonly seed: number
  readonly order: EventOrder
  /** The queue's options, and the machine's trouble. */
  readonly workload: Workload
  readonly steps: readonly Step[]
  readonly orders: readonly VerbStep[]
  readonly faults: readonly Fault[]
  /** Counted from its opening. */
  readonly laterFaults: readonly Fault[]
  /** The queue is listed when it is open. */
  readonly looks: boolean
  /** How far the wall clock is set before it. */
  readonly clockByMs: number
  /** The call before which it crashes; Infinity: it goes on until it is idle. */
  readonly crashOp: number
  /** The power loss at its end; undefined: the process is killed. */
  readonly power: CrashOptions | undefined
  /** Which of the images that its end may leave. */
  readonly choice: number
  /** The next life gets a copy without empty directories. */
  readonly isCopied: boolean
}

const livesMin = 5
const livesMax = 12
const ordersMax = 6
const bounds = { messageCountMax: 7, recipientCountMax: 3, dataBytesMax: 9000 }

/** The lives of a seed. @param only these pieces; default: all */
export function tortureOf(seed: number, only?: readonly number[]): HardLife[] {
  const prng = at(seed, 0)
  const disturbance = { ...disturbanceOf(prng), crowdsHold: false }
  const base = baseOf(prng)
  const count = livesMin + below(prng, livesMax - livesMin + 1)
  const lived = Array.from({ length: count }, (_, n) => ({
    ...hardLife(at(seed, n + 1), n, base, disturbance),
    isCopied: below(at(seed ^ 0x0800_0000, n), 8) === 0,
  }))
  const drawn = isPassedBy(seed)
    ? lived.map((life, n) => passedLife(life, n, at(seed ^ 0x0040_0000, n)))
    : lived
  const timed =
    isTimed(seed) && disturbance.clock === 'still'
      ? drawn.map((life) => ({
          ...life,
          steps: timedMail(seed, life.steps),
          orders: timedMail(seed, life.orders),
        }))
      : drawn
  const lives = asks(seed)
    ? timed.map((life, n) => ({ ...life, steps: asked(life.steps, at(seed ^ 0x1000_0000, n)) }))
    : timed
  return only === undefined ? lives : kept(lives, new Set(only))
}

/** Common settings of all lives: segment sizes, lifetimes, delay warnings. */
function baseOf(prng: Prng): Workload {
  const workload = varied(randomWorkload(prng, bounds), prng)
  return {
    ...workload,
    name: 'torture',
    setup: { ...workload.setup, deliver: true, fruitlessRecoveriesMax: pick(prng, [1, 3, 1000, 1000]) },
    otherIntervalsMs: [...randomIntervals, ...intervals],
  }
}

function hardLife(
  prng: Prng,
  n: number,
  base: Workload,
  disturbance: Disturbance,
): Omit<HardLife, 'isCopied'> {
  const verbs = randomVerbs(prng, ordersMax, bounds.messageCountMax)
  const mail = disturbed(varied({ ...randomWorkload(prng, bounds), verbs }, prng), disturbance, prng)
  const hasCrowds = base.setup.segmentBytes! > smallSegments.segmentBytes
  const steps = [...mail.steps, ...uploads(prng)].filter(
    ({ recipients }) => hasCrowds || recipients.length < 10,
  )
  const later = laterLife(base, prng)
  const workload: Workload = {
    ...later,
    setup: {
      ...later.setup,
      deliver: below(prng, 6) > 0,
      activeCountMax: pick(prng, [2, 3, 8, 100]),
      suffixBytesMax: pick(prng, [4, 8, 32]) * kibibyte,
      checkpointIntervalMs: pick(prng, [50, 300, 2000]),
    },
    otherIntervalsMs: base.otherIntervalsMs!,
    answerMs: mail.answerMs,
    wallSteps: mail.wallSteps ?? [],
    shortage: below(prng, 4) === 0 ? shortageOf(prng) : undefined,
    // Most falsely clean pages are met, and dropped, by a start.
    drops:
      below(prng, 3) === 0 ? [] : several(prng, 3, () => ({ calls: below(prng, pick(prng, [10, 60, 200])) })),
  }
  return {
    seed: prng.uint32(),
    order: below(prng, 4) === 0 ? 'fifo' : 'seeded',
    workload,
    steps: steps.map((step, m) => ({ ...step, sender: nameOf(n, m) })),
    orders: (mail.verbs ?? []).map((verb) => ({
      ...verb,
      sender: nameOf(below(prng, n + 1), below(prng, bounds.messageCountMax)),
    })),
    faults: below(prng, 3) > 0 ? [] : several(prng, 5, () => faultOf(prng)),
    laterFaults: below(prng, 2) === 0 ? [] : several(prng, 5, () => faultOf(prng)),
    looks: below(prng, 2) === 0,
    clockByMs: stepBetweenMs(disturbance, prng),
    crashOp: below(prng, 5) === 0 ? Infinity : 1 + below(prng, callsOf(prng)),
    power: drawnPower(prng, 2),
    choice: below(prng, 12),
  }
}

/** Much happens in it, and it crashes later. */
function passedLife(life: HardLife, n: number, prng: Prng): HardLife {
  const workload = withSlowSites(life.workload, prng)
  const steps = [...life.steps, ...passingMail(prng, n)]
  return { ...life, workload, steps, crashOp: life.crashOp + below(prng, 600) }
}

/** The message's, in a life. */
const nameOf = (life: number, m: number): string => `l${life}m${m}@sender.test`

/** A crowd of large ones, at once. */
function uploads(prng: Prng): Step[] {
  if (below(prng, 4) > 0) return []
  const atMs = pick(prng, [0, 0, 20, 500])
  return several(prng, 12, (m) => ({
    atMs,
    sender: '',
    recipients: [
      `${pick(prng, ['ok', 'ok', 'defer1', 'defer2', 'fail1'])}-u${m}@${pick(prng, ['a', 'b'])}.test`,
    ],
    dataBytes: pick(prng, [2500, 5000, 20_000]),
  }))
}

/** The disk has next to no room, for good or for a while. */
const shortageOf = (prng: Prng): Shortage => ({
  from: below(prng, 3) === 0 ? { ms: pick(prng, [0, 1, 500, 2000]) } : { calls: below(prng, callsOf(prng)) },
  roomBytes: pick(prng, [0, 0, 1, 2, 3, 5]) * 16 * kibibyte,
  forMs: pick(prng, [200, 2000, 10_000, 60_000, Infinity]),
})

const errnos: readonly Fault['errno'][] = ['EIO', 'EIO', 'EIO', 'ENOSPC', 'ENOSPC', 'EDQUOT', 'SHORT']
/** The lies of a device, which only the next start repairs. */
const oftener: readonly OperationKind[] = [
  'writeSynced',
  'writeSynced',
  'writeSynced',
  'sync',
  'sync',
  'syncDirectory',
  'unlink',
]
const places = ['', '', 'journal', 'journal', 'lanes', 'lanes', 'spool', 'spool']

/** Mostly calls of one kind and place: otherwise rare calls would hardly ever fail. */
function faultOf(prng: Prng): Fault {
  const errno = pick(prng, errnos)
  const kinds = kindsOf(errno)
  return {
    at: 1 + below(prng, pick(prng, [2, 6, 12, 30, 100])),
    errno,
    kinds: below(prng, 6) === 0 ? kinds : [pick(prng, [...kinds, ...oftener])],
    under: pick(prng, places),
    effect: pick(prng, ['none', 'part', 'all', 'all']),
    count: pick(prng, [1, 1, 1, 2, 6]),
  }
}

/** Calls of a life up to its opening, to the end of its recovery, or long after that. */
const callsOf = (prng: Prng): number => pick(prng, [60, 150, 250, 400, 800])

/** Leaves pieces out: lives, and of those that stay mail, orders and trouble, in the order in which
 * they are counted here. */
function kept(lives: readonly HardLife[], only: Pick<ReadonlySet<number>, 'has'>): HardLife[] {
  let n = 0
  const isKept = (): boolean => only.has(n++)
  return lives.flatMap((life) => {
    const isThere = isKept()
    const { workload } = life
    const fewer = {
      ...life,
      steps: life.steps.filter(isKept),
      orders: life.orders.filter(isKept),
      faults: life.faults.filter(isKept),
      laterFaults: life.laterFaults.filter(isKept),
      clockByMs: isKept() ? life.clockByMs : 0,
      isCopied: isKept() && life.isCopied,
      workload: {
        ...workload,
        wallSteps: workload.wallSteps!.filter(isKept),
        drops: workload.drops!.filter(isKept),
        shortage: isKept() ? workload.shortage : undefined,
      },
    }
    return isThere ? [fewer] : []
  })
}

/** Pieces of a torture that can be left out. */
export const pieceCountOf = (lives: readonly HardLife[]): number => {
  let count = 0
  kept(lives, { has: () => ++count > 0 })
  return count
}

const several = <T>(prng: Prng, countMax: number, make: (n: number) => T): T[] =>
  Array.from({ length: 1 + below(prng, countMax) }, (_, n) => make(n))

const at = (seed: number, n: number): Prng => prngAt(seed, n, 0x2000_0000)
