/** What is done to a queue in a run, as data: who submits what and when, and how the queue is set up.
 * Invariant: the sender names the message: it is used once in a run, so that model and transport can tell messages apart
 * before anybody knows an id. */
import { below, type Prng } from '../base/prng.js'
import type { QueueOptions } from '../engine/options.js'
import { fixedRetry } from '../policy/fixed-retry.js'

export interface Step {
  /** Milliseconds since the beginning of the life. */
  readonly atMs: number
  readonly sender: string
  /** Each says what happens to it (script.ts); the domain is its destination. */
  readonly recipients: readonly string[]
  readonly dataBytes: number
}

export type VerbName = 'hold' | 'release' | 'requeue' | 'delete' | 'expire' | 'reroute' | 'flush'

/** An operator's order for one message. */
export interface VerbStep {
  /** Milliseconds since the beginning of the life. */
  readonly atMs: number
  readonly verb: VerbName
  /** Of the message. */
  readonly sender: string
}

/** Where a message goes that is rerouted. */
export const otherNexthop = 'other.test'

export type Setup = Partial<
  Pick<
    QueueOptions,
    | 'segmentBytes'
    | 'laneSegmentBytes'
    | 'inlineBytesMax'
    | 'suffixBytesMax'
    | 'activeCountMax'
    | 'checkpointIntervalMs'
    | 'layout'
    | 'fruitlessRecoveriesMax'
    | 'attempt'
    | 'scheduler'
  >
>

export interface Workload {
  readonly name: string
  readonly steps: readonly Step[]
  readonly verbs?: readonly VerbStep[]
  readonly setup: Setup
  /** The intervals of the lanes, milliseconds: the n-th attempt is followed by the n-th. */
  readonly intervalsMs: readonly number[]
  readonly lifetimeMs: number
  /** The longest that a transport takes, milliseconds; 0: it answers at once. */
  readonly answerMs: number
}

const kibibyte = 1024

export const smallSetup: Setup = {
  segmentBytes: 32 * kibibyte,
  laneSegmentBytes: 32 * kibibyte,
  inlineBytesMax: 2 * kibibyte,
  suffixBytesMax: 8 * kibibyte,
  checkpointIntervalMs: 700,
  attempt: { deadlineMs: 60_000 },
}

export const retryOf = ({ intervalsMs, lifetimeMs }: Workload): NonNullable<QueueOptions['retry']> =>
  fixedRetry(intervalsMs, lifetimeMs)

/** The data of a message: text that says whose it is, in lines. */
export function dataOf({ sender, dataBytes }: Step): Buffer {
  const line = `Subject: ${sender}\r\n\r\n`
  const body = `${sender} `.repeat(3).trimEnd() + '\r\n'
  const text = line + body.repeat(Math.max(1, Math.ceil((dataBytes - line.length) / body.length)))
  return Buffer.from(text.slice(0, Math.max(line.length, dataBytes)))
}

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

export interface RandomBounds {
  readonly messageCountMax: number
  readonly recipientCountMax: number
  readonly dataBytesMax: number
}

/** Any workload that fits a seed. */
export function randomWorkload(prng: Prng, bounds: RandomBounds): Workload {
  const pick = <T>(values: readonly T[]): T => values[below(prng, values.length)]!
  const steps: Step[] = []
  let atMs = 0
  const messageCount = 1 + below(prng, bounds.messageCountMax)
  for (let m = 0; m < messageCount; m++) {
    atMs += pick([0, 0, 0, 1, 20, 500, 1500])
    const recipients = Array.from(
      { length: 1 + below(prng, bounds.recipientCountMax) },
      (_, r) => `${pick(verbs)}-${m}-${r}@${pick(domains)}`,
    )
    const dataBytes = pick([40, 200, 900, 1500, bounds.dataBytesMax])
    steps.push({ atMs, sender: `m${m}@sender.test`, recipients, dataBytes })
  }
  return {
    name: 'random',
    steps,
    setup: {
      ...smallSetup,
      layout: below(prng, 4) === 0 ? 'single' : 'lanes',
      activeCountMax: pick([2, 3, 8, 100]),
      suffixBytesMax: pick([4, 8, 32]) * kibibyte,
      checkpointIntervalMs: pick([50, 300, 2000]),
    },
    intervalsMs: pick([[1000], [500, 1500], [300, 900, 2700]]),
    lifetimeMs: pick([3000, 8000]),
    answerMs: pick([0, 5, 400]),
  }
}
