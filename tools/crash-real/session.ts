/** One queue directory through many lives: each ends under load, then the queue is
 * drained and judged. */
import { seededPrng, type Prng } from '../../src/base/prng.js'
import { Child, type ChildOptions } from './child.js'
import { Ledger } from './ledger.js'
import type { Mixture } from './mail.js'
import type { Undo } from './undo.js'
import type { Counts, Violation } from './verdict.js'
import type { WorkerTask } from './worker-task.js'

export interface Run {
  readonly undo: Undo
  readonly seed: number
  /** Crashes of each kind. */
  readonly cycles: number
  /** Called from time to time, for a terminal. */
  readonly progress: (text: string) => void
}

/** One row of the table. */
export interface CaseResult {
  readonly part: string
  readonly name: string
  /** Why it did not run. */
  readonly skipped?: string
  readonly cycles: number
  readonly counts?: Counts
  readonly violations: readonly Violation[]
  /** What else was seen. */
  readonly notes: string
}

const producerCount = 8
const startMsMax = 30_000
const drainMsMax = 90_000

export class Session {
  readonly ledger: Ledger
  readonly prng: Prng
  readonly #run: Run
  readonly #directory: string
  readonly #mixture: Mixture

  constructor(run: Run, directory: string, mixture: Mixture = 'mixed') {
    this.#run = run
    this.#directory = directory
    this.#mixture = mixture
    this.ledger = new Ledger(run.seed, mixture)
    this.prng = seededPrng(run.seed)
  }

  start(task: Partial<WorkerTask>, options: Partial<ChildOptions> = {}): Child {
    return new Child({
      undo: this.#run.undo,
      ledger: this.ledger,
      task: {
        directory: this.#directory,
        seed: this.#run.seed,
        mode: 'load',
        firstNumber: this.ledger.nextNumber,
        messageCount: 300,
        producerCount,
        mixture: this.#mixture,
        gate: 'open',
        freeBytesMin: 0,
        ...task,
      },
      ...options,
    })
  }

  /** A life in which nothing fails: it must open. */
  async opened(child: Child): Promise<boolean> {
    const isOpen = await child.until(() => child.line('opened') !== undefined, startMsMax)
    if (!isOpen) this.ledger.blame('life', `the queue did not open: ${this.#ending(child)}`)
    return isOpen
  }

  /** Empties the queue, checks that no mail comes back, and judges everything. */
  async judge(): Promise<void> {
    await this.#toItsEnd('drain')
    await this.#toItsEnd('quiet')
    this.ledger.close()
  }

  result(part: string, name: string, cycles: number, notes = ''): CaseResult {
    return { part, name, cycles, counts: this.ledger.counts, violations: this.ledger.violations, notes }
  }

  async #toItsEnd(mode: 'drain' | 'quiet'): Promise<void> {
    const child = this.start({ mode })
    if (!(await child.until(() => false, drainMsMax)) && !child.isGone) child.kill()
    const ending = await child.gone
    if (ending !== 0) this.ledger.blame('life', `the ${mode} life ended: ${this.#ending(child)}`)
  }

  #ending(child: Child): string {
    const last = child.line('unopened') ?? child.line('crashed')
    return last === undefined ? child.errors || 'without a word' : `${last.code} ${last.message}`
  }
}
