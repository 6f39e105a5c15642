/** Variety of runs beyond mail and orders.
 * Messages: recipients in separate frames, data in every form, addresses without a route, sites in
 * trouble, delay warnings, messages that recoveries give up on. Lives: accepting only, another
 * layout or policy, a nearly full disk.
 * Invariant: plain runs have none of it; a separate generator draws the rest. */
import { below, pick, type Prng } from '../../base/prng.js'
import { frameRecipientsMax } from '../../record/envelope.js'
import {
  kibibyte,
  unroutableDomain,
  type Form,
  type Said,
  type Setup,
  type Shortage,
  type Step,
  type VerbStep,
  type Workload,
} from './workload.js'

/** Two seeds of five. */
export const isPlain = (seed: number): boolean => seed % 5 < 2

/** Segment sizes with room for messages with so many recipients and their outcomes. */
export const crowdSetup: Setup = { segmentBytes: 256 * kibibyte, laneSegmentBytes: 256 * kibibyte }

/** Few recipients at once, so that those of a large message come in batches. */
const smallBatches: NonNullable<Setup['scheduler']> = {
  qmgrMessageRecipientLimit: 300,
  qmgrMessageRecipientMinimum: 100,
  defaultRecipientLimit: 300,
  defaultRecipientRefillLimit: 100,
  defaultDestinationRecipientLimit: 200,
}

/** A site is given up on for a while at its first trouble. */
export const earlyDeath: NonNullable<Setup['scheduler']> = {
  initialDestinationConcurrency: 1,
  minimalBackoffTime: 1,
}

const forms: readonly Form[] = ['bytes', 'bytes', 'text', 'stream', 'stream', 'cut', 'reference']
const saids: readonly Said[] = ['sender', 'sender', 'id', 'recipient', 'nexthop', 'lane', 'all']
const layouts = ['lanes', 'single'] as const
export const intervals: readonly (readonly number[])[] = [[700], [200, 1000], [400, 900, 2500]]

/** Recipients in separate frames: more than a frame holds, all with one fate except the
 * first and the last. */
function crowdOf(prng: Prng, m: number): string[] {
  const fate = pick(prng, ['ok', 'defer1', 'defer1', 'defer2', 'fail1', 'never'])
  const count = frameRecipientsMax + 3 + below(prng, 9)
  return Array.from({ length: count }, (_, r) => {
    const own = r < 2 ? 'ok' : r > count - 3 ? 'defer1' : fate
    return `${own}-${m}-${r}@${r % 3 === 0 ? 'a' : 'b'}.test`
  })
}

export function varied(workload: Workload, prng: Prng): Workload {
  const hasCrowds = below(prng, 4) === 0
  const hasForms = below(prng, 2) === 0
  const hasTrouble = below(prng, 2) === 0
  const isCrowd = hasCrowds ? below(prng, workload.steps.length) : undefined
  return {
    ...workload,
    steps: workload.steps.map((step, m) => ({
      ...step,
      ...(hasForms ? { form: pick(prng, forms) } : {}),
      recipients:
        m === isCrowd ? crowdOf(prng, m) : hasTrouble ? inTrouble(step.recipients, prng) : step.recipients,
    })),
    setup: {
      ...workload.setup,
      ...(hasCrowds
        ? { ...crowdSetup, scheduler: pick(prng, [{}, smallBatches]) }
        : { scheduler: pick(prng, [{}, earlyDeath]) }),
      ...(below(prng, 3) === 0 ? { fruitlessRecoveriesMax: 1 } : {}),
      deliver: below(prng, 5) > 0,
    },
    warningAgesMs: pick(prng, [[], [], [0], [600, 2000]]),
    otherIntervalsMs: intervals,
    verbs: withOrders(workload.verbs ?? [], prng),
  }
}

/** The life that follows another one. */
export function laterLife(workload: Workload, prng: Prng): Workload {
  const hasPolicy = below(prng, 3) === 0
  const isShortOfRoom = below(prng, 4) === 0
  return {
    ...workload,
    setup: {
      ...workload.setup,
      deliver: below(prng, 3) > 0,
      ...(below(prng, 4) === 0 ? { layout: pick(prng, layouts) } : {}),
    },
    intervalsMs: hasPolicy ? pick(prng, intervals) : workload.intervalsMs,
    otherIntervalsMs: [workload.intervalsMs, ...intervals],
    ...(isShortOfRoom ? { shortage: fromTheBeginning(pick(prng, [0, 1, 2, 3, 5]) * 16 * kibibyte) } : {}),
  }
}

const fromTheBeginning = (roomBytes: number): Shortage => ({
  from: { calls: 0 },
  roomBytes,
  forMs: Infinity,
})

/** Orders, each with another kind of selector. */
export const withOrders = (verbs: readonly VerbStep[], prng: Prng): VerbStep[] =>
  verbs.map((verb) => ({ ...verb, by: pick(prng, saids) }))

/** Some of the recipients have a site in trouble, or no route. */
function inTrouble(recipients: Step['recipients'], prng: Prng): string[] {
  return recipients.map((address, r) => {
    const [, rest = ''] = /^[a-z0-9]+-([^@]*)@/.exec(address) ?? []
    const chance = below(prng, 6)
    if (chance === 0) return `never-${rest}@${unroutableDomain}`
    return chance === 1 ? `site${1 + (r % 2)}-${rest}@site.test` : address
  })
}
