/** One life of a queue: from recovery to the crash that ends it.
 * Invariant: it ends once. What asks after the end gets QUEUE_CRASHED, and nothing is
 * written any more. */
import { WaybillError } from '../../errors.js'

export class Life {
  readonly #onEnd: (error: unknown) => void
  readonly #waiting = new Set<(error: unknown) => void>()
  #ended: WaybillError | undefined

  constructor(onEnd: (error: unknown) => void) {
    this.#onEnd = onEnd
  }

  get isOver(): boolean {
    return this.#ended !== undefined
  }

  /** @throws WaybillError QUEUE_CRASHED */
  check(): void {
    if (this.#ended !== undefined) throw this.#ended
  }

  /** The end. @param error why; undefined when the owner crashed it */
  readonly end = (error: unknown): void => {
    if (this.#ended !== undefined) return
    this.#ended = new WaybillError('QUEUE_CRASHED', 'the queue has crashed', {}, error)
    try {
      this.#onEnd(error)
    } finally {
      // Also when a listener to the end throws: waiting callers get nothing else.
      for (const reject of this.#waiting) reject(this.#ended)
    }
  }

  /** What the work comes to, or the end of this life: calls that are under way then may never
   * settle.
   * @throws WaybillError QUEUE_CRASHED by rejection */
  orEnd<T>(work: Promise<T>): Promise<T> {
    if (this.#ended !== undefined) {
      // It ends with this life, or never: nobody waits for it any more.
      work.catch(() => undefined)
      return Promise.reject(this.#ended)
    }
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      const done = (settle: () => void): void => {
        this.#waiting.delete(reject)
        settle()
      }
      work.then(
        (value) => done(() => resolve(value)),
        (error: unknown) => done(() => reject(error)),
      )
    })
  }

  /** The error for waiting callers. */
  get reason(): WaybillError {
    return this.#ended ?? new WaybillError('QUEUE_CRASHED', 'the queue has crashed')
  }

  /** Does a step that nobody called: what it throws is the end of this life, not of whatever event
   * loop turn it ran in. After the end it is not done. */
  guard(step: () => void): void {
    if (this.isOver) return
    try {
      step()
    } catch (error) {
      this.end(error)
    }
  }

  /** Runs work that nobody waits for. Its failure is the end of this life, unless that came
   * first. */
  run(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!this.isOver) this.end(error)
    })
  }
}
