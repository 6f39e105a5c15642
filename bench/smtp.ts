/** Processor time of the relay for accepting a message of 1 KiB, by server. smtp-source sends, over
 * 20 connections, or each message over a new one. The rest of a relayed message is the queue
 * (`npm run bench -- lives`) and the connection out. smtp-server alone greets after 100 ms, so its
 * rate without reuse does not show its cost; its processor time does. */
import { AskedProcess } from './asked-process.js'
import type { BenchArguments } from './bench.js'
import { spreadOf, type Row } from './output.js'
import { treeUsage } from './process-tree.js'
import { flowMissing, source, type Load } from './relays/mail-flow.js'
import type { Answer, Order } from './smtp/server-process.js'
import type { ServerName } from './smtp/servers.js'

const names: readonly ServerName[] = ['bare', 'library', 'relay']
const loads: readonly Load[] = [true, false].map((isReused) => ({
  messageBytes: 1024,
  sessionCount: 20,
  isReused,
}))

interface Entrant {
  readonly name: ServerName
  readonly process: AskedProcess<Order, Answer>
  readonly port: number
}

export async function run({ output, smoke }: BenchArguments): Promise<void> {
  const trouble = flowMissing()
  if (trouble !== undefined) throw new Error(trouble)
  const rounds = smoke ? 1 : 7
  const messageCount = smoke ? 200 : 4000
  const entrants: Entrant[] = []
  for (const name of names) {
    const process = new AskedProcess<Order, Answer>(new URL('./smtp/server-process.js', import.meta.url))
    entrants.push({ name, process, port: (await process.ask({ open: name })).port })
  }
  for (const load of loads) {
    const cpu = new Map(entrants.map(({ name }) => [name, [] as number[]]))
    for (const { port } of entrants) await source(port, load, messageCount)
    for (let round = 0; round < rounds; round++)
      for (const { name, process, port } of round % 2 === 0 ? entrants : entrants.toReversed()) {
        const beforeMs = treeUsage(process.processId).cpuMs
        await source(port, load, messageCount)
        const usedMs = treeUsage(process.processId).cpuMs - beforeMs
        cpu.get(name)!.push((usedMs * 1000) / messageCount)
      }
    const title = load.isReused ? 'connections reused' : 'a connection for each message'
    output.table(
      title,
      [...cpu].map(([server, values]): Row => ({ server, 'CPU µs/message': spreadOf(values) })),
    )
  }
  for (const { process } of entrants) await process.kill()
}
