/** Submits many messages, a bounded number of them at a time: they share syncs, as mail of many
 * producers does.
 * Invariant: every submission that was taken from the source has one result, in the order of the
 * source, also when the queue or the source fails meanwhile: the error is thrown behind the last
 * result. So the caller knows of each message whether it is in the queue. */
import { isThenable } from '../../base/realms.js'
import { onAbort } from '../../base/on-abort.js'
import { checkOptionNames, integerOption, signalOption, type OptionNames } from '../../base/options.js'
import { isWaybillError, WaybillError, type ErrorCode } from '../../errors.js'
import { aborted, type Submission } from './submission.js'
import type { Accepted } from './tickets.js'

export interface SubmitManyOptions {
  /** Submissions under way at a time, 1 … 100 000. Default 200. Their data is in memory. */
  readonly underWayMax?: number | undefined
  /** When it is aborted, no more messages are taken from the source. */
  readonly signal?: AbortSignal | undefined
}

const optionNames: OptionNames<SubmitManyOptions> = { underWayMax: true, signal: true }

/** The result of one submission: the id of a durable message, or the error that refused it. */
export type SubmitResult =
  | {
      readonly index: number
      readonly id: string
      /** The key was known, so no message was made. */
      readonly isDuplicate?: true
      readonly error?: undefined
    }
  | { readonly index: number; readonly id?: undefined; readonly error: WaybillError }

/** They are of the queue, and would be of the next submission, too. */
const endings: ReadonlySet<ErrorCode> = new Set(['DISK_FULL', 'DISK_FAILED', 'QUEUE_CRASHED'])

type Source = Iterable<Submission> | AsyncIterable<Submission>

/** @throws WaybillError OPTION_INVALID, SUBMIT_ABORTED, DISK_FULL, DISK_FAILED, QUEUE_CRASHED; what
 * the source throws */
export async function* submitMany(
  submit: (submission: Submission) => Promise<Accepted>,
  submissions: Source,
  options: SubmitManyOptions,
): AsyncGenerator<SubmitResult, void, undefined> {
  checkOptionNames(options, optionNames)
  const { signal } = options
  const underWayMax = integerOption('underWayMax', options.underWayMax ?? 200, 1, 100_000)
  signalOption(signal)
  if (!isSource(submissions))
    throw new WaybillError('OPTION_INVALID', 'submissions is an iterable', {
      option: 'submissions',
    })
  const taking = new Taking(submissions, signal)
  const underWay: Promise<SubmitResult>[] = []
  try {
    for (let index = 0; ;) {
      if (!taking.isOver && underWay.length < underWayMax) {
        // A slow source does not keep back what has settled.
        const taken = taking.next(underWay[0])
        const step = isThenable(taken) ? await taken : taken
        if (step !== undefined) underWay.push(resultOf(index++, submit, step.value))
        if (step !== undefined || taking.isOver) continue
      }
      const first = underWay.shift()
      if (first === undefined) break
      const result = await first
      if (result.error !== undefined && endings.has(result.error.code)) taking.fail(result.error)
      yield result
    }
  } finally {
    await taking.end()
  }
  taking.check()
}

const isSource = (value: unknown): value is Source =>
  typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value)

/** Never rejects. */
async function resultOf(
  index: number,
  submit: (submission: Submission) => Promise<Accepted>,
  submission: Submission,
): Promise<SubmitResult> {
  try {
    return { index, ...(await submit(submission)) }
  } catch (error) {
    if (isWaybillError(error)) return { index, error }
    return { index, error: new WaybillError('OPTION_INVALID', 'the submission cannot be read', {}, error) }
  }
}

type Step = IteratorResult<Submission, unknown>
/** What is wrong with its value is for `submit` to say. */
type Taken = IteratorYieldResult<Submission>

/** From a source, as long as it and the caller go on. */
class Taking {
  readonly #iterator: Iterator<Submission> | AsyncIterator<Submission>
  readonly #isSynchronous: boolean
  readonly #deaf: () => void
  readonly #aborted: Promise<undefined>
  /** Asked for and not there yet. */
  #pending: Promise<Step> | undefined
  #failure: { readonly error: unknown } | undefined
  #isDone = false

  constructor(source: Source, signal: AbortSignal | undefined) {
    this.#isSynchronous = !(Symbol.asyncIterator in source)
    this.#iterator =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
    let wake: (value: undefined) => void
    this.#aborted = new Promise((resolve) => (wake = resolve))
    const abort = (): void => {
      this.fail(aborted(signal))
      wake(undefined)
    }
    this.#deaf = onAbort(signal, abort)
    if (signal?.aborted === true) abort()
  }

  get isOver(): boolean {
    return this.#isDone || this.#failure !== undefined
  }

  /** @param first the wait ends when it has settled, too
   * @returns undefined when there is none now, or none any more: `isOver` */
  next(first: Promise<unknown> | undefined): Taken | undefined | Promise<Taken | undefined> {
    try {
      if (this.#isSynchronous) return this.#takenOf(this.#iterator.next() as Step)
      return this.#wait((this.#pending ??= Promise.resolve(this.#iterator.next())), first)
    } catch (error) {
      this.fail(error)
      return undefined
    }
  }

  async #wait(step: Promise<Step>, first: Promise<unknown> | undefined): Promise<Taken | undefined> {
    try {
      const ends = [this.#aborted, ...(first === undefined ? [] : [first.then(() => undefined)])]
      const found = await Promise.race([step, ...ends])
      if (found === undefined) return undefined
      this.#pending = undefined
      return this.#takenOf(found)
    } catch (error) {
      this.#pending = undefined
      this.fail(error)
      return undefined
    }
  }

  #takenOf(step: Step): Taken | undefined {
    if (step.done !== true) return step
    this.#isDone = true
    return undefined
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
  }

  /** The source may release what it holds. One that does not answer is not waited for. */
  async end(): Promise<void> {
    this.#deaf()
    if (this.#isDone) return
    const ended = this.#iterator.return?.()
    if (this.#pending === undefined) await ended
  }

  /** @throws why no more was taken */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
