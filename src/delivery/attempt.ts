/** One transport's attempts under way.
 * Invariant: every attempt settles exactly once, at the latest one sweep after its deadline, except
 * when the queue crashes; later answers are ignored. A transport that answers at once costs no
 * promise, timer or signal; one coarse timer serves all waiting attempts.
 * Why the deadline grows with the data (by default as at 580 octets a second, about Postfix's
 * smtp_min_data_rate):
 *
 * 1. a message of 50 MB is sent over a link of 30 KB/s
 * 2. the deadline is 20 minutes for every message
 * 3. each attempt is cut short, and after five days the message is returned to its sender */
import { isThenable } from '../base/realms.js'
import { assert } from '../base/assert.js'
import type { Clock, Timer } from '../base/clock.js'
import { LinkedList, type Linked } from '../base/linked-list.js'
import { callListener } from './call-listener.js'
import { WaybillError } from '../errors.js'
import { reportOf, reportOfError, type Report } from './outcome.js'
import type { DeliveryRequest, Transport } from './transport.js'

export interface AttemptOptions {
  /** Deadline of an attempt, milliseconds for each mebibyte of data begun, 1 … 86 400 000. Default
   * 30 minutes: the sum of the timeouts for one message in RFC 5321 §4.5.3.2. */
  readonly deadlineMs?: number | undefined
}

/** @throws WaybillError OPTION_INVALID */
export function checkedDeadlineMs({ deadlineMs = 30 * 60_000 }: AttemptOptions): number {
  if (typeof deadlineMs === 'number' && deadlineMs >= 1 && deadlineMs <= 86_400_000) return deadlineMs
  throw new WaybillError('OPTION_INVALID', 'a deadline is 1 to 86400000 ms', { option: 'deadlineMs' })
}

interface Attempt<Tag> extends Linked<Attempt<Tag>> {
  readonly tag: Tag
  readonly recipientCount: number
  /** On the clock that is monotonic. */
  readonly dueAt: number
  readonly deadlineMs: number
  readonly controller: AbortController | undefined
}

const mebibyte = 1 << 20

/** Lives that share a transport: the last one closes it. */
const userCounts = new WeakMap<Transport, number>()

/** The signal for a transport whose `deliver` takes none. */
const neverAborted: AbortSignal = new AbortController().signal

export class Attempts<Tag> {
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #settled: (tag: Tag, report: Report) => void
  readonly #deadlineMs: number
  readonly #sweepMs: number
  readonly #wantsSignal: boolean
  readonly #underWay = new LinkedList<Attempt<Tag>>()
  /** Signals of answered attempts, of transports that release them. */
  readonly #free: AbortController[] = []
  #sweep: Timer | undefined
  #abandoned = false

  /** @param settled called with the outcome of each attempt, before `begin` returns if the
   * transport answers at once. Its errors are not the transport's and are not caught.
   * @throws WaybillError OPTION_INVALID */
  constructor(
    transport: Transport,
    clock: Clock,
    settled: (tag: Tag, report: Report) => void,
    options: AttemptOptions = {},
  ) {
    const deadlineMs = checkedDeadlineMs(options)
    this.#transport = transport
    userCounts.set(transport, (userCounts.get(transport) ?? 0) + 1)
    this.#clock = clock
    this.#settled = settled
    this.#deadlineMs = deadlineMs
    this.#sweepMs = Math.max(10, Math.min(1000, deadlineMs / 10))
    // Exactly one parameter: it cannot look at a signal. None: it may, through `arguments`.
    this.#wantsSignal = transport.deliver.length !== 1
  }

  /** Attempts that wait for their transport. */
  get count(): number {
    return this.#underWay.count
  }

  /** Asks the transport. @param tag comes back with the outcome. */
  begin(tag: Tag, request: DeliveryRequest): void {
    assert(!this.#abandoned, 'no attempt begins after the crash')
    const recipientCount = request.recipients.length
    let controller: AbortController | undefined
    let report: Report
    try {
      if (this.#wantsSignal) controller = this.#free.pop() ?? new AbortController()
      const answer: unknown = this.#transport.deliver(request, controller?.signal ?? neverAborted)
      if (isThenable(answer)) {
        const deadlineMs = this.#deadlineMs * Math.max(1, Math.ceil(request.dataBytes / mebibyte))
        const dueAt = this.#clock.monotonicMs() + deadlineMs
        this.#wait(
          { tag, recipientCount, dueAt, deadlineMs, controller, older: undefined, newer: undefined },
          answer,
        )
        return
      }
      report = reportOf(answer, recipientCount)
    } catch (error) {
      report = reportOfError(error, recipientCount)
    }
    this.#answered(controller)
    this.#settled(tag, report)
  }

  /** An operator has ended the message: signals abort. Each attempt still settles, with the
   * transport's answer. */
  withdraw(isMeant: (tag: Tag) => boolean): void {
    for (const { tag, controller } of this.#underWay) {
      if (isMeant(tag))
        controller?.abort(new WaybillError('ATTEMPT_WITHDRAWN', 'an operator ended the message'))
    }
  }

  /** The queue has crashed: signals abort, connections are closed, nothing settles any more. */
  abandon(): void {
    if (this.#abandoned) return
    this.#abandoned = true
    this.#sweep?.cancel()
    const left = [...this.#underWay]
    for (const attempt of left) this.#underWay.remove(attempt)
    const reason = new WaybillError('QUEUE_CRASHED', 'the queue has crashed')
    for (const { controller } of left) controller?.abort(reason)
    const userCount = userCounts.get(this.#transport)! - 1
    userCounts.set(this.#transport, userCount)
    if (userCount === 0) this.#close()
  }

  /** It is nobody's trouble any more: a crash waits for nothing, and goes on. */
  #close(): void {
    callListener(
      () => this.#transport.close?.(),
      () => undefined,
    )
  }

  #wait(attempt: Attempt<Tag>, answer: PromiseLike<unknown>): void {
    const promise = asPromise(answer)
    this.#underWay.add(attempt)
    this.#sweep ??= this.#clock.after(this.#sweepMs, this.#sweepDue)
    void promise.then(
      (value: unknown) => {
        if (this.#underWay.delete(attempt))
          this.#answeredLate(attempt, reportOfSafely(value, attempt.recipientCount))
      },
      (error: unknown) => {
        if (this.#underWay.delete(attempt))
          this.#answeredLate(attempt, reportOfError(error, attempt.recipientCount))
      },
    )
  }

  /** A withdrawn attempt says nothing about its site: the operator ended it. */
  #answeredLate({ tag, controller }: Attempt<Tag>, report: Report): void {
    if (controller?.signal.aborted === true) this.#settled(tag, { ...report, site: undefined })
    else {
      this.#answered(controller)
      this.#settled(tag, report)
    }
  }

  /** It is not aborted: signals of attempts that were given up are not reused. */
  #answered(controller: AbortController | undefined): void {
    if (controller !== undefined && this.#transport.releasesSignal === true) this.#free.push(controller)
  }

  /** Attempts are given up behind one more look at the network, because timers run before it:
   *
   * 1. a server answers, and the answer waits in the socket
   * 2. the program computes, or is stopped, until the deadline has passed
   * 3. the sweep runs first, and gives up what was delivered: the recipient gets it twice */
  readonly #sweepDue = (): void => {
    this.#sweep = undefined
    const nowMs = this.#clock.monotonicMs()
    let isDue = false
    for (const { dueAt } of this.#underWay) isDue ||= dueAt <= nowMs
    if (isDue) this.#clock.soon(() => this.#giveUp(nowMs))
    else this.#sweepLater()
  }

  #giveUp(nowMs: number): void {
    for (const attempt of this.#underWay) {
      if (this.#abandoned) return
      if (attempt.dueAt > nowMs) continue
      this.#underWay.remove(attempt)
      const seconds = Math.round(attempt.deadlineMs / 100) / 10
      const reason = `the transport gave no answer within ${seconds} s; the message may have been delivered`
      attempt.controller?.abort(new Error(reason))
      this.#settled(attempt.tag, reportOf({ kind: 'site', status: '4.4.1', reason }, attempt.recipientCount))
    }
    this.#sweepLater()
  }

  #sweepLater(): void {
    if (!this.#abandoned && this.#underWay.count > 0)
      this.#sweep ??= this.#clock.after(this.#sweepMs, this.#sweepDue)
  }
}

/** Foreign ones may call back at once, twice or never, and their `then` may throw: a promise of a
 * separate class, too. */
const asPromise = (answer: PromiseLike<unknown>): Promise<unknown> =>
  answer instanceof Promise && answer.then === Promise.prototype.then && answer.constructor === Promise
    ? answer
    : new Promise((resolve) => resolve(answer))

/** An answer can be an object whose properties throw. */
function reportOfSafely(value: unknown, recipientCount: number): Report {
  try {
    return reportOf(value, recipientCount)
  } catch (error) {
    return reportOfError(error, recipientCount)
  }
}
