/** One life of a queue that is full of deferred mail, in a separate process that answers its
 * parent.
 * Invariant: the parent sets the start of the wall clock, and so how much mail is due; monotonic
 * time is the system's. Deferred mail is deferred again; submitted mail is delivered at once. */
import { systemClock } from '../../src/base/clock.js'
import { openQueue, type Queue } from '../../src/index.js'
import { answering } from '../asked-process.js'
import { rateOf, type Contender, type Slice } from '../contenders/contender.js'
import { storeOf } from '../contenders/engine.js'
import { bodyOf, recipientsOf, sender } from '../contenders/payloads.js'
import { produced } from '../contenders/produced.js'

export interface Opening {
  /** A queue, or where one is to be made. */
  readonly directory: string
  /** The queue's clock at the opening, milliseconds since 1970. */
  readonly wallAtMs: number
  /** Whether deferred mail is due by then; if so the life waits for its first attempt. */
  readonly isDue: boolean
}

export type Order =
  | ({ readonly kind: 'open' } & Opening)
  | { readonly kind: 'slice'; readonly producerCount: number; readonly durationMs: number }
  | ({ readonly kind: 'delete' } & Deletion)

export interface Deletion {
  /** Mail accepted longer ago than this by the queue's clock is deleted, milliseconds. */
  readonly olderThanMs: number
  /** Producers of workload Q beside it; 0: none. */
  readonly producerCount: number
}

export interface Deleted {
  readonly messageCount: number
  readonly durationMs: number
  /** Of workload Q before it and beside it, messages a second; 0 without producers. */
  readonly rateBefore: number
  readonly rateBeside: number
}

export interface Opened {
  readonly kind: 'opened'
  /** From the call of `openQueue` until a submission had settled, milliseconds. */
  readonly acceptedMs: number
  /** Until recovery had ended. */
  readonly recoveredMs: number
  /** Until the first attempt for mail that was deferred; undefined where none is due. */
  readonly attemptMs: number | undefined
  /** Resident memory before the call, and after a while, garbage collected. */
  readonly rssBeforeBytes: number
  readonly rssAfterBytes: number
}

export type Answer =
  | Opened
  | { readonly kind: 'slice'; readonly slice: Slice }
  | { readonly kind: 'deleted'; readonly deleted: Deleted }

const submission = { sender, recipients: recipientsOf(1), data: bodyOf(1024) }
/** The work at the beginning of a life ends meanwhile. */
const restMs = 500

/** Of workload Q before a deletion; and beside it, one after the other. */
const beforeMs = 2000
const besideMs = 500

let queue: Queue | undefined
let contender: Contender | undefined

async function open(order: Opening): Promise<Opened> {
  globalThis.gc?.()
  const rssBeforeBytes = process.memoryUsage.rss()
  let sawAttempt: ((atMs: number) => void) | undefined
  const attempt = new Promise<number>((resolve) => (sawAttempt = resolve))
  const monotonicBeganMs = systemClock.monotonicMs()
  const startedAt = performance.now()
  const opened = await openQueue(order.directory, {
    clock: {
      ...systemClock,
      wallMs: () => Math.floor(order.wallAtMs + systemClock.monotonicMs() - monotonicBeganMs),
    },
    transports: {
      now: {
        deliver: ({ attempts }) => {
          if (attempts > 0) {
            sawAttempt?.(performance.now() - startedAt)
            return { kind: 'deferred', status: '4.0.0', reason: 'part of the backlog' }
          }
          return { kind: 'delivered' }
        },
      },
    },
    route: () => ({ transport: 'now', nexthop: 'example.net' }),
  })
  queue = opened
  const recovered = new Promise((resolve) => opened.once('recovered', resolve))
  const store = storeOf(opened, () => submission)
  const accepted = store.submit().then(() => performance.now() - startedAt)
  await recovered
  const recoveredMs = performance.now() - startedAt
  const acceptedMs = await accepted
  const attemptMs = order.isDue ? await attempt : undefined
  await new Promise((resolve) => setTimeout(resolve, restMs))
  globalThis.gc?.()
  contender = produced(store, order.directory)
  const rssAfterBytes = process.memoryUsage.rss()
  return { kind: 'opened', acceptedMs, recoveredMs, attemptMs, rssBeforeBytes, rssAfterBytes }
}

async function deletion({ olderThanMs, producerCount }: Deletion): Promise<Deleted> {
  const before = producerCount === 0 ? undefined : await contender!.slice(producerCount, beforeMs)
  const startedAt = performance.now()
  let durationMs: number | undefined
  const result = queue!.delete({ olderThan: olderThanMs }).finally(() => {
    durationMs = performance.now() - startedAt
  })
  const rates: number[] = []
  if (before !== undefined)
    while (durationMs === undefined) rates.push(rateOf(await contender!.slice(producerCount, besideMs)))
  const { messageCount } = await result
  // During the last slice it ended.
  const whole = rates.length > 1 ? rates.slice(0, -1) : rates
  return {
    messageCount,
    durationMs: durationMs!,
    rateBefore: before === undefined ? 0 : rateOf(before),
    rateBeside: whole.reduce((sum, rate) => sum + rate, 0) / Math.max(whole.length, 1),
  }
}

async function obey(order: Order): Promise<Answer> {
  switch (order.kind) {
    case 'open':
      return open(order)
    case 'slice':
      return { kind: 'slice', slice: await contender!.slice(order.producerCount, order.durationMs) }
    case 'delete':
      return { kind: 'deleted', deleted: await deletion(order) }
  }
}

answering(obey)
