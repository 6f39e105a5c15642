/** Keeps a queue in a store behind each beat of its owner: garbage, settings, idle connections.
 * Invariant: what the server refuses here ends no life, because no mail waits for it; what it does
 * not answer ends the tenure. */
import type { WaybillError } from '../errors.js'
import type { LeaseOptions, LeaseQuestions, Tenure } from './lease.js'
import { unsafeReasons } from './replication-safety.js'
import { done, errorIn, refusalError, type Answer, type Session } from './store.js'

export type UpkeepOptions = Pick<LeaseOptions, 'clock' | 'safety' | 'safetyMs' | 'onEvent' | 'statistics'>

export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #questions: Pick<LeaseQuestions, 'garbage' | 'onUnreaped'>
  readonly #broken: (tenure: Tenure, error: WaybillError | undefined) => void
  #safetyDueMs: number
  #isUnsafe = false
  #unreapedReason: string | undefined

  constructor(
    options: UpkeepOptions,
    questions: Pick<LeaseQuestions, 'garbage' | 'onUnreaped'>,
    broken: (tenure: Tenure, error: WaybillError | undefined) => void,
  ) {
    this.#options = options
    this.#questions = questions
    this.#broken = broken
    this.#safetyDueMs = options.clock.monotonicMs() + options.safetyMs
  }

  /** The server was seen not to keep its promise a while ago, and not to since. */
  get isUnsafe(): boolean {
    return this.#isUnsafe
  }

  /** @param untilMs when the next beat is due @returns not `done` when the store did not answer */
  async run(tenure: Tenure, untilMs: number): Promise<Answer<void>> {
    const swept = await this.#sweep(tenure, untilMs)
    if (swept.kind !== 'done' || this.#options.clock.monotonicMs() < this.#safetyDueMs) return swept
    const looked = await this.look(tenure.beat)
    if (looked.kind === 'done')
      for (const session of [tenure.journal, tenure.names, tenure.reads]) void this.#use(tenure, session)
    return looked
  }

  /** Looks at the server's settings. Asked before a life resumes, too:
   *    1. A standby is promoted whose `synchronous_standby_names` is empty.
   *    2. The life resumes there, and accepts mail until the next look, which is on one machine.
   *    3. That machine dies.
   * @returns not `done` when it did not answer */
  async look(session: Session): Promise<Answer<void>> {
    const { clock, safety, safetyMs, onEvent, statistics } = this.#options
    const answer = await session.safety()
    if (answer.kind === 'unknown') return answer
    this.#safetyDueMs = clock.monotonicMs() + safetyMs
    if (answer.kind === 'refused') return done(undefined)
    statistics.standbyCount = answer.value.standbyCount
    const reasons = safety === 'assumed' ? [] : unsafeReasons(answer.value)
    if (reasons.length > 0 !== this.#isUnsafe) onEvent({ kind: 'safety', reasons })
    this.#isUnsafe = reasons.length > 0
    return done(undefined)
  }

  /** Removes what was unlinked, for as long as it gets less, and until the next beat is due.
   * @returns not `done` when nobody knows whether it did */
  async #sweep(tenure: Tenure, untilMs: number): Promise<Answer<void>> {
    const { clock, onEvent, statistics } = this.#options
    for (let before = Infinity; ; before = statistics.reapWaiting) {
      const open = this.#questions.garbage()
      if (open === undefined) return done(undefined)
      const answer = await tenure.beat.reap(tenure.fence, open)
      if (answer.kind !== 'done') this.#questions.onUnreaped()
      if (answer.kind === 'refused' && answer.refusal.kind !== 'fenced') {
        const error = refusalError(answer.refusal)
        if (error.message !== this.#unreapedReason) onEvent({ kind: 'unreaped', error })
        this.#unreapedReason = error.message
        return done(undefined)
      }
      if (answer.kind !== 'done') return answer
      this.#unreapedReason = undefined
      statistics.reapWaiting = answer.value
      if (answer.value === 0 || answer.value >= before || clock.monotonicMs() >= untilMs)
        return done(undefined)
    }
  }

  /** Balancers end a connection that nobody uses, and the next message would wait for new ones. */
  async #use(tenure: Tenure, session: Session): Promise<void> {
    const answer = await session.standing(tenure.fence.queue)
    if (answer.kind !== 'done') this.#broken(tenure, errorIn(answer))
  }
}
