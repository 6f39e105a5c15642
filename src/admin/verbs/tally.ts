/** Counts a verb's results and says whether it continues. */
import { integerOption, signalOption, type OptionNames } from '../../base/options.js'
import { callOptionListener } from '../../engine/life/option-listener.js'
import { WaybillError } from '../../errors.js'
import { checkAborted, verbAborted, type ListedMessage } from '../select/listing.js'

/** The result of `hold`, `release`, `requeue`, `delete`, `expire`, `reroute` and `flush`. Each acts
 * on all messages that match at the time of the call. A message that is being attempted follows
 * when the attempt has its outcome. Counted effects are durable when the verb settles; a verb that
 * is aborted, or ended by a crash, has done a part. Memory is bounded, however many match.
 * @throws WaybillError by rejection: OPTION_INVALID, also for a selector without a member;
 * VERB_ABORTED; DISK_FULL: make room, or try again later; QUEUE_CRASHED; LOG_CORRUPT and
 * DISK_FAILED for unreadable messages, when all others are done */
export interface VerbResult {
  /** Messages that the verb acted on. */
  readonly messageCount: number
  /** Waiting recipients of these messages. */
  readonly recipientCount: number
  /** Messages that matched, but ended or moved before the verb reached them. */
  readonly missedCount: number
  /** Unreadable messages, each with a `warning`. */
  readonly failedCount: number
  /** The first messages, of a dry run with `sampleMax`. */
  readonly sample?: readonly ListedMessage[]
}

export interface VerbOptions {
  /** Stops the verb between messages, also while none matches. Finished effects stay. Orders for
   * messages that are being attempted are carried out later, when their attempts have ended. */
  readonly signal?: AbortSignal | undefined
  /** Called from time to time with the progress. */
  readonly onProgress?: ((soFar: VerbResult) => void) | undefined
  /** Only counts the messages that the verb would act on now. Default: false. */
  readonly dryRun?: boolean | undefined
  /** Messages that a dry run shows as its `sample`, 0 … 1000. Default 0. */
  readonly sampleMax?: number | undefined
}

export const verbOptionNames: OptionNames<VerbOptions> = {
  signal: true,
  onProgress: true,
  dryRun: true,
  sampleMax: true,
}

export class Tally {
  readonly #options: VerbOptions
  messageCount = 0
  recipientCount = 0
  missedCount = 0
  failedCount = 0

  /** @throws WaybillError OPTION_INVALID */
  constructor(options: VerbOptions) {
    const { signal, dryRun = false, sampleMax = 0 } = options
    signalOption(signal)
    if (typeof dryRun !== 'boolean')
      throw new WaybillError('OPTION_INVALID', 'a dry run is true or false', { option: 'dryRun' })
    integerOption('sampleMax', sampleMax, 0, 1000)
    this.#options = options
  }

  get isDryRun(): boolean {
    return this.#options.dryRun === true
  }

  get sampleMax(): number {
    return this.#options.sampleMax ?? 0
  }

  get signal(): AbortSignal | undefined {
    return this.#options.signal
  }

  get result(): VerbResult {
    const { messageCount, recipientCount, missedCount, failedCount } = this
    return { messageCount, recipientCount, missedCount, failedCount }
  }

  done(recipientCount: number): void {
    this.messageCount++
    this.recipientCount += recipientCount
  }

  /** Between messages. @throws WaybillError VERB_ABORTED */
  pause(): void {
    const { signal, onProgress } = this.#options
    if (onProgress !== undefined) callOptionListener('onProgress', () => onProgress(this.result))
    checkAborted(signal)
  }

  /** The result of the work, unless the verb is aborted before.
   * @throws WaybillError VERB_ABORTED by rejection */
  orAborted<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#options
    if (signal === undefined) return work
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(verbAborted(signal))
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
    })
  }
}
