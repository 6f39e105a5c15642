/** The input of a run, as data: submissions, orders, trouble and options of the queue.
 * Invariant: each sender is used once in a run, so model and transport can tell messages apart
 * before there is an id. */
import type { QueueOptions } from '../../engine/life/options.js'
import { fixedRetry } from '../../policy/fixed-retry.js'
import type { DiskModeName } from '../disk/disk-mode.js'
import type { Moment } from '../world/moment.js'

export interface Step {
  /** Milliseconds since the beginning of the life. */
  readonly atMs: number
  readonly sender: string
  /** Each contains its fate (script.ts); the domain is its destination. */
  readonly recipients: readonly string[]
  readonly dataBytes: number
  /** How the data is handed over; default 'bytes'. */
  readonly form?: Form
  /** When it is aborted, counted from the call. Default: never. */
  readonly abort?: Moment
}

/** `paced`: a stream that comes a piece at a time, as from a network; `cut`: one that ends
 * with an error. */
export type Form = 'bytes' | 'text' | 'stream' | 'paced' | 'cut' | 'reference'

export type VerbName = 'hold' | 'release' | 'requeue' | 'delete' | 'expire' | 'reroute' | 'flush'

/** An operator's order for a message, or for many. */
export interface VerbStep {
  /** Milliseconds since the beginning of the life. */
  readonly atMs: number
  readonly verb: VerbName
  /** Of the message. */
  readonly sender: string
  /** Further conditions of the selector, besides the sender or instead of it; default 'sender'.
   * `domain`: every message for the domain of its last recipient is meant; `all`: every message. */
  readonly by?: Said
  /** And so many calls of the disk after that instant. Default: at once. */
  readonly afterCalls?: number
  /** When it is aborted, counted from the call. Default: never. */
  readonly abort?: Moment
}

/** An operator suspends deliveries to a domain, or resumes them. */
export interface SuspensionStep {
  /** Milliseconds since the beginning of the life. */
  readonly atMs: number
  readonly do: 'suspend' | 'resume'
  readonly nexthop: string
}

/** The wall clock is set, forward or back, at a moment of the life. */
export interface WallStep {
  readonly at: Moment
  readonly byMs: number
}

/** Free bytes of the disk, from a moment of the life on and for how long. */
export interface Shortage {
  readonly from: Moment
  readonly roomBytes: number
  /** Infinity: as long as the life lasts. */
  readonly forMs: number
}

/** From a moment of the life on, and for so long. */
export interface Spell {
  readonly from: Moment
  readonly forMs: number
}

export type Said = 'sender' | 'id' | 'recipient' | 'nexthop' | 'lane' | 'domain' | 'all'

/** No route leads there. */
export const unroutableDomain = 'nowhere.test'

/** Recipients still deferred there after two attempts are given up. */
const impatientDomain = 'impatient.test'
const impatientAttempts = 2

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
    | 'deliver'
    | 'fruitlessRecoveriesMax'
    | 'attempt'
    | 'proofMs'
    | 'scheduler'
    | 'keyRetentionMs'
    | 'limits'
  >
>

export interface Workload {
  readonly name: string
  readonly steps: readonly Step[]
  readonly verbs?: readonly VerbStep[]
  /** Of the first life. A later one resumes what may be suspended, after a while. */
  readonly suspensions?: readonly SuspensionStep[]
  readonly setup: Setup
  /** The intervals of the lanes, milliseconds: the n-th attempt is followed by the n-th. */
  readonly intervalsMs: readonly number[]
  /** Those of other lives of the run, when their policies differ. */
  readonly otherIntervalsMs?: readonly (readonly number[])[]
  /** Ages at which a delay is reported, milliseconds. Default: none. */
  readonly warningAgesMs?: readonly number[]
  readonly lifetimeMs: number
  /** What happens to the wall clock of a life. Default: nothing. */
  readonly wallSteps?: readonly WallStep[]
  /** Default: the disk has ample room. */
  readonly shortage?: Shortage | undefined
  /** When the kernel drops from its memory what it calls clean. Default: never. */
  readonly drops?: readonly Moment[]
  /** When calls that make something durable hang. Default: never. */
  readonly hangs?: readonly Spell[]
  /** When ownership of the queue is in doubt. Default: never. */
  readonly doubts?: readonly Spell[]
  /** When it is drained; a life at that time only accepts. Default: never. */
  readonly drain?: Moment | undefined
  /** Somebody consumes outcomes, in each life. Default: nobody. */
  readonly consumes?: boolean
  /** Default: a file system. */
  readonly disk?: DiskModeName
  /** The longest answer time of a transport, milliseconds; 0: at once. */
  readonly answerMs: number
  /** Much mail waits for sites that take one message at a time: no bound of its wait is judged. */
  readonly waitsForOthers?: boolean
  /** Only its time keeps mail waiting: how late it is attempted, or expires, is judged. */
  readonly isPunctual?: boolean
}

export const kibibyte = 1024

export const smallSegments: { readonly segmentBytes: number; readonly laneSegmentBytes: number } = {
  segmentBytes: 32 * kibibyte,
  laneSegmentBytes: 32 * kibibyte,
}

export const smallSetup: Setup = {
  ...smallSegments,
  inlineBytesMax: 2 * kibibyte,
  suffixBytesMax: 8 * kibibyte,
  checkpointIntervalMs: 700,
  attempt: { deadlineMs: 60_000 },
}

export const retryOf = ({
  intervalsMs,
  lifetimeMs,
  warningAgesMs = [],
}: Workload): NonNullable<QueueOptions['retry']> => {
  const policy = fixedRetry(intervalsMs, lifetimeMs)
  return {
    ...policy,
    delayWarningAgesMs: warningAgesMs,
    decide: (state, prng) =>
      state.nexthop === impatientDomain && state.attempts >= impatientAttempts
        ? { kind: 'expire' }
        : policy.decide(state, prng),
  }
}

/** The waits after `attempts` + 1 attempts, of each policy that a life of the run may have. */
const waitsMs = ({ intervalsMs, otherIntervalsMs = [] }: Workload, attempts: number): number[] =>
  [intervalsMs, ...otherIntervalsMs].map((each) => each[Math.min(attempts, each.length - 1)]!)

/** The shortest of them. */
export const leastWaitMs = (workload: Workload, attempts: number): number =>
  Math.min(...waitsMs(workload, attempts))

/** The longest of them. @param attempts default: any number */
export const mostWaitMs = (workload: Workload, attempts?: number): number =>
  attempts === undefined ? longestWaitMs(workload) : Math.max(...waitsMs(workload, attempts))

/** The longest of all, in any life. */
export const longestWaitMs = ({ intervalsMs, otherIntervalsMs = [] }: Workload): number =>
  Math.max(...[intervalsMs, ...otherIntervalsMs].flat())

/** Does a life that is set up like this attempt anything? */
export const delivers = ({ setup }: Workload): boolean => setup.deliver !== false

/** There is never room in such a life, once there is none. */
export const isShortForGood = ({ shortage }: Workload): boolean => shortage?.forMs === Infinity

/** Can mail come to its end in such a life? It is attempted to the end, and there is room at
 * last. */
export const canEnd = (workload: Workload): boolean =>
  delivers(workload) && !isShortForGood(workload) && workload.drain === undefined

/** The same, for a life in which it can. */
export const toItsEnd = (workload: Workload): Workload => ({
  ...workload,
  shortage: undefined,
  drain: undefined,
  setup: { ...workload.setup, deliver: true },
})

/** The data of a message: text that says whose it is, in lines. */
export function dataOf({ sender, dataBytes }: Step): Buffer {
  const line = `Subject: ${sender}\r\n\r\n`
  const body = `${sender} `.repeat(3).trimEnd() + '\r\n'
  const text = line + body.repeat(Math.max(1, Math.ceil((dataBytes - line.length) / body.length)))
  return Buffer.from(text.slice(0, Math.max(line.length, dataBytes)))
}
