/** Agents of one command.
 * Invariant: work goes to an agent that is idle; else to a new one, while its owner lets it
 * start one; else to the one with the least to do, where its overfeed allows that; else it waits
 * its turn. What its own bounds keep waiting holds up no work that has others. */
import { AgentProcess, type AgentProgram } from './agent-process.js'
import type { AgentGuard } from './agent-guard.js'
import type { AgentWork } from './agent-work.js'

/** What a pool asks of the owner of all pools. */
export interface PoolOwner {
  readonly guard: AgentGuard
  /** Names under which there are as many agents as the work's bounds let there be: it goes to one
   * that is of all of them. undefined: there are more. */
  fullNames(work: AgentWork): readonly string[] | undefined
  /** @returns milliseconds until one more agent may start for it; Infinity: when another ends */
  startsInMs(work: AgentWork): number
  started(): void
  /** An agent of some pool has ended, or has nothing to do. */
  changed(): void
}

/** After an agent that ended without any work done. */
const restMs = 1000

export class AgentPool {
  readonly agents: Set<AgentProcess> = new Set()
  readonly #program: AgentProgram
  readonly #owner: PoolOwner
  readonly #waiting: AgentWork[] = []
  #restsUntilMs = 0
  #timer: NodeJS.Timeout | undefined

  constructor(program: AgentProgram, owner: PoolOwner) {
    this.#program = program
    this.#owner = owner
  }

  get isUsed(): boolean {
    return this.agents.size > 0 || this.#waiting.length > 0
  }

  give(work: AgentWork): void {
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
    // Of work with the same terms, none can be given when the first of it cannot.
    const refused = new Set<string>()
    for (let at = 0; at < this.#waiting.length;) {
      const work = this.#waiting[at]!
      const agent = refused.has(work.termsKey) ? undefined : this.#agentFor(work)
      if (agent === undefined) {
        refused.add(work.termsKey)
        at++
      } else {
        this.#waiting.splice(at, 1)
        agent.give(work)
      }
    }
  }

  /** Ends agents that have been idle for too long. @returns when the next one will have been */
  endIdle(nowMs: number): number {
    let nextMs = Infinity
    for (const agent of this.agents) {
      if (agent.isEnding) continue
      if (agent.idleUntilMs <= nowMs) agent.end()
      else nextMs = Math.min(nextMs, agent.idleUntilMs)
    }
    return nextMs
  }

  kill(reason: string): void {
    clearTimeout(this.#timer)
    for (const work of this.#waiting.splice(0)) work.giveUp(reason)
    for (const agent of this.agents) agent.kill(reason)
  }

  #agentFor(work: AgentWork): AgentProcess | undefined {
    const full = this.#owner.fullNames(work)
    const able = [...this.agents].filter(
      (agent) => !agent.isEnding && full?.every((name) => agent.isOf(name)) === true,
    )
    // The one that was busy last: the others may come to their end.
    const idle = able.filter(({ isIdle }) => isIdle).sort((a, b) => b.idleSinceMs - a.idleSinceMs)[0]
    if (idle !== undefined) return idle
    const inMs = Math.max(this.#owner.startsInMs(work), this.#restsUntilMs - performance.now())
    if (inMs <= 0) return this.#start()
    const least = able.sort((a, b) => a.works.length - b.works.length)[0]
    if (least !== undefined && least.works.length <= work.terms.overfeed) return least
    if (Number.isFinite(inMs)) this.#pumpIn(inMs)
    return undefined
  }

  #pumpIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.pump(), Math.ceil(ms))
  }

  #start(): AgentProcess {
    const agent: AgentProcess = new AgentProcess(this.#program, this.#owner.guard, {
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
