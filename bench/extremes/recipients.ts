/** One message with very many recipients: the cost of each, and the longest block of the event
 * loop.
 * Invariant: a fifth fails and a fifth is deferred, so that a bounce and a replacement are
 * composed. The second life recovers the half-done message of the first. */
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixedRetry, openQueue, type DeliveryResult, type Queue } from '../../src/index.js'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row } from '../output.js'

const counts = [1000, 10_000, 40_000, 100_000]
const perDestination = 20

interface Figure {
  /** Processor time of all threads, µs for each recipient. */
  readonly cpuMicros: number
  /** The longest block of the event loop, milliseconds. */
  readonly stoodMs: number
  /** The same in the recovery of the message when half of it is done. */
  readonly recoveryStoodMs: number
}

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const rounds = smoke ? 1 : 5
  const rows: Row[] = []
  for (const count of smoke ? counts.slice(0, 1) : counts) {
    const figures: Figure[] = []
    // The first one warms up.
    for (let round = 0; round <= rounds; round++) {
      const figure = await measure(join(directory, `many-${count}-${round}`), count)
      if (round > 0) figures.push(figure)
    }
    rows.push({
      recipients: count,
      'CPU µs/recipient': spreadOf(figures.map(({ cpuMicros }) => cpuMicros)),
      'event loop stood ms': spreadOf(figures.map(({ stoodMs }) => stoodMs)),
      'in recovery ms': spreadOf(figures.map(({ recoveryStoodMs }) => recoveryStoodMs)),
    })
  }
  output.table('one message with many recipients', rows)
  output.note('A fifth fails, a fifth is put off. What stood holds garbage collection, too.')
}

async function measure(directory: string, count: number): Promise<Figure> {
  const first = await opened(directory, outcomesOf)
  await sleep(20)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const before = process.cpuUsage()
  delay.enable()
  await submitted(first, count)
  await first.idle()
  delay.disable()
  const { user, system } = process.cpuUsage(before)
  const stoodMs = delay.max / 1e6
  first.crash()
  return {
    cpuMicros: (user + system) / count,
    stoodMs,
    recoveryStoodMs: await recovered(`${directory}-half`, count),
  }
}

/** Half of the recipients have their outcome when the first life ends. */
async function recovered(directory: string, count: number): Promise<number> {
  let done = 0
  const half = await opened(directory, (recipients) => {
    done += recipients.length
    return done > count / 2 ? new Promise<never>(() => undefined) : outcomesOf(recipients)
  })
  await submitted(half, count)
  while (done <= count / 2) await sleep(5)
  await sleep(50)
  half.crash()
  await sleep(50)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const second = await opened(directory, () => new Promise<never>(() => undefined))
  if (second.stats().recovering) await new Promise((resolve) => second.once('recovered', resolve))
  await sleep(20)
  delay.disable()
  second.crash()
  return delay.max / 1e6
}

const opened = (
  directory: string,
  answer: (recipients: readonly string[]) => DeliveryResult | Promise<DeliveryResult>,
): Promise<Queue> =>
  openQueue(directory, {
    transports: { it: { deliver: ({ recipients }) => answer(recipients) } },
    route: (recipient) => ({ transport: 'it', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
    retry: fixedRetry([3_600_000]),
    // With larger ones the zeroes of a new queue cost more than a small message.
    segmentBytes: 2 ** 24,
    laneSegmentBytes: 2 ** 24,
  })

const submitted = (queue: Queue, count: number): Promise<unknown> =>
  queue.submit({
    sender: 'a@example.org',
    recipients: Array.from({ length: count }, (_, i) => `u${i}@d${Math.floor(i / perDestination)}.example`),
    data: 'Subject: x\r\n\r\nx\r\n',
  })

const outcomesOf = (recipients: readonly string[]): DeliveryResult =>
  recipients.map((recipient) => {
    const fifth = Number(/\d+/.exec(recipient)![0]) % 5
    if (fifth === 0) return { kind: 'failed', status: '5.1.1', reason: 'no such user' }
    if (fifth === 1) return { kind: 'deferred', status: '4.2.1', reason: 'put off' }
    return { kind: 'delivered' }
  })
