/** Workloads and orders drawn from a seed.
 * Invariant: this file draws the same numbers in the same order for ever, so that old seeds keep
 * their meaning; later additions have separate generators (variety.ts). */
import { below, pick, type Prng } from '../../base/prng.js'
import { kibibyte, smallSetup, type Step, type VerbStep, type Workload } from './workload.js'

const verbNames = ['hold', 'hold', 'release', 'requeue', 'delete', 'expire', 'reroute', 'flush'] as const

/** Orders for messages of a random workload, which may have ended by then. */
export const randomVerbs = (prng: Prng, countMax: number, messageCountMax: number): VerbStep[] =>
  Array.from({ length: below(prng, countMax + 1) }, () => ({
    atMs: [0, 1, 30, 400, 900, 1600, 3000][below(prng, 7)]!,
    verb: verbNames[below(prng, verbNames.length)]!,
    sender: `m${below(prng, messageCountMax)}@sender.test`,
  }))

const verbs = ['ok', 'ok', 'ok', 'defer1', 'defer2', 'defer3', 'fail0', 'fail1', 'never', 'throw1'] as const
const domains = ['a.test', 'b.test', 'c.test'] as const

export const randomIntervals: readonly (readonly number[])[] = [[1000], [500, 1500], [300, 900, 2700]]

export interface RandomBounds {
  readonly messageCountMax: number
  readonly recipientCountMax: number
  readonly dataBytesMax: number
}

/** Any workload that fits a seed. */
export function randomWorkload(prng: Prng, bounds: RandomBounds): Workload {
  const steps: Step[] = []
  let atMs = 0
  const messageCount = 1 + below(prng, bounds.messageCountMax)
  for (let m = 0; m < messageCount; m++) {
    atMs += pick(prng, [0, 0, 0, 1, 20, 500, 1500])
    const recipients = Array.from(
      { length: 1 + below(prng, bounds.recipientCountMax) },
      (_, r) => `${pick(prng, verbs)}-${m}-${r}@${pick(prng, domains)}`,
    )
    const dataBytes = pick(prng, [40, 200, 900, 1500, bounds.dataBytesMax])
    steps.push({ atMs, sender: `m${m}@sender.test`, recipients, dataBytes })
  }
  return {
    name: 'random',
    steps,
    setup: {
      ...smallSetup,
      layout: below(prng, 4) === 0 ? 'single' : 'lanes',
      activeCountMax: pick(prng, [2, 3, 8, 100]),
      suffixBytesMax: pick(prng, [4, 8, 32]) * kibibyte,
      checkpointIntervalMs: pick(prng, [50, 300, 2000]),
    },
    intervalsMs: pick(prng, randomIntervals),
    lifetimeMs: pick(prng, [3000, 8000]),
    answerMs: pick(prng, [0, 5, 400]),
  }
}
