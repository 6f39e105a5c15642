/** Agents of one command.
 * Invariant: work goes to an agent that is idle; else to a new one, while its owner lets it
 * start one; else to the one with the least to do, where `overfeed` lets it have more; else it
 * waits its turn. */
import { AgentProcess, type AgentProgram } from './agent-process.js'
import type { AgentGuard } from './agent-guard.js'
import type { AgentWork } from './agent-work.js'

export interface PoolOptions {
  readonly program: AgentProgram
  /** Counts of several pools, by name, and their bounds: a channel, a ring, all. */
  readonly shared: Readonly<Record<string, number>>
  /** An agent that has had nothing to do for so long is ended; milliseconds. */
  readonly idleMs: number
  /** Requests that an agent is given before the reports of the first have come. */
  readonly overfeed: number
}

/** What a pool asks of the owner of all pools. */
export interface PoolOwner {
  readonly guard: AgentGuard
  /** @returns milliseconds until one more agent may start; Infinity: when another ends */
  startsInMs(pool: AgentPool): number
  started(): void
  /** An agent of some pool has ended, or has nothing to do. */
  changed(): void
}

/** After an agent that ended without any work done. */
const restMs = 1000

export class AgentPool {
  readonly options: PoolOptions
  readonly agents: Set<AgentProcess> = new Set()
  readonly #owner: PoolOwner
  readonly #waiting: AgentWork[] = []
  /** Agents that each ring may have; together, what the pool may have. */
  readonly #rings = new Map<string, number>()
  #restsUntilMs = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: PoolOptions, owner: PoolOwner) {
    this.options = options
    this.#owner = owner
  }

  get isUsed(): boolean {
    return this.agents.size > 0 || this.#waiting.length > 0
  }

  /** @param ring of destinations that share a bound @param agentCountMax that bound */
  give(work: AgentWork, ring: string, agentCountMax: number): void {
    this.#rings.set(ring, agentCountMax)
    const { signal } = work.work
    const abort = (): void => {
      const at = this.#waiting.indexOf(work)
      if (at < 0) return
      this.#waiting.splice(at, 1)
      work.giveUp('the attempt was ended while it waited for an agent')
    }
    signal.addEventListener('abort', abort, { once: true })
    this.#waiting.push(work)
    this.pump()
  }

  /** Gives what waits to agents that can take it. */
  pump(): void {
    while (this.#waiting.length > 0) {
      const agent = this.#agentFor()
      if (agent === undefined) return
      agent.give(this.#waiting.shift()!)
    }
  }

  /** The agent that has been idle longest. */
  get idlest(): AgentProcess | undefined {
    let found: AgentProcess | undefined
    for (const agent of this.agents)
      if (agent.isIdle && !agent.isEnding && agent.idleSinceMs < (found?.idleSinceMs ?? Infinity))
        found = agent
    return found
  }

  /** Agents that have been idle for too long. @returns milliseconds until the next one is */
  endIdle(nowMs: number): number {
    let nextMs = Infinity
    for (const agent of this.agents) {
      if (!agent.isIdle || agent.isEnding) continue
      const leftMs = agent.idleSinceMs + this.options.idleMs - nowMs
      if (leftMs <= 0) agent.end()
      else nextMs = Math.min(nextMs, leftMs)
    }
    return nextMs
  }

  kill(reason: string): void {
    clearTimeout(this.#timer)
    for (const work of this.#waiting.splice(0)) work.giveUp(reason)
    for (const agent of this.agents) agent.kill(reason)
  }

  get #agentCountMax(): number {
    return [...this.#rings.values()].reduce((sum, count) => sum + count, 0)
  }

  #agentFor(): AgentProcess | undefined {
    const able = [...this.agents].filter(({ isEnding }) => !isEnding)
    // The one that was busy last: the others may come to their end.
    const idle = able.filter(({ isIdle }) => isIdle).sort((a, b) => b.idleSinceMs - a.idleSinceMs)[0]
    if (idle !== undefined) return idle
    const inMs = Math.max(this.#owner.startsInMs(this), this.#restsUntilMs - performance.now())
    if (this.agents.size < this.#agentCountMax && inMs <= 0) return this.#start()
    const least = able.sort((a, b) => a.works.length - b.works.length)[0]
    if (least !== undefined && least.works.length <= this.options.overfeed) return least
    if (Number.isFinite(inMs) && inMs > 0) this.#pumpIn(inMs)
    return undefined
  }

  #pumpIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.pump(), Math.ceil(ms))
  }

  #start(): AgentProcess {
    const agent: AgentProcess = new AgentProcess(this.options.program, this.#owner.guard, {
      onDone: () => {
        this.pump()
        this.#owner.changed()
      },
      onEnd: (left) => {
        this.agents.delete(agent)
        if (!agent.hasWorked) this.#restsUntilMs = performance.now() + restMs
        this.#waiting.unshift(...left)
        this.pump()
        this.#owner.changed()
      },
    })
    this.agents.add(agent)
    this.#owner.started()
    return agent
  }
}
