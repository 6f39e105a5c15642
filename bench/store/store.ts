/** A queue in a store of three PostgreSQL servers on loopback, beside one in a directory of the
 * same disk: whole lives of messages, in turns. Ratios hold; the servers share their disk and
 * processors with everything else, which on real machines they do not. */
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { openQueue, type Queue } from '../../src/index.js'
import { initStore } from '../../src/store/open-store.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row } from '../output.js'

interface Workload {
  readonly name: string
  readonly dataBytes: number
  readonly producerCount: number
  /** Messages of a turn. */
  readonly count: number
}

const workloads: readonly Workload[] = [
  { name: '1 KiB, 100 producers', dataBytes: 1024, producerCount: 100, count: 4000 },
  { name: '1 KiB, one producer', dataBytes: 1024, producerCount: 1, count: 200 },
  { name: '10 KiB, 100 producers', dataBytes: 10_240, producerCount: 100, count: 2000 },
  { name: '200 KB, 20 producers', dataBytes: 200_000, producerCount: 20, count: 150 },
]
const turnsUsual = 5

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const missing = postgresMissing()
  if (missing !== undefined) return output.table('skipped', [{ reason: missing }])
  const servers = await Servers.start(2)
  try {
    const url = `${servers.url}?queue=bench`
    await initStore(storePlaceOf(url), { name: 'bench', quotaBytes: undefined }, systemClock)
    await using local = await opened(join(directory, 'local'))
    await using store = await opened(url)
    const rows: Row[] = []
    for (const workload of workloads) rows.push(await compared(workload, local, store, smoke))
    output.table('lives a second, in a directory and in a store', rows)
  } finally {
    await servers.remove()
  }
}

const opened = (place: string): Promise<Queue> =>
  openQueue(place, {
    transports: { nothing: { deliver: () => ({ kind: 'delivered' }) } },
    route: () => ({ transport: 'nothing', nexthop: 'nothing' }),
  })

async function compared(workload: Workload, local: Queue, store: Queue, smoke: boolean): Promise<Row> {
  const count = smoke ? 20 : workload.count
  const rates: Record<'local' | 'store', number[]> = { local: [], store: [] }
  for (let turn = 0; turn < (smoke ? 1 : turnsUsual); turn++) {
    rates.local.push(await rateOf(local, workload, count))
    rates.store.push(await rateOf(store, workload, count))
  }
  const ratios = rates.store.map((rate, turn) => rate / rates.local[turn]!)
  return {
    workload: workload.name,
    directory: spreadOf(rates.local),
    store: spreadOf(rates.store),
    ratio: spreadOf(ratios),
  }
}

/** Lives a second. */
async function rateOf(queue: Queue, { dataBytes, producerCount }: Workload, count: number): Promise<number> {
  const line = `${'x'.repeat(70)}\r\n`
  const data = `Subject: bench\r\n\r\n${line.repeat(Math.ceil(dataBytes / line.length))}`
  let left = count
  const startedAt = performance.now()
  const producer = async (): Promise<void> => {
    while (left-- > 0) await queue.submit({ sender: '', recipients: ['a@example.org'], data })
  }
  await Promise.all(Array.from({ length: producerCount }, producer))
  await queue.idle()
  return count / ((performance.now() - startedAt) / 1000)
}
