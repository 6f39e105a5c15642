/** Verbs that are under way, and how the last ones ended.
 * Invariant: a verb goes on when its client leaves, until it is done or stopped, and its counts are
 * exact in every state. At most `runningMax` run at once, and the last `keptMax` are remembered. */
import type { Clock } from '../../base/clock.js'
import type { Selector } from '../../admin/select/selector.js'
import type { VerbOptions, VerbResult } from '../../admin/verbs/tally.js'
import { carriedOut } from '../../control/controlled-queue.js'
import type { VerbRequest } from '../../control/protocol.js'
import { isWaybillError } from '../../errors.js'
import { internalProblem, ProblemError, problemOf, type ProblemDetails } from '../wire/problem-details.js'
import { shownMessage, type ShownMessage } from './message-json.js'

export interface OperationOrder {
  readonly request: VerbRequest
  readonly dryRun: boolean
  readonly sampleMax: number
  /** The name of the token that asks. */
  readonly by: string
}

export interface ShownOperation {
  readonly id: string
  readonly do: VerbRequest['do']
  readonly selector: Selector
  readonly dryRun: boolean
  readonly by: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly endedAt: number | null
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly counts: Pick<VerbResult, 'messageCount' | 'recipientCount' | 'missedCount' | 'failedCount'>
  readonly sample: readonly ShownMessage[]
  readonly problem: ProblemDetails | null
}

export type OperatedQueue = Parameters<typeof carriedOut>[0]

/** The listeners of operations. */
export interface OperationWitness {
  readonly onOperation?: (operation: ShownOperation) => void
  /** A verb met a mistake in a program. */
  readonly onDefect?: (error: unknown) => void
}

export const runningMax = 4
const keptMax = 50
/** What watches is not told more often. */
const tellMs = 200

interface Kept {
  shown: ShownOperation
  readonly stop: AbortController
  ended: Promise<void>
  readonly watchers: Set<() => void>
}

export class Operations {
  readonly #queue: OperatedQueue
  readonly #clock: Clock
  readonly #witness: OperationWitness
  readonly #kept = new Map<string, Kept>()
  #number = 0

  constructor(queue: OperatedQueue, clock: Clock, witness: OperationWitness = {}) {
    this.#queue = queue
    this.#clock = clock
    this.#witness = witness
  }

  /** Those that run, and the last ones, the newest first. */
  all(): ShownOperation[] {
    return [...this.#kept.values()].map(({ shown }) => shown).reverse()
  }

  /** @throws ProblemError NOT_FOUND */
  one(id: string): ShownOperation {
    return this.#find(id).shown
  }

  /** An operation that the queue refuses has failed. @throws ProblemError TOO_MANY_REQUESTS */
  begin(order: OperationOrder): ShownOperation {
    const running = [...this.#kept.values()].filter(({ shown }) => shown.state === 'running')
    if (running.length >= runningMax)
      throw new ProblemError('TOO_MANY_REQUESTS', `${runningMax} operations are under way already`)
    const { request, dryRun, by } = order
    const startedAt = this.#clock.wallMs()
    const id = `op${startedAt.toString(36)}-${++this.#number}`
    const stop = new AbortController()
    const shown: ShownOperation = {
      id,
      do: request.do,
      selector: request.selector,
      dryRun,
      by,
      startedAt,
      endedAt: null,
      state: 'running',
      counts: { messageCount: 0, recipientCount: 0, missedCount: 0, failedCount: 0 },
      sample: [],
      problem: null,
    }
    const kept: Kept = { shown, stop, ended: Promise.resolve(), watchers: new Set() }
    this.#kept.set(id, kept)
    kept.ended = this.#run(kept, order)
    this.#forgetOld()
    return kept.shown
  }

  /** Asks it to stop; it has when its state says so. @throws ProblemError NOT_FOUND */
  stop(id: string): ShownOperation {
    const kept = this.#find(id)
    kept.stop.abort()
    return kept.shown
  }

  /** Settles when it has ended, or so much time has passed. */
  async whenEnded(id: string, waitMs: number): Promise<ShownOperation> {
    const kept = this.#find(id)
    let cancel = (): void => undefined
    const late = new Promise<void>((resolve) => {
      const timer = this.#clock.after(waitMs, resolve)
      cancel = () => timer.cancel()
    })
    await Promise.race([kept.ended, late])
    cancel()
    return kept.shown
  }

  /** Calls back after changes, not too often, and after the last one. @returns ends it
   * @throws ProblemError NOT_FOUND */
  watch(id: string, changed: () => void): () => void {
    const { watchers } = this.#find(id)
    watchers.add(changed)
    return () => watchers.delete(changed)
  }

  #find(id: string): Kept {
    const kept = this.#kept.get(id)
    if (kept === undefined) throw new ProblemError('NOT_FOUND', 'there is no such operation, or no more')
    return kept
  }

  async #run(kept: Kept, { request, dryRun, sampleMax }: OperationOrder): Promise<void> {
    let toldAtMs = -Infinity
    const tell = (change: Partial<ShownOperation>): void => {
      kept.shown = { ...kept.shown, ...change }
      const nowMs = this.#clock.monotonicMs()
      if (kept.shown.state === 'running' && nowMs - toldAtMs < tellMs) return
      toldAtMs = nowMs
      for (const changed of kept.watchers) changed()
    }
    const options: VerbOptions = {
      signal: kept.stop.signal,
      onProgress: (result) => tell({ counts: countsOf(result) }),
      ...(dryRun ? { dryRun, sampleMax } : undefined),
    }
    const end = (state: ShownOperation['state'], change: Partial<ShownOperation> = {}): void => {
      tell({ ...change, state, endedAt: this.#clock.wallMs() })
      this.#witness.onOperation?.(kept.shown)
    }
    try {
      const result = await carriedOut(this.#queue, request, options)
      end('done', { counts: countsOf(result), sample: (result.sample ?? []).map(shownMessage) })
    } catch (error) {
      if (isWaybillError(error, 'VERB_ABORTED')) return end('stopped')
      const problem = problemOf(error)
      if (problem === undefined) this.#witness.onDefect?.(error)
      end('failed', { problem: problem ?? internalProblem() })
    }
  }

  #forgetOld(): void {
    for (const [id, { shown }] of this.#kept) {
      if (this.#kept.size <= keptMax) return
      if (shown.state !== 'running') this.#kept.delete(id)
    }
  }
}

const countsOf = ({ messageCount, recipientCount, missedCount, failedCount }: VerbResult) => ({
  messageCount,
  recipientCount,
  missedCount,
  failedCount,
})
