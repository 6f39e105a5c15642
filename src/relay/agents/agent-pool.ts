/** Agents of one command.
 * Invariant: work goes to an agent that is idle; else to a new one, while its owner lets it
 * start one; else to the one with the least to do, where its overfeed allows that; else it waits
 * its turn. What its own bounds keep waiting holds up no work that has others. Work that waits is
 * looked at again when an agent is done or has ended, and when one more may start. */
import { AgentProcess, type AgentProgram } from './agent-process.js'
import type { AgentGuard } from './agent-guard.js'
import type { AgentWork } from './agent-work.js'

/** Agents of each name: all, and those that are not about to end. */
export type AgentCounts = ReadonlyMap<string, { readonly all: number; readonly lasting: number }>

/** What a pool asks of the owner of all pools. */
export interface PoolOwner {
  readonly guard: AgentGuard
  /** Agents now, by the names of bounds. */
  counts(): AgentCounts
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
  /** When the timer has all that waits looked at. */
  #pumpAtMs = Infinity

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
    // What has waited before can be given as little as when it was last looked at.
    if (performance.now() < this.#pumpAtMs) this.#pumpFrom(this.#waiting.length - 1)
    else this.pump()
  }

  /** Gives what waits to agents that can take it. */
  pump(): void {
    this.#stopTimer()
    this.#pumpFrom(0)
  }

  #pumpFrom(first: number): void {
    // Thousands may wait that meet the same full bounds: none can be given when one cannot.
    const refused = new Set<string>()
    let counts = this.#owner.counts()
    for (let at = first; at < this.#waiting.length;) {
      const work = this.#waiting[at]!
      const full = refused.has(work.termsKey) ? undefined : fullBounds(work, counts)
      if (full === undefined || refused.has(full.key)) {
        at++
        continue
      }
      const agent = this.#agentFor(work, full.names)
      if (agent === undefined) {
        refused.add(work.termsKey).add(full.key)
        at++
      } else {
        this.#waiting.splice(at, 1)
        agent.give(work)
      }
      counts = this.#owner.counts()
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
    this.#stopTimer()
    for (const work of this.#waiting.splice(0)) work.giveUp(reason)
    for (const agent of this.agents) agent.kill(reason)
  }

  #agentFor(work: AgentWork, full: readonly string[] | undefined): AgentProcess | undefined {
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
    const waitMs = Math.ceil(ms)
    const atMs = performance.now() + waitMs
    if (atMs >= this.#pumpAtMs) return
    this.#stopTimer()
    this.#pumpAtMs = atMs
    this.#timer = setTimeout(() => this.pump(), waitMs)
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#pumpAtMs = Infinity
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

interface FullBounds {
  /** Of as many agents as the work's bounds let there be: it goes to one that is of all of these.
   * undefined: there are more. */
  readonly names: readonly string[] | undefined
  /** The same for work that the same agents could take now. */
  readonly key: string
}

function fullBounds({ terms, termsKey }: AgentWork, counts: AgentCounts): FullBounds {
  const names: string[] = []
  let key = `${terms.overfeed}`
  for (const name in terms.bounds) {
    const { all, lasting } = counts.get(name) ?? noAgents
    const most = terms.bounds[name]!
    if (lasting > most) return { names: undefined, key: termsKey }
    if (all < most) continue
    names.push(name)
    key += `\n${most} ${name}`
  }
  return { names, key }
}

const noAgents = { all: 0, lasting: 0 } as const
