/** The cost of a session in the relay's memory, the time of a message through an idle relay, and
 * the cost of TLS. Beside Postfix, which has a process for each session and takes a hundred at
 * once. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchArguments } from '../bench.js'
import type { Row } from '../output.js'
import { treeUsage } from '../process-tree.js'
import { postfix, postfixMissing } from '../relays/postfix.js'
import { placed, type Relay } from '../relays/relay.js'
import { waybill } from '../relays/waybill.js'
import { Client } from './client.js'
import { send } from './send.js'
import { Sink } from './sink.js'
import { overTls } from './tls.js'

const sessionCounts = [1000, 5000]
/** Opened at once. */
const openedMax = 50
/** Memory is looked at when nothing has happened for so long. */
const restMs = 3000
const clientCount = 20
const messageCount = 3000

/** A tenth of what each takes over 20 sessions that it keeps, by `bench relay`. */
const tenth = { waybill: 250, postfix: 28 }

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  chmodSync(directory, 0o711)
  const sink = await Sink.start()
  try {
    const counts = smoke ? [20] : sessionCounts
    const more = ['--sessions', String(Math.max(...counts))]
    const open = await waybill({ ...placed(join(directory, 'open'), sink.port), more })
    try {
      output.table('sessions that are open, each behind one message', await openSessions(open, counts))
    } finally {
      await open.stop()
    }
    const rows: Row[] = []
    for (const [name, start] of Object.entries({ waybill, postfix })) {
      const missing = name === 'postfix' ? postfixMissing() : undefined
      if (missing !== undefined) output.note(`${missing}; it was not measured.`)
      else rows.push(await throughOne(name as keyof typeof tenth, start, directory, sink, smoke))
    }
    output.table('from the end of the data until the next server has all, ms', rows)
    output.table('STARTTLS on both sides, 20 sessions, 1 KiB', await overTls(output, directory, smoke))
  } finally {
    await sink.stop()
  }
}

/** Each has sent a message, and waits. */
async function openSessions(relay: Relay, counts: readonly number[]): Promise<Row[]> {
  const first = await Client.open(relay.port)
  await send(first, 0)
  await sleep(restMs)
  const emptyBytes = treeUsage(relay.processId).rssBytes
  const clients: Client[] = []
  const rows: Row[] = []
  try {
    for (const count of counts) {
      while (clients.length < count) {
        const size = Math.min(openedMax, count - clients.length)
        const more = await Promise.all(Array.from({ length: size }, () => Client.open(relay.port)))
        for (const [i, client] of more.entries()) await send(client, clients.length + i)
        clients.push(...more)
      }
      await sleep(restMs)
      const { rssBytes } = treeUsage(relay.processId)
      rows.push({
        sessions: count,
        'RSS MiB': rssBytes / 2 ** 20,
        'KiB a session': (rssBytes - emptyBytes) / 1024 / count,
      })
    }
  } finally {
    for (const client of [first, ...clients]) client.close()
  }
  return rows
}

async function throughOne(
  name: keyof typeof tenth,
  start: typeof postfix,
  directory: string,
  sink: Sink,
  isSmoke: boolean,
): Promise<Row> {
  const relay = await start(placed(join(directory, name), sink.port))
  const rate = tenth[name]
  try {
    await paced(relay, sink, rate, isSmoke ? 5 : rate * 3)
    const times = await paced(relay, sink, rate, isSmoke ? 20 : Math.min(messageCount, rate * 20))
    const sorted = [...times].sort((a, b) => a - b)
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
    return {
      relay: name,
      'messages/s': rate,
      messages: times.length,
      p50: at(0.5),
      p99: at(0.99),
      most: at(1),
    }
  } finally {
    await relay.stop()
  }
}

/** Sends at a rate, each message when its time has come, over whichever session is free.
 * @returns milliseconds of each */
async function paced(relay: Relay, sink: Sink, rate: number, count: number): Promise<number[]> {
  const clients = await Promise.all(Array.from({ length: clientCount }, () => Client.open(relay.port)))
  const sent = new Map<number, number>()
  const first = sink.next
  sink.next += count
  const startedAt = performance.now()
  let taken = 0
  await Promise.all(
    clients.map(async (client) => {
      while (taken < count) {
        const i = taken++
        await sleep(Math.max(0, startedAt + (i * 1000) / rate - performance.now()))
        await send(client, first + i, () => sent.set(first + i, performance.now()))
      }
    }),
  )
  const isThere = (): boolean => [...sent.keys()].every((id) => sink.arrivals.has(id))
  for (let looks = 0; !isThere(); looks++) {
    if (looks > 1000) throw new Error(`${relay.name}: messages do not arrive`)
    await sleep(20)
  }
  for (const client of clients) client.close()
  return [...sent].map(([id, atMs]) => sink.arrivals.get(id)! - atMs)
}
