/** A queue of one life, in a separate process that may be killed. Mail comes at a fixed rate or as
 * fast as it goes, and part of it is deferred; then it is measured what a start finds. */
import { readFile } from 'node:fs/promises'
import { below, seededPrng } from '../../src/base/prng.js'
import { fixedRetry, openQueue, type Queue } from '../../src/index.js'
import { answering } from '../asked-process.js'
import { deviceWork } from '../contenders/device-bytes.js'
import { bodyOf, recipientsOf, sender } from '../contenders/payloads.js'

export type Order =
  | {
      readonly kind: 'open'
      readonly directory: string
      readonly checkpointIntervalMs: number
      /** Of a message's first three attempts. */
      readonly deferredPercent: number
      readonly intervalsMs: readonly number[]
      readonly layout?: 'lanes' | 'single'
    }
  | {
      readonly kind: 'slice'
      readonly producerCount: number
      readonly durationMs: number
      /** What a submission waits for before it is appended, so that it shares the sync of a
       * delivery. */
      readonly delayMs: number
      /** Messages a second; Infinity: as fast as it goes. */
      readonly ratePerSecond: number
      /** The slice goes on until no retry is left. */
      readonly drains?: boolean
    }

export interface Slice {
  readonly messageCount: number
  /** While mail was submitted. */
  readonly durationMs: number
  readonly medianMs: number
  readonly p99Ms: number
  /** Of the whole slice, as all that follows. */
  readonly cpuMs: number
  readonly syncCount: number
  readonly journalBytes: number
  /** Of the whole device, others' included. */
  readonly deviceBytes: number
  /** Requests for writing that the device was given, others' included. */
  readonly deviceWriteCount: number
  /** That this process has read, from the page cache too. */
  readonly readBytes: number
  readonly attemptCount: number
  /** Segments in use, at the worst moment. */
  readonly logBytesMost: number
}

/** Of the open, from its call on, milliseconds. */
export interface Opened {
  readonly openMs: number
  readonly acceptedMs: number
  readonly recoveredMs: number
  /** That `read` calls returned until then, from the page cache too. */
  readonly readBytes: number
}

export type Answer =
  { readonly kind: 'opened'; readonly opened: Opened } | { readonly kind: 'slice'; readonly slice: Slice }

const attemptsDeferredMax = 3
const segmentBytes = 64 * 1024 * 1024
const laneSegmentBytes = 16 * 1024 * 1024
const lookMs = 100

const prng = seededPrng(1)
const submission = { sender, recipients: recipientsOf(1), data: bodyOf(1024) }
let queue: Queue
let directory: string
let owedCount = 0
let attemptCount = 0

async function open(order: Order & { kind: 'open' }): Promise<Opened> {
  const { checkpointIntervalMs, deferredPercent, intervalsMs, layout } = order
  directory = order.directory
  const readBefore = await readBytes()
  const startedAt = performance.now()
  queue = await openQueue(directory, {
    checkpointIntervalMs,
    layout: layout ?? 'lanes',
    segmentBytes,
    laneSegmentBytes,
    retry: fixedRetry([...intervalsMs]),
    transports: {
      sometimes: {
        deliver: async (request) => {
          attemptCount++
          await request.data()
          if (request.attempts < attemptsDeferredMax && below(prng, 100) < deferredPercent)
            return { kind: 'deferred', status: '4.0.0', reason: 'part of the mix' }
          owedCount--
          return { kind: 'delivered' }
        },
      },
    },
    route: () => ({ transport: 'sometimes', nexthop: 'example.net' }),
  })
  const recovered = new Promise((resolve) => queue.once('recovered', resolve))
  const openMs = performance.now() - startedAt
  owedCount++
  await queue.submit(submission)
  const acceptedMs = performance.now() - startedAt
  await recovered
  const recoveredMs = performance.now() - startedAt
  return { openMs, acceptedMs, recoveredMs, readBytes: (await readBytes()) - readBefore }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** What `read` calls of this process have returned. */
async function readBytes(): Promise<number> {
  return Number(/rchar: (\d+)/.exec(await readFile('/proc/self/io', 'latin1'))?.[1] ?? 0)
}

async function slice(order: Order & { kind: 'slice' }): Promise<Slice> {
  const { producerCount, durationMs, delayMs, ratePerSecond } = order
  const latencies: number[] = []
  const before = {
    ...queue.stats().journal,
    device: await deviceWork(directory),
    readBytes: await readBytes(),
    cpu: process.cpuUsage(),
    attemptCount,
  }
  let logBytesMost = 0
  const looking = setInterval(() => {
    logBytesMost = Math.max(logBytesMost, logBytes())
  }, lookMs)
  const startedAt = performance.now()
  const until = startedAt + durationMs
  const produce = async (): Promise<void> => {
    for (let now = performance.now(); now < until; now = performance.now()) {
      if (latencies.length > ((now - startedAt) / 1000) * ratePerSecond) await pause(1)
      else {
        if (delayMs > 0) await pause(delayMs)
        owedCount++
        await queue.submit(submission)
        latencies.push(performance.now() - now)
      }
    }
  }
  await Promise.all(Array.from({ length: producerCount }, produce))
  const submittingMs = performance.now() - startedAt
  while (order.drains === true && isBusy()) await pause(lookMs)
  clearInterval(looking)
  const cpu = process.cpuUsage(before.cpu)
  const { syncCount, writtenBytes } = queue.stats().journal
  const after = await deviceWork(directory)
  latencies.sort((a, b) => a - b)
  const at = (part: number): number => latencies[Math.floor(latencies.length * part)] ?? 0
  return {
    messageCount: latencies.length,
    durationMs: submittingMs,
    medianMs: at(0.5),
    p99Ms: at(0.99),
    cpuMs: (cpu.user + cpu.system) / 1000,
    syncCount: syncCount - before.syncCount,
    journalBytes: writtenBytes - before.writtenBytes,
    deviceBytes: after.writtenBytes - before.device.writtenBytes,
    deviceWriteCount: after.writeCount - before.device.writeCount,
    readBytes: (await readBytes()) - before.readBytes,
    attemptCount: attemptCount - before.attemptCount,
    logBytesMost,
  }
}

function isBusy(): boolean {
  const { activeCount, journal } = queue.stats()
  return owedCount > 0 || activeCount > 0 || journal.stagedBytes > 0
}

function logBytes(): number {
  const { journal, lanes } = queue.stats()
  const laneSegments = lanes.reduce((sum, { segmentCount }) => sum + segmentCount, 0)
  return journal.segmentCount * segmentBytes + laneSegments * laneSegmentBytes
}

answering(async (order: Order): Promise<Answer> =>
  order.kind === 'open'
    ? { kind: 'opened', opened: await open(order) }
    : { kind: 'slice', slice: await slice(order) },
)
