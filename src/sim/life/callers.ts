/** The callers of a queue: submissions, orders, aborts, and their answers.
 * Invariant: the model gets a request before the queue does, and an answer in the step in
 * which it comes. */
import type { VerbResult } from '../../admin/verbs/tally.js'
import type { Selector } from '../../admin/select/selector.js'
import { isWaybillError } from '../../errors.js'
import type { Queue } from '../../queue.js'
import { submitted } from '../workload/asked.js'
import { carryOut, selectorOf } from '../workload/carry-out.js'
import { codeOf, textOf } from './error-text.js'
import type { Told } from '../model/order-book.js'
import type { Moment, Moments } from '../world/moment.js'
import type { QueueModel } from '../model/queue-model.js'
import { keyOf } from '../workload/keyed.js'
import { contentOf, handedOver } from '../workload/submission-form.js'
import type { Step, SuspensionStep, VerbStep } from '../workload/workload.js'
import type { SimWorld } from '../world/world.js'

/** The part of a queue's life that callers need. */
export interface Callable {
  readonly model: QueueModel
  readonly world: SimWorld
  readonly moments: Moments
  readonly queue: Queue | undefined
  readonly ended: object | undefined
  readonly mayCrash: boolean
  noteDurable(): void
  mayAnswer(error: unknown): boolean
}

export class Callers {
  readonly #life: Callable
  #unanswered = 0
  #aborted = 0
  /** Submissions that were made, and orders. */
  submittedCount = 0
  orderedCount = 0

  constructor(life: Callable) {
    this.#life = life
  }

  /** Submissions and orders without an answer. */
  get unansweredCount(): number {
    return this.#unanswered
  }

  /** Requests that were aborted. */
  get abortedCount(): number {
    return this.#aborted
  }

  /** Plans the steps: each is submitted, or ordered, when its time has come. */
  plan(steps: readonly Step[], verbs: readonly VerbStep[] = []): void {
    const { clock } = this.#life.world
    for (const verb of verbs) clock.after(verb.atMs, () => this.#orderLater(verb))
    for (const step of steps)
      if (step.atMs === 0) this.submit(step)
      else clock.after(step.atMs, () => this.submit(step))
  }

  submit(step: Step): void {
    const { queue, ended, model, world } = this.#life
    if (queue === undefined || ended !== undefined) return
    const { sender, recipients, form } = step
    const signal = this.#signalOf(step.abort)
    model.asked(sender, recipients, contentOf(step), world.clock.wallMs())
    this.#unanswered++
    this.submittedCount++
    const submission = { ...submitted(step, world.clock.wallMs()), signal }
    queue.submit({ ...submission, data: handedOver(step, world.clock) }).then(
      ({ id }) => {
        this.#unanswered--
        model.settled(sender, id)
        this.#repeat(step)
        if (form === 'cut') model.violate('O5', `${sender} was cut off and is accepted`)
      },
      (error: unknown) => {
        this.#unanswered--
        // After a failed device, or the end of a life, the message may be there or not. A
        // submission with a key is repeated.
        if (!isOpen(error) && keyOf(sender) === undefined) model.refused(sender)
        const isCut = form === 'cut' && (isOpen(error) || isWaybillError(error, 'DATA_INCOMPLETE'))
        const isAborted = signal?.aborted === true && isWaybillError(error, 'SUBMIT_ABORTED')
        if (isAborted) this.#aborted++
        else if (!isCut && !this.#life.mayAnswer(error))
          model.violate('O8', `${sender} is refused: ${textOf(error)}`)
      },
    )
  }

  /** A new life: submitters with keys do not know the outcome of the last one. */
  repeatAll(steps: readonly Step[]): void {
    for (const step of steps) if (this.#life.model.meant(step.sender) !== undefined) this.#repeat(step)
  }

  #repeat(step: Step): void {
    const { queue, ended, model, world } = this.#life
    const { sender } = step
    if (keyOf(sender) === undefined || queue === undefined || ended !== undefined) return
    this.#unanswered++
    queue.submit({ ...submitted(step, world.clock.wallMs()), data: handedOver(step, world.clock) }).then(
      ({ id }) => {
        this.#unanswered--
        const first = model.meant(sender)?.id
        if (first !== undefined && first !== id)
          model.violate('O5', `${sender} was submitted again with its key, and is ${id} beside ${first}`)
        model.settled(sender, id)
      },
      (error: unknown) => {
        this.#unanswered--
        if (!isOpen(error) && !this.#life.mayAnswer(error))
          model.violate('O8', `${sender} is refused: ${textOf(error)}`)
      },
    )
  }

  order(step: VerbStep): void {
    const { queue, ended, model, world } = this.#life
    const { verb, sender, by } = step
    if (queue === undefined || ended !== undefined) return
    const wallMs = world.clock.wallMs()
    if (by === 'all') {
      this.#obey(queue, step, { all: true }, model.orders.givenForMany(verb, undefined, wallMs))
      return
    }
    // A verb looks at the queue when recovery has ended: mail submitted meanwhile may be meant or
    // not.
    const meant = model.meant(sender)
    if (meant === undefined) return
    const selector = selectorOf(step, meant)
    const told =
      by === 'domain'
        ? model.orders.givenForMany(verb, selector.nexthop, wallMs)
        : model.orders.given(sender, verb, wallMs)
    this.#obey(queue, step, selector, told)
  }

  /** The life is being drained: no attempt begins; when drained, none is under way or
   * could be forgotten. */
  drain(): void {
    const { queue, ended, model } = this.#life
    if (queue === undefined || ended !== undefined) return
    model.drains()
    this.#unanswered++
    queue.drain().then(
      ({ isDrained }) => {
        this.#unanswered--
        this.#life.noteDurable()
        model.stands(isDrained)
      },
      (error: unknown) => {
        this.#unanswered--
        if (!isOpen(error) && !this.#life.mayAnswer(error))
          model.violate('O8', `the queue is not drained: ${textOf(error)}`, { code: codeOf(error) })
      },
    )
  }

  /** Suspends or resumes when its time has come. */
  planSuspensions(steps: readonly SuspensionStep[]): void {
    for (const step of steps) this.#life.world.clock.after(step.atMs, () => this.#suspend(step))
  }

  /** A new life: what was suspended is, and is resumed after a while. */
  resumeLater(): void {
    const { queue, model } = this.#life
    if (queue === undefined) return
    const listed = queue.suspensions().map(({ nexthop }) => nexthop ?? '')
    model.suspensions.judgeBeginning(listed, model.violate)
    this.planSuspensions(
      model.suspensions.possible.map((nexthop) => ({ atMs: suspendedMs, do: 'resume', nexthop })),
    )
  }

  #suspend({ do: what, nexthop }: SuspensionStep): void {
    const { queue, ended, model } = this.#life
    if (queue === undefined || ended !== undefined) return
    model.suspensions.asked(nexthop)
    this.#unanswered++
    const isSuspended = what === 'suspend'
    const answered = isSuspended ? queue.suspend({ nexthop }) : queue.unsuspend({ nexthop })
    answered.then(
      () => {
        this.#unanswered--
        model.suspensions.answered(nexthop, isSuspended)
      },
      (error: unknown) => {
        this.#unanswered--
        if (!isOpen(error) && !this.#life.mayAnswer(error))
          model.violate('O8', `${nexthop} cannot be ${what}d: ${textOf(error)}`, { code: codeOf(error) })
      },
    )
  }

  /** Releases mail on hold. @returns false if there can be none */
  releaseAll(): boolean {
    const { queue, ended, model } = this.#life
    if (queue === undefined || ended !== undefined || !model.mayHold) return false
    this.order({ atMs: 0, verb: 'release', sender: '', by: 'all' })
    return true
  }

  #orderLater(step: VerbStep): void {
    if (step.afterCalls === undefined) this.order(step)
    else this.#life.moments.at({ calls: step.afterCalls }, () => this.order(step))
  }

  #obey(queue: Queue, { verb, abort }: VerbStep, selector: Selector, told: (answer: Told) => void): void {
    const { model } = this.#life
    const signal = this.#signalOf(abort)
    let soFar = 0
    const onProgress = ({ messageCount }: VerbResult): void => {
      if (messageCount < soFar)
        model.violate('O5', `${verb} counted ${soFar} messages, and then ${messageCount}`)
      soFar = messageCount
    }
    this.#unanswered++
    this.orderedCount++
    carryOut(queue, verb, selector, { onProgress, ...(signal === undefined ? {} : { signal }) }).then(
      ({ messageCount, missedCount, failedCount }) => {
        this.#unanswered--
        if (failedCount > 0 && !this.#life.mayCrash)
          model.violate('O8', `a verb could not read ${failedCount} messages`)
        if (messageCount < soFar)
          model.violate('O5', `${verb} counted ${soFar} messages, and then ${messageCount}`)
        // A message that a failing device did not show to recovery is met by no verb, and waits.
        const isWhole = missedCount === 0 && failedCount === 0 && !this.#life.mayCrash
        told({ messageCount, isWhole, isAborted: false })
      },
      (error: unknown) => {
        this.#unanswered--
        // It has done a part: the counted messages, and perhaps the next ones.
        if (isWaybillError(error, 'VERB_ABORTED') && signal?.aborted === true) {
          this.#aborted++
          told({ messageCount: soFar, isWhole: false, isAborted: true })
        } else if (!isOpen(error) && !this.#life.mayAnswer(error))
          model.violate('O8', `a verb is refused: ${textOf(error)}`, { code: codeOf(error) })
      },
    )
  }

  #signalOf(abort: Moment | undefined): AbortSignal | undefined {
    if (abort === undefined) return undefined
    const controller = new AbortController()
    this.#life.moments.at(abort, () => controller.abort())
    return controller.signal
  }
}

/** How long a later life leaves suspended what it finds so, milliseconds. */
const suspendedMs = 5000

/** Its effect is unknown. */
const isOpen = (error: unknown): boolean =>
  isWaybillError(error, 'QUEUE_CRASHED') || isWaybillError(error, 'DISK_FAILED')
