/** A store of simulated servers and the nodes of one queue, and what befalls them, from one
 * seed.
 * Invariant: the faults of a seed are drawn before and beside the run, so that an engine that
 * asks one question more meets the same ones. Behind the faults comes a calm, in which
 * everything must end well. */
import { below, pick, prngAt, type Prng } from '../../base/prng.js'
import { SimWorld } from '../world/world.js'
import { clusterLife } from './cluster-life.js'
import { ClusterModel, type Broken } from './cluster-model.js'
import { Database } from './database.js'
import { SimNode, SimProgram } from './sim-node.js'
import { SimServer } from './sim-server.js'
import { SimStore, type Fate, type Fates } from './sim-store.js'

export interface StoreWorldResult {
  readonly broken: Broken | undefined
  readonly acceptedCount: number
  readonly doubledCount: number
  readonly takeoverCount: number
  readonly resumedCount: number
  readonly failoverCount: number
  readonly troubleCount: number
}

const ttlMs = 600
const proofMs = 200
const deadlineMs = 150
const resumeMs = 5000
const ghostMsMax = 2000
const homeFirstMs = 250
const busyMs = 2500
const calmMsMax = 40_000
const eventsMax = 2_000_000
/** A life takes new connections in about so long. */
const resumeMsMax = 60

type Trouble = 'failover' | 'kill' | 'pause' | 'cut' | 'cancel' | 'standbys' | 'drop' | 'replaced'
const storeTroubles: readonly Trouble[] = ['failover', 'failover', 'cancel', 'standbys']
const troublesOf: Readonly<Record<StoreWorldKind, readonly Trouble[]>> = {
  nodes: [...storeTroubles, 'kill', 'kill', 'pause', 'cut'],
  failover: storeTroubles,
  interruptions: ['standbys', 'drop', 'drop', 'drop'],
  'replaced primary': ['replaced', 'replaced', 'standbys'],
}

/** `nodes`: three, and everything fails. `failover`: one, and nothing fails but the database and
 * the network to it. `interruptions`: three; no commit is answered for a while, connections are
 * ended, and nobody may take the queue. `replaced primary`: one; a standby takes over while it
 * resumes, and the server that was replaced goes on. */
const storeWorldKinds = ['nodes', 'failover', 'interruptions', 'replaced primary'] as const
export type StoreWorldKind = (typeof storeWorldKinds)[number]

/** A client that connects does not hear one server of so many in time. */
const unheardOneIn: Readonly<Record<StoreWorldKind, number>> = {
  nodes: 8,
  failover: 8,
  interruptions: 2 ** 31,
  'replaced primary': 3,
}

export async function storeWorldRun(seed: number, kind: StoreWorldKind): Promise<StoreWorldResult> {
  return new StoreWorld(seed, kind).run()
}

class StoreWorld {
  readonly #world: SimWorld
  readonly #prng: Prng
  readonly #model: ClusterModel
  readonly #kind: StoreWorldKind
  readonly #nodes: readonly SimNode[]
  readonly #programs = new Map<SimNode, SimProgram>()
  #servers: SimServer[]
  #isCalm = false
  #lifeCount = 0
  #failoverCount = 0

  constructor(seed: number, kind: StoreWorldKind) {
    this.#world = new SimWorld({ seed })
    this.#prng = prngAt(seed, 0, 0x57_0e)
    this.#kind = kind
    this.#model = new ClusterModel(proofMs, () => this.#world.nowMs)
    const database = new Database()
    database.makeQueue('q')
    const { violate } = this.#model
    const owns = (_: number, nonce: string): void => this.#model.owns(nonce)
    this.#servers = [new SimServer(this.#world, { violate, owns }, database, 1)]
    const names = kind === 'failover' || kind === 'replaced primary' ? ['a'] : ['a', 'b', 'c']
    this.#nodes = names.map((name) => new SimNode(name, this.#world))
  }

  async run(): Promise<StoreWorldResult> {
    // The home node first, which would take the queue from another one.
    for (const [i, node] of this.#nodes.entries())
      this.#world.at(i === 0 ? 0 : homeFirstMs, () => void this.#supervise(node))
    const troubleCount = 1 + below(this.#prng, 6)
    for (let i = 0; i < troubleCount; i++)
      this.#world.at(300 + below(this.#prng, busyMs), () =>
        this.#befall(pick(this.#prng, troublesOf[this.#kind])),
      )
    await this.#world.run({ untilMs: busyMs, eventsMax })
    this.#calm()
    const model = this.#model
    for (let tries = 0; tries < calmMsMax / 500 && model.broken === undefined; tries++) {
      await this.#world.run({ untilMs: this.#world.nowMs + 500, eventsMax })
      if (tries > 3 && model.waitingCount === 0) break
    }
    model.judge(this.#kind !== 'nodes')
    for (const program of this.#programs.values()) program.kill()
    this.#world.stop()
    const { broken, acceptedCount, doubledCount, takeoverCount, resumedCount } = model
    const counts = { acceptedCount, doubledCount, takeoverCount, resumedCount }
    return { broken, ...counts, failoverCount: this.#failoverCount, troubleCount: model.troubleCount }
  }

  /** Starts a program again whenever it ends. */
  async #supervise(node: SimNode): Promise<void> {
    for (;;) {
      const program = new SimProgram(node, this.#world)
      this.#programs.set(node, program)
      let nonce = ''
      const prng = prngAt(this.#prng.uint32(), 0, 1)
      const store = new SimStore({
        world: this.#world,
        prng,
        program,
        servers: () => this.#servers.filter((server) => !server.isDead),
        fates: this.#fates(prng),
        deadlineMs,
        ghostMsMax,
        unheardOneIn: unheardOneIn[this.#kind],
        newNonce: () => (nonce = `${node.name}${++this.#lifeCount}`),
      })
      const killed = new Promise<void>((resolve) => program.atEnd(resolve))
      const life = clusterLife({
        program,
        store,
        prng,
        model: this.#model,
        queue: 'q',
        role: node === this.#nodes[0] ? 'home' : 'adopter',
        ttlMs,
        proofMs,
        resumeMs,
        isBusy: () => !this.#isCalm,
        nonce: () => nonce,
      })
      await Promise.race([life, killed])
      if (this.#world.stopped) return
      program.kill()
    }
  }

  /** One question of so many goes wrong; of some seeds none does. */
  #fates(prng: Prng): Fates {
    const oneIn = this.#kind === 'interruptions' ? Infinity : pick(this.#prng, [Infinity, 60, 200, 600])
    const wrong: readonly Fate[] = ['lost', 'ghost', 'deaf', 'broken']
    return () =>
      this.#isCalm || oneIn === Infinity || below(prng, oneIn) > 0 ? 'answered' : pick(prng, wrong)
  }

  #befall(trouble: Trouble): void {
    const node = pick(this.#prng, this.#nodes)
    const leastMs = this.#kind === 'interruptions' ? 2 * ttlMs : 100
    const lastMs = leastMs + below(this.#prng, 2 * ttlMs)
    const primary = this.#servers.at(-1)!
    switch (trouble) {
      case 'failover':
        return this.#failover(primary, lastMs)
      case 'cancel':
        // An operator that sees waits cancels them, and then mostly fails over.
        primary.hasStandby = false
        this.#later(below(this.#prng, 40), () => {
          primary.cancelWaits()
          if (below(this.#prng, 2) === 0) this.#failover(primary, lastMs)
          else if (primary === this.#servers.at(-1)) follow(primary)
        })
        return
      case 'standbys':
        primary.hasStandby = false
        return this.#later(lastMs, () => {
          if (primary === this.#servers.at(-1)) follow(primary)
        })
      case 'drop':
        return primary.dropConnections()
      case 'replaced':
        primary.dropConnections()
        return this.#later(below(this.#prng, resumeMsMax), () => this.#failover(primary, lastMs, true))
      case 'kill':
        this.#model.troubleCount++
        return this.#programs.get(node)?.kill()
      case 'pause':
        this.#model.troubleCount++
        node.pause()
        return this.#later(lastMs, () => node.resume())
      case 'cut':
        this.#model.troubleCount++
        node.isCut = true
        return this.#later(lastMs, () => (node.isCut = false))
    }
  }

  /** The old primary is dead, or goes on as a second one for a while. */
  #failover(primary: SimServer, lastMs: number, goesOn?: true): void {
    if (primary !== this.#servers.at(-1)) return
    this.#failoverCount++
    this.#servers.push(primary.promoted())
    if (this.#kind === 'nodes') this.#model.troubleCount++
    if (goesOn === undefined && below(this.#prng, 2) === 0) primary.isDead = true
    else this.#later(lastMs, () => (primary.isDead = true))
  }

  #later(ms: number, callback: () => void): void {
    this.#world.at(this.#world.nowMs + ms, callback)
  }

  /** Nothing fails any more. */
  #calm(): void {
    this.#isCalm = true
    for (const server of this.#servers.slice(0, -1)) server.isDead = true
    follow(this.#servers.at(-1)!)
    for (const node of this.#nodes) {
      node.isCut = false
      node.resume()
    }
  }
}

function follow(server: SimServer): void {
  server.hasStandby = true
  server.replicate()
}
