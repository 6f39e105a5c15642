/** A relay that takes no mail any more, and delivers what it has: `waybill store drain`.
 * Invariant: when that command is answered, no mail is accepted any more. It is in memory only: a
 * relay that is started again takes mail. A submission whose idempotency key is known makes no
 * message, and is answered as before: else its submitter would hand the mail to another queue, a
 * second time. */
import { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { WaybillError } from '../../../src/errors.js'
import type { Accepted, ControlOptions, Submission } from '../../../src/index.js'
import { discard, isReadable } from '../../../src/engine/accept/stream-data.js'
import type { RelayDoor } from './door.js'

const draining = (): WaybillError => new WaybillError('QUEUE_DRAINING', 'this relay takes no mail any more')

/** What comes over the control socket has this client in the log. */
const controlClient: object = { address: 'control' }

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
      submit: (submission, client, trace) =>
        this.#guard(submission, (admitted) => port.submit(admitted, client, trace)),
    }
  }

  /** The control socket as another door, by which the relay is also retired. */
  control(options: ControlOptions, port: RelayDoor): ControlOptions {
    const door = this.door(port)
    return {
      ...options,
      retire: () => this.retire(),
      submit: (submission) => door.submit(submission, controlClient),
    }
  }

  /** @param submit is called with what may be submitted
   * @throws WaybillError QUEUE_DRAINING; as `submit` */
  async #guard(
    submission: Submission,
    submit: (admitted: Submission) => Promise<Accepted>,
  ): Promise<Accepted> {
    if (this.#isRetired) return this.#late(submission, submit)
    const accepted = submit(submission)
    this.#underWay.add(accepted)
    try {
      return await accepted
    } finally {
      this.#underWay.delete(accepted)
    }
  }

  /** With data that nobody can read, it comes to nothing unless its key is known. */
  async #late(
    submission: Submission,
    submit: (admitted: Submission) => Promise<Accepted>,
  ): Promise<Accepted> {
    if (submission.idempotencyKey === undefined) throw draining()
    const data = new Readable({ read: () => void data.destroy(draining()) })
    const accepted = await submit({ ...submission, data })
    if (isReadable(submission.data)) discard(submission.data)
    return accepted
  }

  /** Settles when what was let in before is durable, or refused. */
  async retire(): Promise<void> {
    if (!this.#isRetired) {
      this.#isRetired = true
      this.#log.warn('draining: this relay takes no mail any more, and delivers what it has')
      for (const close of this.#closers.splice(0)) close()
    }
    await Promise.allSettled(this.#underWay)
  }
}
