/** One request at an agent.
 * Invariant: each recipient gets one outcome: that of its first report, or that of the agent's
 * end. */
import type { DeliveryRequest, Outcome } from '../../delivery/transport.js'

export interface Work {
  readonly channel: string
  readonly request: DeliveryRequest
  readonly signal: AbortSignal
}

/** What agents keep to with some work, as its clause says at the time of the request. */
export interface WorkTerms {
  /** Counts of agents that are of this work, by name, and the most of each: its channel, its
   * ring, all. */
  readonly bounds: Readonly<Record<string, number>>
  /** How many more requests an agent may have before the reports of the first have come. */
  readonly overfeed: number
  /** An agent that has had nothing to do for so long after it is ended; milliseconds. */
  readonly idleMs: number
}

/** What becomes of work that an agent has not reported. */
export interface AgentEnd {
  readonly reason: string
  /** It ended well, between two requests: another agent may begin what this one has not. */
  readonly isQuiet: boolean
}

export class AgentWork {
  readonly work: Work
  readonly terms: WorkTerms
  /** The same for the same terms. */
  readonly termsKey: string
  /** The number of its first recipient at the agent that has it. */
  firstTag = 0
  /** Its data has been written whole. */
  isWritten = false
  readonly #outcomes: (Outcome | undefined)[]
  readonly #settle: (outcomes: readonly Outcome[]) => void
  #left: number

  constructor(work: Work, terms: WorkTerms, settle: (outcomes: readonly Outcome[]) => void) {
    this.work = work
    this.terms = terms
    this.termsKey = JSON.stringify(terms)
    this.#settle = settle
    this.#left = work.request.recipients.length
    this.#outcomes = Array.from({ length: this.#left })
  }

  get isDone(): boolean {
    return this.#left === 0
  }

  get isUntouched(): boolean {
    return this.#left === this.#outcomes.length
  }

  /** @returns false when the number is none of its recipients, or has its report */
  report(tag: number, outcome: Outcome): boolean {
    const at = tag - this.firstTag
    if (at < 0 || at >= this.#outcomes.length || this.#outcomes[at] !== undefined) return false
    this.#outcomes[at] = outcome
    if (--this.#left === 0) this.#settle(this.#outcomes as Outcome[])
    return true
  }

  /** Recipients without a report are put off. */
  giveUp(reason: string): void {
    if (this.isDone) return
    const deferred: Outcome = { kind: 'deferred', status: '4.3.0', reason }
    this.#left = 0
    this.#settle(this.#outcomes.map((outcome) => outcome ?? deferred))
  }
}
