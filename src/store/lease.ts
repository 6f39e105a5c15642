/** Ownership of a queue in a store, from the claim to its loss.
 * Invariants:
 * 1. An epoch belongs to one set of connections. When one of them fails, all are dropped, and
 * the queue's epoch is raised by the nonce of this life before anything else is asked.
 * 2. What was found under a tenure is final: no change of an earlier one happens after it.
 * 3. Ownership is proven for `proofMs` from the ASKING time of the newest commit that was
 * answered. An answer that comes late proves nothing about now.
 * 4. The next beat is asked when the last one was answered, so an owner that hears nothing
 * falls silent.
 * Why an unknown answer does not end the life: README, "A commit of unknown outcome". */
import { pause, type Clock, type Timer } from '../base/clock.js'
import { isWaybillError, WaybillError } from '../errors.js'
import { Proof } from './ownership-proof.js'
import {
  errorIn,
  refusalError,
  type Answer,
  type Claimant,
  type Fence,
  type QueueRow,
  type Refusal,
  type Session,
  type Store,
} from './store.js'
import type { StoreEvent, StoreStatistics } from './statistics.js'
import { Upkeep } from './upkeep.js'
import { claimQueue, type Claimed, type ClaimOptions } from './claim.js'

export interface LeaseOptions extends ClaimOptions {
  readonly store: Store
  readonly clock: Clock
  readonly beatMs: number
  readonly proofMs: number
  /** An owner that the store does not answer gives up after so long. */
  readonly resumeMs: number
  readonly safetyMs: number
  readonly onEvent: (event: StoreEvent) => void
  readonly statistics: StoreStatistics
}

/** Connections, and the epoch that they may change the queue under. */
export interface Tenure {
  readonly fence: Fence
  readonly journal: Session
  readonly names: Session
  readonly reads: Session
  /** Its claim or resume made the epoch: what it reads is not older. */
  readonly beat: Session
}

/** What a lease asks of those that use it. */
export interface LeaseQuestions {
  /** Files that are unlinked and open, asked with each beat; undefined: nothing was unlinked. */
  readonly garbage: () => readonly number[] | undefined
  /** What was asked for last may not be removed: it is asked for again. */
  readonly onUnreaped: () => void
  /** Has the store the newest changes that it has answered? Asked of the connection that answered
   * a resume. */
  readonly isKept: (session: Session, queue: number) => Promise<Answer<boolean>>
}

/** Of a question that is asked under tenure after tenure. */
export interface Trouble {
  isAgain?: boolean
  /** The first tenure that was taken for it, and did not answer it. */
  sinceMs?: number
  /** It is no change: nobody was answered for it, so it may be asked for as long as it takes. */
  readonly isRead?: true
}

const retryMs = 50
/** What the store answers a resume and not a question is asked so seldom. */
const againMs = 1000

export class Lease {
  readonly proof: Proof
  readonly queue: QueueRow
  readonly #options: LeaseOptions
  readonly #claimant: Claimant
  readonly #onLost: (error: WaybillError) => void
  readonly #questions: LeaseQuestions
  readonly #upkeep: Upkeep
  #tenure: Promise<Tenure>
  #current: Tenure | undefined
  #over: WaybillError | undefined
  #beatTimer: Timer | undefined
  /** What the store has answered to this life: it is never less. */
  #epochSeen: number
  #beatSeen = 0
  #beatTrouble: Trouble = {}
  /** Why the newest attempt to have connections failed. */
  #failure: WaybillError | undefined

  private constructor(
    options: LeaseOptions,
    { claimant, row, epoch, askedMs }: Claimed,
    onLost: (error: WaybillError) => void,
    questions: LeaseQuestions,
  ) {
    this.#options = options
    this.#claimant = claimant
    this.queue = row
    this.#epochSeen = epoch
    this.#onLost = onLost
    this.#questions = questions
    this.proof = new Proof(options.clock, options.proofMs)
    this.proof.prove(askedMs)
    this.#upkeep = new Upkeep(options, questions, (tenure, error) => this.#broken(tenure, error))
    this.#tenure = new Promise(() => undefined)
  }

  /** @throws WaybillError QUEUE_LOCKED, STORE_UNREACHABLE, STORE_UNSAFE, NOT_A_QUEUE */
  static async take(
    options: LeaseOptions,
    onLost: (error: WaybillError) => void,
    questions: LeaseQuestions,
  ): Promise<Lease> {
    const claimed = await claimQueue(options)
    const lease = new Lease(options, claimed, onLost, questions)
    const { session, epoch, row } = claimed
    const tenure = await lease.#connected(session, { queue: row.queue, epoch })
    if (tenure === undefined) {
      session.close()
      lease.#resume(lease.#failure)
    } else lease.#begin(tenure)
    await lease.tenure()
    return lease
  }

  /** The connections of now. @throws WaybillError QUEUE_LOST, STORE_UNREACHABLE */
  tenure(): Promise<Tenure> {
    return this.#tenure
  }

  /** A question under this tenure was not answered, or found another epoch: it is asked under the
   * next one. The life ends when none answers a change for `resumeMs`:
   *    1. The server cannot write one block of its disk, or an operator has locked a table.
   *    2. A change fails there each time, and each resume is answered.
   *    3. A client waits for ever for its 250, and the log does not say why. */
  async again(tenure: Tenure, trouble: Trouble, answer: Answer<unknown>): Promise<void> {
    const { clock, resumeMs } = this.#options
    const error = errorIn(answer)
    const { isAgain } = trouble
    trouble.isAgain = true
    if (isAgain === undefined) return this.#broken(tenure, error)
    const nowMs = clock.monotonicMs()
    trouble.sinceMs ??= nowMs
    if (trouble.isRead === undefined && nowMs - trouble.sinceMs > resumeMs)
      return this.#end(this.#unreachable('takes connections, and has not answered one question', error))
    this.#broken(tenure, error)
    await pause(clock, againMs, undefined)
  }

  #broken(tenure: Tenure, error: WaybillError | undefined): void {
    if (this.#current === tenure) this.#resume(error)
  }

  /** Of this life: the queue bears it while it is ours. */
  get nonce(): string {
    return this.#claimant.nonce
  }

  /** Of the server that all connections are to; undefined: there are none now. */
  get timeline(): number | undefined {
    return this.#current?.beat.timeline
  }

  /** The server was seen not to keep its promise a while ago, and not to since. */
  get isUnsafe(): boolean {
    return this.#upkeep.isUnsafe
  }

  /** The end of this life: no more questions, and no callbacks. */
  abandon(error: WaybillError): void {
    if (this.#over !== undefined) return
    this.#over = error
    this.#drop()
    this.proof.end()
    this.#tenure = Promise.reject(error)
    this.#tenure.catch(() => undefined)
  }

  /** For a Session's answer that is no change. */
  async ask<T>(question: (session: Session) => Promise<Answer<T>>): Promise<Answer<T>> {
    const trouble: Trouble = { isRead: true }
    for (;;) {
      const tenure = await this.#tenure
      const answer = await question(tenure.reads)
      if (answer.kind === 'done' || (answer.kind === 'refused' && (await this.isOurs(tenure)))) return answer
      await this.again(tenure, trouble, answer)
    }
  }

  /** Has the queue the epoch of this tenure? False: no, or it is not known. Asked before a refusal
   * counts, for the next owner of a queue removes what this one has open. */
  async isOurs({ beat, fence }: Tenure): Promise<boolean> {
    const standing = await beat.standing(fence.queue)
    return standing.kind === 'done' && standing.value.epoch === fence.epoch
  }

  #begin(tenure: Tenure): void {
    this.#current = tenure
    this.#tenure = Promise.resolve(tenure)
    this.#epochSeen = tenure.fence.epoch
    this.#options.statistics.epoch = tenure.fence.epoch
    this.#beatLater(tenure, this.#options.beatMs)
  }

  #beatLater(tenure: Tenure, delayMs: number): void {
    this.#beatTimer = this.#options.clock.after(delayMs, () => void this.#beat(tenure))
  }

  async #beat(tenure: Tenure): Promise<void> {
    if (this.#current !== tenure) return
    const { clock, beatMs } = this.#options
    const askedMs = clock.monotonicMs()
    const answer = await tenure.beat.beat(this.queue.queue, this.#claimant.nonce)
    if (this.#current !== tenure) return
    if (answer.kind !== 'done') return this.#unbeaten(tenure, answer)
    this.#beatSeen++
    this.proof.prove(askedMs)
    const kept = await this.#upkeep.run(tenure, askedMs + beatMs)
    if (kept.kind !== 'done') return this.again(tenure, this.#beatTrouble, kept)
    this.#beatTrouble = {}
    if (this.#current === tenure)
      this.#beatLater(tenure, Math.max(0, beatMs - (clock.monotonicMs() - askedMs)))
  }

  /** What the store refuses an owner, it refuses it the next time, too. */
  async #unbeaten(tenure: Tenure, answer: Answer<void>): Promise<void> {
    if (answer.kind === 'refused' && answer.refusal.kind !== 'fenced' && (await this.isOurs(tenure)))
      return this.#end(refusalError(answer.refusal))
    return this.again(tenure, this.#beatTrouble, answer)
  }

  /** Drops all connections, and takes new ones. */
  #resume(error: WaybillError | undefined): void {
    if (this.#over !== undefined) return
    const { onEvent } = this.#options
    onEvent({ kind: 'interrupted', reason: error?.message ?? 'the connection has ended' })
    this.#drop()
    this.#tenure = this.#resumed()
    this.#tenure.then(
      (tenure) => {
        if (this.#over !== undefined) return
        this.#options.statistics.resumeCount++
        onEvent({ kind: 'resumed', epoch: tenure.fence.epoch })
      },
      (error: unknown) => this.#end(asWaybill(error)),
    )
  }

  async #resumed(): Promise<Tenure> {
    const { clock, resumeMs, store } = this.#options
    const startedMs = clock.monotonicMs()
    this.#failure = undefined
    for (;;) {
      if (this.#over !== undefined) throw this.#over
      const connection = await store.connect(this.#claimant.nonce)
      if (connection.kind === 'done') {
        const raised = await this.#raise(connection.value)
        if (raised !== undefined) return raised
      } else this.#failure = errorIn(connection)
      if (clock.monotonicMs() - startedMs >= resumeMs)
        throw this.#unreachable('has not answered', this.#failure)
      await pause(clock, retryMs, undefined)
    }
  }

  #unreachable(what: string, error: WaybillError | undefined): WaybillError {
    const { resumeMs, store } = this.#options
    const reason = error === undefined ? '' : `: ${error.message}`
    const text = `the store ${what} for ${Math.round(resumeMs / 1000)} s${reason}`
    return new WaybillError('STORE_UNREACHABLE', text, { directory: store.name }, error)
  }

  /** @returns undefined: to be tried again @throws WaybillError QUEUE_LOST */
  async #raise(session: Session): Promise<Tenure | undefined> {
    const { queue } = this.queue
    const askedMs = this.#options.clock.monotonicMs()
    const answer = await session.resume(queue, this.#claimant.nonce)
    if (answer.kind !== 'done') {
      this.#failure = errorIn(answer)
      const lost = answer.kind === 'unknown' ? undefined : await this.#lossOf(session, answer.refusal)
      session.close()
      if (lost === undefined) return undefined
      throw lost
    }
    const fence = { queue, epoch: answer.value }
    const isFit = (await this.#isWhole(session, fence)) && (await this.#upkeep.look(session)).kind === 'done'
    const tenure = isFit ? await this.#connected(session, fence) : undefined
    if (tenure === undefined || this.#over !== undefined) {
      session.close()
      closeAll(tenure)
      return undefined
    }
    this.proof.prove(askedMs)
    this.#begin(tenure)
    return tenure
  }

  /** Why this life may not resume. Epochs of a queue only grow, so one that is less is of a store
   * from before the claim. @returns undefined when it did not answer */
  async #lossOf(session: Session, refusal: Refusal): Promise<WaybillError | undefined> {
    if (refusal.kind !== 'fenced') return refusalError(refusal)
    const standing = await session.standing(this.queue.queue)
    if (standing.kind !== 'done') return undefined
    if (standing.value.epoch < this.#epochSeen) return this.#behind()
    return new WaybillError('QUEUE_LOST', 'another process owns the queue now', {
      directory: this.#options.store.name,
    })
  }

  /** Has the store all that it has answered to this life? README, "A store that went back".
   * @returns false when it did not answer @throws WaybillError STORE_BEHIND */
  async #isWhole(session: Session, { queue, epoch }: Fence): Promise<boolean> {
    const standing = await session.standing(queue)
    if (standing.kind !== 'done') return false
    const kept = await this.#questions.isKept(session, queue)
    if (kept.kind !== 'done') return false
    if (kept.value && epoch > this.#epochSeen && standing.value.beat >= this.#beatSeen) return true
    session.close()
    throw this.#behind()
  }

  #behind(): WaybillError {
    const reason =
      'the store lacks changes that it had answered: it was restored to an earlier moment, or a server' +
      ' without them was promoted; mail that was accepted since then may be lost'
    return new WaybillError('STORE_BEHIND', reason, { directory: this.#options.store.name })
  }

  /** The other connections, each to a server that has the epoch, and all to the same one:
   *    1. a server gets the epoch, and is replaced
   *    2. the new one has it, too, and the old one does not know that it was replaced
   *    3. a lane is written to the new one, and read from the old one: it seems to be damaged */
  async #connected(beat: Session, fence: Fence): Promise<Tenure | undefined> {
    const { store } = this.#options
    const answers = await Promise.all([0, 1, 2].map(() => store.connect(this.#claimant.nonce)))
    const sessions = answers.flatMap((answer) => (answer.kind === 'done' ? [answer.value] : []))
    const standings = await Promise.all(sessions.map((session) => session.standing(fence.queue)))
    const [journal, names, reads] = sessions
    const beats = standings.flatMap((answer) =>
      answer.kind === 'done' && answer.value.epoch === fence.epoch ? [answer.value.beat] : [],
    )
    const isOneServer = sessions.every(({ timeline }) => timeline === beat.timeline)
    if (
      journal !== undefined &&
      names !== undefined &&
      reads !== undefined &&
      beats.length === 3 &&
      isOneServer
    ) {
      this.#beatSeen = Math.max(this.#beatSeen, ...beats)
      return { fence, journal, names, reads, beat }
    }
    for (const session of sessions) session.close()
    for (const answer of [...answers, ...standings]) this.#failure = errorIn(answer) ?? this.#failure
    return undefined
  }

  #drop(): void {
    this.#beatTimer?.cancel()
    const tenure = this.#current
    this.#current = undefined
    closeAll(tenure)
  }

  #end(error: WaybillError): void {
    if (this.#over !== undefined) return
    this.abandon(error)
    this.#onLost(error)
  }
}

function closeAll(tenure: Tenure | undefined): void {
  if (tenure === undefined) return
  for (const session of [tenure.journal, tenure.names, tenure.reads, tenure.beat]) session.close()
}

const asWaybill = (error: unknown): WaybillError =>
  isWaybillError(error) ? error : new WaybillError('DISK_FAILED', String(error), {}, error)
