/** All agents of one owner, in pools.
 * Invariant: one pool for each command with its account. Bounds come with the work, so they are
 * those of its clause, as it is now, whatever else the pool does. The number of agents, idle ones
 * too, never exceeds a bound. If only idle agents are in the way of a new one, one of them ends. */
import { AgentGuard } from './agent-guard.js'
import { AgentPool, type AgentCounts, type PoolOwner } from './agent-pool.js'
import type { AgentProcess, AgentProgram } from './agent-process.js'
import { AgentWork, type Work, type WorkTerms } from './agent-work.js'
import { waitMsMax } from '../../base/options.js'
import type { Outcome } from '../../delivery/transport.js'

export interface AgentPoolsOptions {
  /** Agents that may be started in a second. */
  readonly startsPerSecondMax: number
}

export class AgentPools implements PoolOwner {
  readonly guard: AgentGuard
  readonly #pools = new Map<string, AgentPool>()
  readonly #options: AgentPoolsOptions
  #nextStartMs = 0
  #sweep: NodeJS.Timeout | undefined

  constructor(options: AgentPoolsOptions) {
    this.#options = options
    this.guard = new AgentGuard(() => this.#killAll('the process that watches agents has ended'))
  }

  /** Agents that there are, idle or not. */
  get agentCount(): number {
    return [...this.#pools.values()].reduce((sum, { agents }) => sum + agents.size, 0)
  }

  /** @param key one for each program with its account
   * @returns an outcome for each recipient, in order */
  deliver(
    key: string,
    program: () => AgentProgram,
    terms: WorkTerms,
    work: Work,
  ): Promise<readonly Outcome[]> {
    let pool = this.#pools.get(key)
    if (pool === undefined) {
      pool = new AgentPool(program(), this)
      this.#pools.set(key, pool)
    }
    const into = pool
    return new Promise((resolve) => into.give(new AgentWork(work, terms, resolve)))
  }

  /** All agents end now; work gets its outcomes. Agents may be started again. */
  close(): void {
    clearTimeout(this.#sweep)
    this.#sweep = undefined
    this.#killAll('the queue has crashed')
    this.guard.close()
  }

  counts(): AgentCounts {
    const counts = new Map<string, { all: number; lasting: number }>()
    for (const { agents } of this.#pools.values())
      for (const agent of agents)
        for (const name of agent.names()) {
          const { all, lasting } = counts.get(name) ?? { all: 0, lasting: 0 }
          counts.set(name, { all: all + 1, lasting: lasting + (agent.isEnding ? 0 : 1) })
        }
    return counts
  }

  startsInMs({ terms }: AgentWork): number {
    for (const [name, most] of Object.entries(terms.bounds)) {
      const counted = this.#agentsOf(name)
      if (counted.length < most) continue
      const kept = lasting(counted)
      const idle = kept.filter(({ isIdle }) => isIdle).sort((a, b) => a.idleSinceMs - b.idleSinceMs)
      if (kept.length >= most) idle[0]?.end()
      return Infinity
    }
    return this.#nextStartMs - performance.now()
  }

  started(): void {
    const nowMs = performance.now()
    this.#nextStartMs = Math.max(this.#nextStartMs, nowMs) + 1000 / this.#options.startsPerSecondMax
  }

  changed(): void {
    for (const [key, pool] of this.#pools) {
      pool.pump()
      if (!pool.isUsed) this.#pools.delete(key)
    }
    if (this.#pools.size === 0) this.guard.close()
    this.#endIdle()
  }

  #agentsOf(name: string): AgentProcess[] {
    return [...this.#pools.values()].flatMap(({ agents }) => [...agents].filter((agent) => agent.isOf(name)))
  }

  /** Each agent has its own time, so the timer is that of the next one. */
  #endIdle(): void {
    clearTimeout(this.#sweep)
    this.#sweep = undefined
    const nowMs = performance.now()
    const nextMs = Math.min(...[...this.#pools.values()].map((pool) => pool.endIdle(nowMs)))
    if (!Number.isFinite(nextMs)) return
    // Node runs a longer timer at once: a look each millisecond, for as long as an agent is idle.
    const waitMs = Math.min(Math.ceil(nextMs - nowMs), waitMsMax)
    this.#sweep = setTimeout(() => this.#endIdle(), waitMs).unref()
  }

  #killAll(reason: string): void {
    for (const pool of this.#pools.values()) pool.kill(reason)
  }
}

const lasting = (agents: readonly AgentProcess[]): AgentProcess[] =>
  agents.filter(({ isEnding }) => !isEnding)
