/** Measures the ways in which applications use a queue beside plain submissions: consumers of
 * outcomes, scheduled mail, many messages at once, options. One process, which is queue, producers
 * and consumer; each round has all ways in turn, each in a new directory. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openQueue, type Queue, type Submission } from '../../src/index.js'
import type { BenchArguments } from '../bench.js'
import { bodyOf, recipientsOf, sender } from '../contenders/payloads.js'
import { spreadOf, type Row } from '../output.js'

const producerCount = 100
const mebibyte = 1024 * 1024
const monthMs = 30 * 86_400_000

const plain: Submission = { sender, recipients: recipientsOf(1), data: bodyOf(1024) }

interface Sizes {
  readonly rounds: number
  readonly messageCount: number
  readonly scheduledCount: number
}

const sizesOf = (smoke: boolean): Sizes =>
  smoke
    ? { rounds: 1, messageCount: 200, scheduledCount: 200 }
    : { rounds: 5, messageCount: 100_000, scheduledCount: 1_000_000 }

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const sizes = sizesOf(smoke)
  let made = 0
  const open = async (): Promise<Queue> => {
    const own = join(directory, `queue-${made++}`)
    mkdirSync(own)
    const queue = await openQueue(own, {
      transports: { now: { deliver: () => ({ kind: 'delivered' }) } },
      route: () => ({ transport: 'now', nexthop: 'example.net' }),
      outcomeBytesMax: 64 * 1024 * mebibyte,
    })
    await new Promise((resolve) => queue.once('recovered', resolve))
    return queue
  }
  const ways: Readonly<Record<string, (queue: Queue, count: number) => Promise<void>>> = {
    'no option': produce(() => plain),
    'two tags': produce(() => ({ ...plain, tags: ['newsletter', 'november'] })),
    'an idempotency key': produce((n) => ({ ...plain, idempotencyKey: `order ${n}` })),
    'a trace': produce(() => ({ ...plain, traceparent })),
    submitMany: submitAll,
    'a consumer that keeps up': besideConsumer,
  }
  const rates = new Map(Object.keys(ways).map((name): [string, number[]] => [name, []]))
  for (let round = 0; round < sizes.rounds; round++)
    for (const [name, way] of Object.entries(ways)) {
      const queue = await open()
      const startedAt = performance.now()
      await way(queue, sizes.messageCount)
      rates.get(name)!.push((sizes.messageCount / (performance.now() - startedAt)) * 1000)
      queue.crash()
    }
  const reference = rates.get('no option')!
  output.table(
    `whole lives of 1 KiB messages, ${producerCount} producers`,
    [...rates].map(([way, own]): Row => ({
      way,
      'lives/s': spreadOf(own),
      'of no option': spreadOf(own.map((rate, round) => rate / reference[round]!)),
    })),
  )
  output.table('a consumer that comes back', [await catchUp(await open(), sizes.messageCount)])
  output.table('scheduled for a month ahead', [await schedule(await open(), sizes.scheduledCount)])
  output.note('Median (least–most) of the rounds; ratios are taken within a round.')
}

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** Each producer waits until its own message is durable; ends when all are delivered. */
const produce =
  (next: (n: number) => Submission) =>
  async (queue: Queue, count: number): Promise<void> => {
    let taken = 0
    const produceAll = async (): Promise<void> => {
      while (taken < count) await queue.submit(next(taken++))
    }
    await Promise.all(Array.from({ length: producerCount }, produceAll))
    await queue.idle()
  }

async function submitAll(queue: Queue, count: number): Promise<void> {
  const messages = Array.from({ length: count }, () => plain)
  for await (const { error } of queue.submitMany(messages)) if (error !== undefined) throw error
  await queue.idle()
}

/** Outcomes of so many messages, in batches. */
async function take(queue: Queue, messageCount: number): Promise<number> {
  let [finished, outcomes] = [0, 0]
  for await (const batch of queue.outcomeBatches({ consumer: 'bench' })) {
    outcomes += batch.length
    for (const { kind } of batch) if (kind === 'finished') finished++
    if (finished >= messageCount) return outcomes
  }
  throw new Error('the consumer ended early')
}

async function besideConsumer(queue: Queue, count: number): Promise<void> {
  const taken = take(queue, count)
  await produce(() => plain)(queue, count)
  await taken
}

/** Outcomes that are there, as fast as they can be had. */
async function catchUp(queue: Queue, messageCount: number): Promise<Row> {
  const away = queue.outcomes({ consumer: 'bench' })
  const first = away.next()
  await queue.submit(plain)
  await first
  await away.return()
  await produce(() => plain)(queue, messageCount)
  const startedAt = performance.now()
  const outcomes = await take(queue, messageCount)
  const seconds = (performance.now() - startedAt) / 1000
  queue.crash()
  return { messages: messageCount, outcomes, seconds, 'outcomes/s': outcomes / seconds }
}

async function schedule(queue: Queue, count: number): Promise<Row> {
  const before = heapBytes()
  const notBefore = Date.now() + monthMs
  const startedAt = performance.now()
  await produce(() => ({ ...plain, notBefore }))(queue, count)
  const seconds = (performance.now() - startedAt) / 1000
  const heapMiB = (heapBytes() - before) / mebibyte
  queue.crash()
  return { messages: count, 'messages/s': count / seconds, 'heap MiB more': heapMiB }
}

/** In use, behind a collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
