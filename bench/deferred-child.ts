/** One life of a queue with waiting messages, in a separate process.
 *   fill DIR COUNT   submits so many, defers each until all wait in trusted lanes, and crashes
 *   open DIR         opens the queue, submits a message, waits for the recovery, and crashes
 * Prints its figures as one line of JSON. */
import { openQueue, type Queue, type QueueOptions } from '../src/index.js'
import { bodyOf, recipientsOf, sender } from './contenders/payloads.js'

/** Figures of `open`. */
export interface Opened {
  /** From the call of `openQueue` until it settled, and until a submission had
   * settled, milliseconds. */
  readonly openMs: number
  readonly acceptedMs: number
  /** Until recovery had ended. */
  readonly recoveredMs: number
  /** Memory of the process before the call, and after recovery, garbage collected. */
  readonly rssBeforeBytes: number
  readonly rssAfterBytes: number
  readonly heapAfterBytes: number
  /** Bytes of envelopes that wait in lanes. */
  readonly waitingBytes: number
}

const messageBytes = 1024
const submittersMax = 1000
const submission = { sender, recipients: recipientsOf(1), data: bodyOf(messageBytes) }

const options: QueueOptions = {
  transports: { later: { deliver: (_request) => ({ kind: 'deferred', status: '4.0.0', reason: 'later' }) } },
  route: () => ({ transport: 'later', nexthop: 'example.net' }),
}

const waitingBytes = (queue: Queue): number =>
  queue.stats().lanes.reduce((sum, lane) => sum + (lane.kind === 'retry' ? lane.waitingBytes : 0), 0)

async function fill(directory: string, count: number): Promise<void> {
  const queue = await openQueue(directory, options)
  let requeued = 0
  const allWait = new Promise<void>((resolve) => {
    queue.on('requeued', () => {
      requeued++
      if (requeued === count) resolve()
    })
  })
  let submitted = 0
  const submit = async (): Promise<void> => {
    while (submitted < count) {
      submitted++
      await queue.submit(submission)
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, submittersMax) }, submit))
  await allWait
  await nextCheckpoint(queue)
  console.log(JSON.stringify({ requeued, waitingBytes: waitingBytes(queue) }))
  queue.crash()
}

/** A checkpoint that began after this call: the second from now. */
async function nextCheckpoint(queue: Queue): Promise<void> {
  const seen = queue.stats().journal.checkpointCount
  while (queue.stats().journal.checkpointCount < seen + 2) {
    await queue.submit(submission)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function open(directory: string): Promise<void> {
  collect()
  const rssBeforeBytes = process.memoryUsage.rss()
  const startedAt = performance.now()
  const queue = await openQueue(directory, options)
  const recovered = new Promise((resolve) => queue.once('recovered', resolve))
  const openMs = performance.now() - startedAt
  const accepted = queue.submit(submission).then(() => performance.now() - startedAt)
  await recovered
  const recoveredMs = performance.now() - startedAt
  const acceptedMs = await accepted
  await new Promise((resolve) => setTimeout(resolve, 200))
  collect()
  const { rss, heapUsed } = process.memoryUsage()
  const opened: Opened = {
    openMs,
    acceptedMs,
    recoveredMs,
    rssBeforeBytes,
    rssAfterBytes: rss,
    heapAfterBytes: heapUsed,
    waitingBytes: waitingBytes(queue),
  }
  console.log(JSON.stringify(opened))
  queue.crash()
}

const collect = (): void => globalThis.gc?.()

const [verb, directory, count] = process.argv.slice(2)
if (verb === 'fill') await fill(directory!, Number(count))
else await open(directory!)
