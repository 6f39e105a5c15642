/** All agents of one owner, in pools.
 * Invariant: one pool for each command with its account and counts. The number of agents, idle ones
 * too, never exceeds a bound. If only idle agents are in the way of a new one, one of them ends. */
import { AgentGuard } from './agent-guard.js'
import { AgentPool, type PoolOwner, type PoolOptions } from './agent-pool.js'
import { AgentWork, type Work } from './agent-work.js'
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

  /** @param key one for each command with its account
   * @param ring whose agents are at most `agentCountMax`
   * @returns an outcome for each recipient, in order */
  deliver(
    key: string,
    { ring, agentCountMax }: { readonly ring: string; readonly agentCountMax: number },
    options: () => PoolOptions,
    work: Work,
  ): Promise<readonly Outcome[]> {
    let pool = this.#pools.get(key)
    if (pool === undefined) {
      pool = new AgentPool(options(), this)
      this.#pools.set(key, pool)
    }
    const into = pool
    return new Promise((resolve) => into.give(new AgentWork(work, resolve), ring, agentCountMax))
  }

  /** All agents end now; work gets its outcomes. Agents may be started again. */
  close(): void {
    clearTimeout(this.#sweep)
    this.#sweep = undefined
    this.#killAll('the queue has crashed')
    this.guard.close()
  }

  startsInMs(pool: AgentPool): number {
    for (const [name, most] of Object.entries(pool.options.shared)) {
      if (this.#countOf(name) < most) continue
      this.#idlestOf(name)?.end()
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
    this.#sweepSoon()
  }

  #countOf(name: string): number {
    let count = 0
    for (const { options, agents } of this.#pools.values()) if (name in options.shared) count += agents.size
    return count
  }

  #idlestOf(name: string): ReturnType<() => AgentPool['idlest']> {
    const idle = [...this.#pools.values()]
      .filter(({ options }) => name in options.shared)
      .flatMap(({ idlest }) => (idlest === undefined ? [] : [idlest]))
    return idle.sort((a, b) => a.idleSinceMs - b.idleSinceMs)[0]
  }

  #sweepSoon(): void {
    if (this.#sweep !== undefined) return
    const nowMs = performance.now()
    const nextMs = Math.min(...[...this.#pools.values()].map((pool) => pool.endIdle(nowMs)))
    if (!Number.isFinite(nextMs)) return
    // Node runs a longer timer at once: a look each millisecond, for as long as an agent is idle.
    const waitMs = Math.min(Math.ceil(nextMs), waitMsMax)
    this.#sweep = setTimeout(() => {
      this.#sweep = undefined
      this.#sweepSoon()
    }, waitMs)
    this.#sweep.unref()
  }

  #killAll(reason: string): void {
    for (const pool of this.#pools.values()) pool.kill(reason)
  }
}
