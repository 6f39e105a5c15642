/** Changes of one part of a queue, one after the other.
 * Invariant: one change of a part is in flight, and the next is asked when it was answered. A
 * change whose answer was lost is looked up under the next tenure, where it has happened for
 * good or never will, and only then asked again.
 *    1. An append is sent, and the connection breaks.
 *    2. It is sent again on another one, without a look.
 *    3. The first one happened: the second one finds its place taken, or another
 *       append stands there. */
import type { Clock } from '../base/clock.js'
import { diskFailure } from '../disk/failure.js'
import type { WaybillError } from '../errors.js'
import type { Lease, Tenure } from './lease.js'
import type { StoreStatistics } from './statistics.js'
import type { Answer, Refusal } from './store.js'

/** A change that can be looked up. */
export interface Work<T> {
  ask(tenure: Tenure): Promise<Answer<T>>
  /** Has it happened? Asked under a later tenure. Undefined: no. */
  lookUp(tenure: Tenure): Promise<Answer<{ readonly value: T } | undefined>>
}

export class Writer {
  readonly #lease: Lease
  readonly #clock: Clock
  readonly #statistics: StoreStatistics
  #last: Promise<unknown> = Promise.resolve()

  constructor(lease: Lease, clock: Clock, statistics: StoreStatistics) {
    this.#lease = lease
    this.#clock = clock
    this.#statistics = statistics
  }

  /** @throws WaybillError QUEUE_LOST, STORE_UNREACHABLE, and as `refusalError` */
  run<T>(operation: string, path: string, work: Work<T>): Promise<T> {
    const turn = this.#last.then(() => this.#perform(operation, path, work))
    this.#last = turn.catch(() => undefined)
    return turn
  }

  async #perform<T>(operation: string, path: string, work: Work<T>): Promise<T> {
    let isUnknown = false
    for (;;) {
      const tenure = await this.#lease.tenure()
      if (isUnknown) {
        const found = await work.lookUp(tenure)
        if (found.kind !== 'done') {
          if (found.kind === 'refused') throw refusalError(found.refusal, operation, path)
          this.#lease.broken(tenure)
          continue
        }
        if (found.value !== undefined) {
          this.#statistics.foundCount++
          return found.value.value
        }
        this.#statistics.missingCount++
        isUnknown = false
      }
      const askedMs = this.#clock.monotonicMs()
      const answer = await work.ask(tenure)
      if (answer.kind === 'done') {
        this.#lease.proof.prove(askedMs)
        this.#count(this.#clock.monotonicMs() - askedMs)
        return answer.value
      }
      if (answer.kind === 'refused' && answer.refusal.kind !== 'fenced')
        throw refusalError(answer.refusal, operation, path)
      isUnknown = answer.kind === 'unknown'
      this.#lease.broken(tenure)
    }
  }

  #count(ms: number): void {
    this.#statistics.changeCount++
    this.#statistics.changeTotalMs += ms
    this.#statistics.changeLastMs = ms
  }
}

/** @returns DISK_FAILED, DISK_FULL */
export function refusalError(refusal: Refusal, operation: string, path: string): WaybillError {
  switch (refusal.kind) {
    case 'errno':
      return diskFailure(operation, path, refusal.errno)
    case 'failed':
      return refusal.error
    case 'fenced':
      return diskFailure(operation, path, 'EPERM')
  }
}
