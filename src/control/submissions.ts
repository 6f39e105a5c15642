/** Mail that a client of the control socket submits, many messages at a time.
 * Invariant: each submission has one answer, with its number, when it is durable or refused. Other
 * requests wait until all have theirs. */
import type { Submission } from '../engine/accept/submission.js'
import { isWaybillError, WaybillError } from '../errors.js'
import type { ControlAnswer, SubmitRequest } from './protocol.js'

/** Submissions under way; more are left unread. */
const underWayMax = 100

/** A queue that takes mail. */
export interface TakingQueue {
  submit(submission: Submission): Promise<{ readonly id: string; readonly isDuplicate?: boolean }>
}

export class Submissions {
  readonly #queue: Partial<TakingQueue>
  readonly #answer: (answer: ControlAnswer) => Promise<void>
  readonly #underWay = new Set<Promise<void>>()
  /** The client submits: it may be silent for longer. */
  hasAny = false

  constructor(queue: Partial<TakingQueue>, answer: (answer: ControlAnswer) => Promise<void>) {
    this.#queue = queue
    this.#answer = answer
  }

  /** Settles when another one may be read. */
  async take({ number, submission }: SubmitRequest): Promise<void> {
    this.hasAny = true
    const answered = this.#outcome(number, submission).then(this.#answer)
    const kept: Promise<void> = answered.finally(() => this.#underWay.delete(kept))
    this.#underWay.add(kept)
    if (this.#underWay.size >= underWayMax) await Promise.race(this.#underWay)
  }

  async ended(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  async #outcome(
    number: number,
    { data, ...submission }: SubmitRequest['submission'],
  ): Promise<ControlAnswer> {
    try {
      if (this.#queue.submit === undefined)
        throw new WaybillError('OPTION_INVALID', 'this queue takes no mail here', { option: 'do' })
      const whole = { ...submission, data: Buffer.from(data, 'base64') } as unknown as Submission
      const { id, isDuplicate = false } = await this.#queue.submit(whole)
      return { kind: 'submitted', number, id, isDuplicate }
    } catch (error) {
      if (!isWaybillError(error)) throw error
      return { kind: 'refused', number, code: error.code, message: error.message }
    }
  }
}
