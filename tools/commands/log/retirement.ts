/** A relay that takes no mail any more, and delivers what it has: `waybill store drain`.
 * Invariant: nothing is accepted behind the answer to that. It is in memory only: a relay that is
 * started again takes mail. */
import type { Logger } from 'pino'
import { WaybillError } from '../../../src/errors.js'
import type { RelayDoor } from './log.js'

export class Retirement {
  readonly #log: Logger
  readonly #closers: (() => unknown)[] = []
  #isRetired = false
  /** Submissions that were let in, and are not settled. */
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param close a port for mail; at once, where there is to be none already */
  closes(close: () => unknown): void {
    if (this.#isRetired) close()
    else this.#closers.push(close)
  }

  /** The door, which is shut then: sessions that are open go on. */
  door(port: RelayDoor): RelayDoor {
    return {
      ...port,
      submit: (submission, client, trace) => this.guard(() => port.submit(submission, client, trace)),
    }
  }

  /** @throws WaybillError QUEUE_DRAINING */
  async guard<T>(submit: () => Promise<T>): Promise<T> {
    if (this.#isRetired) throw new WaybillError('QUEUE_DRAINING', 'this relay takes no mail any more')
    const accepted = submit()
    this.#underWay.add(accepted)
    try {
      return await accepted
    } finally {
      this.#underWay.delete(accepted)
    }
  }

  /** Settles when what was let in before is durable, or refused. */
  async retire(): Promise<void> {
    if (!this.#isRetired) {
      this.#isRetired = true
      this.#log.warn('drained: this relay takes no mail any more, and delivers what it has')
      for (const close of this.#closers.splice(0)) close()
    }
    await Promise.allSettled(this.#underWay)
  }
}
