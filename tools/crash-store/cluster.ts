/** Three servers and two nodes of one queue, and what can be done to them. */
import { fork, type ChildProcess } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.js'
import { initStore } from '../../src/store/postgres/init-store.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { judge, readLedger, waiting, type Entries, type Verdict } from './ledger.js'
import type { NodeRequest } from './node.js'
import { Proxy } from './proxy.js'
import { Servers, type Server } from './servers.js'

export const ttlMs = 2000
export const proofMs = 667
const deadlineMs = 1500
const ratePerSecond = 300
const drainMsMax = 60_000
const program = fileURLToPath(new URL('node.js', import.meta.url))

export interface ClusterNode {
  readonly name: string
  readonly proxy: Proxy
  readonly ports: readonly number[]
  child: ChildProcess
  lifeCount: number
}

export class Cluster {
  readonly servers: Servers
  readonly nodes: ClusterNode[] = []
  primary: Server
  #queueCount = 0
  #ledger = ''
  #queue = ''
  /** A life that begins now sends no mail. */
  #isQuiet = false
  #isEnding = false

  private constructor(servers: Servers) {
    this.servers = servers
    this.primary = servers.servers[0]!
  }

  static async start(): Promise<Cluster> {
    return new Cluster(await Servers.start(2))
  }

  get standbys(): Server[] {
    return this.servers.servers.filter((server) => server !== this.primary)
  }

  get entries(): Entries {
    return readLedger(this.#ledger)
  }

  /** A new queue, and nodes that run it: the first is its home. */
  async open(nodeCount: number): Promise<void> {
    this.#queue = `q${++this.#queueCount}`
    this.#ledger = join(this.servers.root, `${this.#queue}.ledger`)
    this.#isQuiet = false
    this.#isEnding = false
    await writeFile(this.#ledger, '')
    await initStore(
      storePlaceOf(`${this.servers.url}?safety=assumed`),
      { name: this.#queue, quotaBytes: undefined },
      systemClock,
    )
    for (let i = 0; i < nodeCount; i++) {
      const proxy = new Proxy()
      const ports = await proxy.open(this.servers.servers.map(({ port }) => port))
      const node = { name: `${this.#queue}n${i + 1}`, proxy, ports, lifeCount: 0 }
      this.nodes.push(this.#spawned(node as unknown as ClusterNode))
      if (i === 0) await this.until(() => this.entries.accepted.size > 0)
    }
  }

  #spawned(node: ClusterNode): ClusterNode {
    const hosts = node.ports.map((port) => `127.0.0.1:${port}`).join(',')
    const words = `queue=${this.#queue}&node=${node.name}&ttl=${ttlMs}ms&deadline=${deadlineMs}ms`
    const request: NodeRequest = {
      url: `postgres://postgres@${hosts}/postgres?${words}`,
      role: node === this.nodes[0] || this.nodes.length === 0 ? 'home' : 'adopter',
      life: `${node.name}.${++node.lifeCount}`,
      ledger: this.#ledger,
      ratePerSecond: this.#isQuiet ? 0 : ratePerSecond,
    }
    node.child = fork(program, [JSON.stringify(request)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const { child } = node
    // Its supervisor, for as long as this queue is tried.
    const queue = this.#queue
    const isWanted = (): boolean => !this.#isEnding && this.#queue === queue && node.child === child
    child.on('exit', () => {
      if (isWanted()) setTimeout(() => isWanted() && this.#spawned(node), 100)
    })
    return node
  }

  /** The node that has the queue now, as far as the ledger says. */
  get owner(): ClusterNode {
    const last = [...this.entries.claims].sort((a, b) => a.epoch - b.epoch).at(-1)
    return this.nodes.find(({ name }) => last?.life.startsWith(`${name}.`)) ?? this.nodes[0]!
  }

  /** New mail is accepted from now on. @returns milliseconds that it took */
  async whenAccepting(): Promise<number> {
    const startedAt = Date.now()
    const before = this.entries.accepted.size
    await this.until(() => this.entries.accepted.size > before)
    return Date.now() - startedAt
  }

  async until(isSo: () => boolean): Promise<void> {
    for (const startedAt = Date.now(); !isSo(); await sleep(50))
      if (Date.now() - startedAt > drainMsMax) throw new Error(`nothing happens: ${this.#tail}`)
  }

  get #tail(): string {
    const { errors, claims, accepted } = this.entries
    return JSON.stringify({ errors: errors.slice(-5), claims, accepted: accepted.size })
  }

  /** No new mail; all that was accepted is delivered, or is not within a minute. */
  async close(): Promise<Verdict> {
    this.#isQuiet = true
    for (const { child } of this.nodes) if (child.connected) child.send('quiet')
    for (const startedAt = Date.now(); waiting(this.entries) > 0; await sleep(100))
      if (Date.now() - startedAt > drainMsMax) break
    // What is acked or delivered at this moment.
    await sleep(500)
    await this.#end()
    return judge(this.entries, proofMs)
  }

  /** What the lives of this queue wrote down outlives the servers. @returns where */
  async keepLedger(): Promise<string> {
    const kept = join(tmpdir(), `waybill-crash-store-${process.pid}-${this.#queue}.ledger`)
    await copyFile(this.#ledger, kept)
    return kept
  }

  async #end(): Promise<void> {
    this.#isEnding = true
    for (const { child, proxy } of this.nodes.splice(0)) {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await ended
      proxy.close()
    }
  }

  async remove(): Promise<void> {
    await this.#end()
    await this.servers.remove()
  }

  /** The standby that has received most takes over, and the others follow it. */
  async promote(): Promise<void> {
    const old = this.primary
    const ready: { server: Server; position: bigint }[] = []
    for (const server of this.standbys) {
      if (this.servers.pidOf(server) === undefined) continue
      const text = "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')"
      ready.push({ server, position: BigInt(await this.servers.ask(server, text)) })
    }
    ready.sort((a, b) => (a.position > b.position ? -1 : 1))
    const [best, ...others] = ready
    if (best === undefined) throw new Error('there is no standby')
    this.primary = best.server
    for (const { server } of [...others, { server: old }]) {
      const slot = `SELECT pg_create_physical_replication_slot('to_${server.name}', true) WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'to_${server.name}')`
      await this.servers.ask(best.server, slot)
    }
    for (const { server } of others) {
      await this.servers.follow(server, best.server)
      await this.servers.reload(server)
    }
    await this.servers.promote(best.server)
  }

  /** A server that was primary, or was lost, as a standby again. */
  async rejoin(server: Server): Promise<void> {
    await this.servers.kill(server)
    await this.servers.addStandby(this.primary, server.name)
  }
}

process.setMaxListeners(0)
