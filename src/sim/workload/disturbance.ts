/** Disturbances of some varied runs: the wall clock is set, callers give up, and `hold` is
 * compacted.
 * Invariant: other runs have none; a separate generator draws them. */
import { below, pick, type Prng } from '../../base/prng.js'
import type { Moment } from '../world/moment.js'
import {
  smallSegments,
  unroutableDomain,
  type Form,
  type Step,
  type VerbName,
  type VerbStep,
  type WallStep,
  type Workload,
} from './workload.js'

/** One of the three varied seeds in five. */
export const isDisturbed = (seed: number): boolean => seed % 5 === 4

export interface Disturbance {
  /** How far the wall clock goes. */
  readonly clock: 'still' | 'near' | 'far'
  /** Submissions and orders are aborted. */
  readonly aborts: boolean
  /** `hold` gets so many messages that it is compacted. */
  readonly crowdsHold: boolean
}

export function disturbanceOf(prng: Prng): Disturbance {
  const crowdsHold = below(prng, 8) === 0
  const clock = pick(prng, ['still', 'near', 'far', 'far'] as const)
  return { crowdsHold, clock, aborts: clock === 'still' || below(prng, 2) === 0 }
}

const secondMs = 1000
const hourMs = 3600 * secondMs
/** Within what mail lives, and far beyond it. */
const stepsMs = {
  near: [-4 * secondMs, -900, -250, 250, 1500, 6 * secondMs],
  far: [-144 * hourMs, -26 * hourMs, -600 * secondMs, 600 * secondMs, 26 * hourMs, 144 * hourMs],
} as const

/** A run of this kind. */
export function disturbed(workload: Workload, disturbance: Disturbance, prng: Prng): Workload {
  const crowded = disturbance.crowdsHold ? crowdingHold(workload, prng) : workload
  const { clock } = disturbance
  const steps = clock === 'far' ? crowded.steps.map(mortal) : crowded.steps
  return {
    ...crowded,
    steps: steps.map((step) => abortedStep(step, disturbance, prng)),
    verbs: (crowded.verbs ?? []).map((verb) => abortedOrder(verb, disturbance, prng)),
    wallSteps: clock === 'still' ? [] : wallSteps(clock, prng),
  }
}

/** A later life with its submissions and orders. */
export interface LaterLife {
  readonly workload: Workload
  readonly more: readonly Step[]
  readonly orders: readonly VerbStep[]
}

export function disturbedLife(life: LaterLife, disturbance: Disturbance, prng: Prng): LaterLife {
  const { clock, crowdsHold } = disturbance
  const orders = crowdsHold ? [...life.orders, ...ordersForCrowd(prng)] : life.orders
  return {
    workload: { ...life.workload, wallSteps: clock === 'still' ? [] : wallSteps(clock, prng) },
    more: life.more.map((step) => abortedStep(step, disturbance, prng)),
    orders: orders.map((order) => abortedOrder(order, disturbance, prng)),
  }
}

/** How far the clock is set between two lives, milliseconds. */
export const stepBetweenMs = ({ clock }: Disturbance, prng: Prng): number =>
  clock === 'still' || below(prng, 2) === 0 ? 0 : pick(prng, stepsMs[clock])

const wallSteps = (clock: 'near' | 'far', prng: Prng): WallStep[] =>
  Array.from({ length: below(prng, 4) }, () => ({
    at: momentIn(prng, [0, 1, 40, 300, 700, 1200, 1900, 3100], 120),
    byMs: pick(prng, stepsMs[clock]),
  }))

/** If the clock may be set back by days, no mail is deferred until it expires: that would be
 * days of retries. */
const mortal = (step: Step): Step => ({
  ...step,
  recipients: step.recipients.map((address) =>
    address.replace(/^never/, 'defer3').replace(unroutableDomain, 'c.test'),
  ),
})

/** Those that take long enough to be given up. */
const patientForms: readonly Form[] = ['bytes', 'stream', 'paced', 'paced', 'cut']

function abortedStep(step: Step, { aborts, crowdsHold }: Disturbance, prng: Prng): Step {
  if (!aborts || crowdsHold || below(prng, 2) === 0) return step
  const form = pick(prng, patientForms)
  return { ...step, form, dataBytes: pick(prng, [200, 1500, 2600, 3500]), abort: momentIn(prng, [0, 1], 14) }
}

function abortedOrder(order: VerbStep, { aborts, crowdsHold }: Disturbance, prng: Prng): VerbStep {
  if (!aborts || below(prng, crowdsHold ? 4 : 2) > 0) return order
  return { ...order, abort: momentIn(prng, [0, 1, 30, 350], crowdsHold ? 160 : 30) }
}

const momentIn = (prng: Prng, ms: readonly number[], callsMax: number): Moment =>
  below(prng, 3) === 0 ? { ms: pick(prng, ms) } : { calls: below(prng, callsMax) }

/** Their envelopes are two segments of a lane, and when most of them are gone, most
 * of it is marked. */
const crowdCount = 150
const keptOneIn = 8
/** Pads a domain, so that an envelope is long; labels are short. */
const longDomain = 'long-enough-to-fill-a-block.'.repeat(12)

/** Messages, most of them for one domain, are put on hold together; then those for that
 * domain are deleted. */
export function crowdingHold(workload: Workload, prng: Prng): Workload {
  const steps = Array.from({ length: crowdCount }, (_, m): Step => {
    const isKept = m === 0 || below(prng, keptOneIn) === 0
    const fate = isKept ? pick(prng, ['ok', 'ok', 'defer1', 'fail0']) : 'ok'
    const recipient = `${fate}-${m}@${longDomain}${isKept ? 'kept' : 'dropped'}.test`
    return { atMs: 0, sender: `m${m}@sender.test`, recipients: [recipient], dataBytes: 40 }
  })
  const deliver = below(prng, 3) === 0
  return {
    ...workload,
    steps,
    // Few checkpoints meanwhile: each pads to a block, which is unmarked.
    setup: { ...workload.setup, ...smallSegments, activeCountMax: 100, deliver },
    verbs: [
      { atMs: deliver ? 0 : 10, verb: 'hold', sender: 'm0@sender.test', by: 'all' },
      takenAway(steps, 20, prng),
      ...ordersForCrowd(prng),
    ],
  }
}

/** All for the domain of the last one that is not kept. */
function takenAway(steps: readonly Step[], atMs: number, prng: Prng): VerbStep {
  const last = steps.findLast(({ recipients }) => recipients[0]!.endsWith('dropped.test'))!
  const verb: VerbName = pick(prng, ['delete', 'delete', 'delete', 'release', 'expire'])
  return { atMs, verb, sender: last.sender, by: 'domain' }
}

/** While the crowd is put on hold, deleted, or moved. */
const ordersForCrowd = (prng: Prng): VerbStep[] =>
  Array.from({ length: below(prng, 5) }, () => ({
    atMs: pick(prng, [0, 10, 20, 20, 21]),
    afterCalls: below(prng, 400),
    verb: pick(prng, ['hold', 'release', 'delete', 'reroute', 'requeue', 'expire'] as const),
    sender: `m${below(prng, crowdCount)}@sender.test`,
    by: pick(prng, ['sender', 'sender', 'id', 'recipient', 'domain'] as const),
  }))
