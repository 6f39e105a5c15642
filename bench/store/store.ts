/** A queue in a store of three PostgreSQL servers on loopback, beside one in a directory of the
 * same disk, in turns. Ratios hold; the servers share their disk and processors with everything
 * else, which on real machines they do not. So the store is also held against itself: what the same
 * servers take of bare appends, without an engine. */
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { fixedRetry, openQueue, type Queue } from '../../src/index.js'
import { initStore } from '../../src/store/open-store.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row, type Spread } from '../output.js'
import { bareAppends } from './bare-appends.js'

interface Workload {
  readonly name: string
  readonly dataBytes: number
  readonly producerCount: number
  /** Messages of a turn. */
  readonly count: number
  /** Of each message the first attempt is deferred. */
  readonly isDeferred: boolean
}

const workload = (
  name: string,
  dataBytes: number,
  producerCount: number,
  count: number,
  isDeferred = false,
): Workload => ({ name, dataBytes, producerCount, count, isDeferred })

const workloads: readonly Workload[] = [
  workload('1 KiB, 100 producers', 1024, 100, 4000),
  workload('1 KiB, one producer', 1024, 1, 200),
  workload('1 KiB, each deferred once', 1024, 100, 4000, true),
  workload('10 KiB, 100 producers', 10_240, 100, 2000),
  workload('200 KB, 20 producers', 200_000, 20, 150),
]
const turnsDefault = 5
const queueCount = 8
const listedCount = 20_000
const retryMs = 50
const hourMs = 3_600_000

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const missing = postgresMissing()
  if (missing !== undefined) return output.table('skipped', [{ reason: missing }])
  const servers = await Servers.start(2)
  try {
    const bench = new StoreBench(servers, directory, smoke)
    output.table('lives a second, in a directory and in a store', await bench.lives())
    output.table('bare appends, one at a time, MiB/s', await bareAppends(servers, directory, smoke))
    output.table('queues of one producer, lives a second', await bench.queues())
    output.table('a listing, microseconds a message', await bench.listings())
  } finally {
    await servers.remove()
  }
}

class StoreBench {
  readonly #servers: Servers
  readonly #directory: string
  readonly #isSmoke: boolean

  constructor(servers: Servers, directory: string, isSmoke: boolean) {
    this.#servers = servers
    this.#directory = directory
    this.#isSmoke = isSmoke
  }

  async lives(): Promise<Row[]> {
    await using local = await BenchQueue.open(join(this.#directory, 'local'))
    await using store = await this.#inStore('lives')
    const rows: Row[] = []
    for (const each of workloads) rows.push(await this.#compared(each, local, store))
    return rows
  }

  /** How much eight queues take of what one takes. */
  async queues(): Promise<Row[]> {
    const one = workload('', 1024, 1, this.#isSmoke ? 5 : 200)
    const queues: BenchQueue[] = []
    for (let i = 1; i <= queueCount; i++) queues.push(await this.#inStore(`part${i}`))
    try {
      const alone: number[] = []
      const together: number[] = []
      for (let turn = 0; turn < this.#turns; turn++) {
        alone.push(await queues[0]!.rateOf(one))
        const rates = await Promise.all(queues.map((queue) => queue.rateOf(one)))
        together.push(rates.reduce((sum, rate) => sum + rate, 0))
      }
      return [
        {
          queues: queueCount,
          one: spreadOf(alone),
          all: spreadOf(together),
          ratio: ratioOf(together, alone),
        },
      ]
    } finally {
      for (const queue of queues) queue.queue.crash()
    }
  }

  async listings(): Promise<Row[]> {
    const count = this.#isSmoke ? 20 : listedCount
    await using local = await BenchQueue.open(join(this.#directory, 'listed'), hourMs)
    await using store = await this.#inStore('listed', hourMs)
    const times: Record<'local' | 'store', number[]> = { local: [], store: [] }
    for (const queue of [local, store]) await queue.fill(count)
    for (let turn = 0; turn < this.#turns; turn++) {
      times.local.push(await local.listingMicroseconds(count))
      times.store.push(await store.listingMicroseconds(count))
    }
    return [
      {
        deferred: count,
        directory: spreadOf(times.local),
        store: spreadOf(times.store),
        ratio: ratioOf(times.store, times.local),
      },
    ]
  }

  get #turns(): number {
    return this.#isSmoke ? 1 : turnsDefault
  }

  async #inStore(name: string, retriedMs?: number): Promise<BenchQueue> {
    const url = `${this.#servers.url}?queue=${name}`
    await initStore(storePlaceOf(url), { name, quotaBytes: undefined }, systemClock)
    return BenchQueue.open(url, retriedMs)
  }

  async #compared(given: Workload, local: BenchQueue, store: BenchQueue): Promise<Row> {
    const asked = this.#isSmoke ? { ...given, count: 20 } : given
    const rates: Record<'local' | 'store', number[]> = { local: [], store: [] }
    let walBytes = 0
    for (let turn = 0; turn < this.#turns; turn++) {
      rates.local.push(await local.rateOf(asked))
      const before = await this.#walBytes()
      rates.store.push(await store.rateOf(asked))
      walBytes += (await this.#walBytes()) - before
    }
    return {
      workload: given.name,
      directory: spreadOf(rates.local),
      store: spreadOf(rates.store),
      ratio: ratioOf(rates.store, rates.local),
      'store MiB/s': (spreadOf(rates.store).median * given.dataBytes) / 2 ** 20,
      'WAL bytes/byte': walBytes / (this.#turns * asked.count * given.dataBytes),
    }
  }

  /** That the primary has written. */
  async #walBytes(): Promise<number> {
    const [primary] = this.#servers.servers
    return Number(await this.#servers.ask(primary!, "SELECT pg_current_wal_lsn() - '0/0'"))
  }
}

const ratioOf = (above: readonly number[], below: readonly number[]): Spread =>
  spreadOf(above.map((value, turn) => value / below[turn]!))

/** A queue, and how much of a workload is done. */
class BenchQueue implements AsyncDisposable {
  readonly queue: Queue
  readonly #done: () => number

  private constructor(queue: Queue, done: () => number) {
    this.queue = queue
    this.#done = done
  }

  /** @param place a directory, or the address of a store
   * @param retriedMs when what was deferred is tried again */
  static async open(place: string, retriedMs: number = retryMs): Promise<BenchQueue> {
    let deliveredCount = 0
    const queue = await openQueue(place, {
      retry: fixedRetry([retriedMs]),
      transports: {
        nothing: {
          deliver: ({ nexthop, attempts }) => {
            if (nexthop === 'later' && attempts === 0)
              return { kind: 'deferred', status: '4.0.0', reason: 'of the bench' }
            deliveredCount++
            return { kind: 'delivered' }
          },
        },
      },
      route: (recipient) => ({ transport: 'nothing', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
    })
    return new BenchQueue(queue, () => deliveredCount)
  }

  /** Lives a second. */
  async rateOf(given: Workload): Promise<number> {
    const before = this.#done()
    const startedAt = performance.now()
    await this.#submit(given)
    while (this.#done() < before + given.count) await new Promise((resolve) => setTimeout(resolve, 1))
    await this.queue.idle()
    return given.count / ((performance.now() - startedAt) / 1000)
  }

  /** Defers so many messages. */
  async fill(count: number): Promise<void> {
    await this.#submit(workload('', 1024, 100, count, true))
    await this.queue.idle()
  }

  async listingMicroseconds(count: number): Promise<number> {
    const startedAt = performance.now()
    let seen = 0
    for await (const _ of this.queue.list()) seen++
    if (seen !== count) throw new Error(`${seen} of ${count} messages are listed`)
    return ((performance.now() - startedAt) * 1000) / count
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.queue[Symbol.asyncDispose]()
  }

  async #submit({ dataBytes, producerCount, count, isDeferred }: Workload): Promise<void> {
    const line = `${'x'.repeat(70)}\r\n`
    const data = `Subject: bench\r\n\r\n${line.repeat(Math.ceil(dataBytes / line.length))}`
    const recipients = [isDeferred ? 'a@later' : 'a@now']
    let left = count
    const producer = async (): Promise<void> => {
      while (left-- > 0) await this.queue.submit({ sender: '', recipients, data })
    }
    await Promise.all(Array.from({ length: producerCount }, producer))
  }
}
