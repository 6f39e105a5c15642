/** A queue in one of the layouts, with partly deferred mail, in a separate process.
 * Invariant: a slice ends when all its mail is delivered, retries included, so that nothing runs
 * while others are measured. Each of a message's first three attempts is deferred with the share's
 * probability, the fourth never is. */
import { seededPrng, below } from '../../src/base/prng.js'
import { fixedRetry, openQueue, type Queue } from '../../src/index.js'
import { answering } from '../asked-process.js'
import { deviceBytes } from '../contenders/device-bytes.js'
import { bodyOf, recipientsOf, sender } from '../contenders/payloads.js'

export interface Mix {
  readonly directory: string
  readonly layout: 'lanes' | 'single'
  readonly deferredPercent: number
}

export type Order =
  | ({ readonly kind: 'open' } & Mix)
  | { readonly kind: 'slice'; readonly producerCount: number; readonly durationMs: number }

export interface MixedSlice {
  readonly messageCount: number
  readonly attemptCount: number
  /** While mail was submitted, milliseconds. */
  readonly submittingMs: number
  readonly p99Ms: number
  /** Of the whole slice, until the last retry. */
  readonly cpuMs: number
  readonly journalBytes: number
  /** Bytes written to the device: journal, lanes, file system, and other writers. */
  readonly deviceBytes: number
  /** Segments in use, at the worst moment. */
  readonly logBytesMost: number
}

export type Answer = { readonly kind: 'ready' } | { readonly kind: 'slice'; readonly slice: MixedSlice }

export const intervalsMs: readonly number[] = [1000, 2000, 4000]
const journalSegmentBytes = 64 * 1024 * 1024
const laneSegmentBytes = 16 * 1024 * 1024
const lookMs = 100

const prng = seededPrng(1)
const submission = { sender, recipients: recipientsOf(1), data: bodyOf(1024) }
let deferredPercent = 0
let attemptCount = 0
let owedCount = 0
let directory = ''
let queue: Queue | undefined

async function open(mix: Mix): Promise<void> {
  deferredPercent = mix.deferredPercent
  directory = mix.directory
  queue = await openQueue(mix.directory, {
    layout: mix.layout,
    segmentBytes: journalSegmentBytes,
    laneSegmentBytes,
    retry: fixedRetry([...intervalsMs]),
    transports: {
      sometimes: {
        deliver: ({ attempts }) => {
          attemptCount++
          if (attempts < intervalsMs.length && below(prng, 100) < deferredPercent)
            return { kind: 'deferred', status: '4.0.0', reason: 'part of the mix' }
          owedCount--
          return { kind: 'delivered' }
        },
      },
    },
    route: () => ({ transport: 'sometimes', nexthop: 'example.net' }),
  })
}

async function slice(producerCount: number, durationMs: number): Promise<MixedSlice> {
  const running = queue!
  const latencies: number[] = []
  const cpuBefore = process.cpuUsage()
  const attemptsBefore = attemptCount
  const journalBefore = running.stats().journal.writtenBytes
  const deviceBefore = await deviceBytes(directory)
  let logBytesMost = 0
  const looking = setInterval(() => {
    logBytesMost = Math.max(logBytesMost, logBytes(running))
  }, lookMs)
  const startedAt = performance.now()
  const until = startedAt + durationMs
  const produce = async (): Promise<void> => {
    for (let now = performance.now(); now < until;) {
      owedCount++
      await running.submit(submission)
      const durableAt = performance.now()
      latencies.push(durableAt - now)
      now = durableAt
    }
  }
  await Promise.all(Array.from({ length: producerCount }, produce))
  const submittingMs = performance.now() - startedAt
  while (owedCount > 0 || running.stats().activeCount > 0 || running.stats().journal.stagedBytes > 0)
    await new Promise((resolve) => setTimeout(resolve, lookMs))
  clearInterval(looking)
  const cpu = process.cpuUsage(cpuBefore)
  latencies.sort((a, b) => a - b)
  return {
    messageCount: latencies.length,
    attemptCount: attemptCount - attemptsBefore,
    submittingMs,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
    cpuMs: (cpu.user + cpu.system) / 1000,
    journalBytes: running.stats().journal.writtenBytes - journalBefore,
    deviceBytes: (await deviceBytes(directory)) - deviceBefore,
    logBytesMost,
  }
}

function logBytes(running: Queue): number {
  const { journal, lanes } = running.stats()
  const laneSegments = lanes.reduce((sum, { segmentCount }) => sum + segmentCount, 0)
  return journal.segmentCount * journalSegmentBytes + laneSegments * laneSegmentBytes
}

answering(async (order: Order): Promise<Answer> => {
  if (order.kind === 'slice')
    return { kind: 'slice', slice: await slice(order.producerCount, order.durationMs) }
  await open(order)
  return { kind: 'ready' }
})
