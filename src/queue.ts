/** The public queue: a thin face over the parts. */
import { textOption } from './base/options.js'
import type { Disk } from './disk/disk.js'
import { deleteMessages } from './admin/verbs/delete.js'
import { expire } from './admin/verbs/expire.js'
import { flush, type FlushOptions } from './admin/verbs/flush.js'
import { hold } from './admin/verbs/hold.js'
import { release } from './admin/verbs/release.js'
import { requeue } from './admin/verbs/requeue.js'
import { reroute, type NewRoute } from './admin/verbs/reroute.js'
import { slow, type SlowOptions } from './admin/verbs/slow.js'
import { suspend, unsuspend, type SuspendOptions } from './admin/verbs/suspend.js'
import type { VerbOptions, VerbResult } from './admin/verbs/tally.js'
import { submitMany, type SubmitManyOptions, type SubmitResult } from './engine/accept/submit-many.js'
import type { Accepted } from './engine/accept/tickets.js'
import type { BackupReport, BackupRequest } from './backup/back-up.js'
import { pinFiles, type PinnedFiles } from './engine/checkpoint/pinned-files.js'
import { drain, type DrainOptions, type DrainResult } from './engine/deliver/drain.js'
import type { Suspension, SuspensionTarget } from './engine/life/suspensions.js'
import type { Engine } from './engine/engine.js'
import type { Change } from './engine/life/change.js'
import { accepting, traceAccept } from './engine/life/tracing.js'
import { Listenable } from './engine/life/listenable.js'
import { list, type ListedMessage, type ListOptions } from './admin/select/listing.js'
import { routesOf } from './admin/select/routes.js'
import { page, type ListPage, type PageOptions } from './admin/select/page.js'
import { storedMessage, type StoredMessage } from './admin/select/stored-message.js'
import type { QueueOptions, Route } from './engine/life/options.js'
import { openEngine, type OpenedQueue } from './engine/open.js'
import type { Parts } from './engine/life/parts.js'
import {
  acknowledge,
  consume,
  consumeBatches,
  consumingLifeOf,
  type ConsumingLife,
  forget,
  statusOf,
  type ConsumerStatus,
  type OutcomeBatchesRequest,
  type OutcomeGap,
  type OutcomesRequest,
} from './engine/outcomes/consume.js'
import type { QueueOutcome } from './record/outcome.js'
import type { Selector } from './admin/select/selector.js'
import { roomOf, type Room } from './engine/accept/space-watch.js'
import { statistics, type QueueStatistics } from './admin/select/statistics.js'
import type { Submission } from './engine/accept/submission.js'
import { removeDurable } from './relay/maildrop/remove-durable.js'
import type { DestinationSnapshot } from './scheduler/scheduler.js'
import type { History, HistoryParts } from './history/history.js'
import { historyConsumer } from './history/history-files.js'
import { checkOpenOptions, type OpenOptions } from './history/open-options.js'
import type { HistoryPage, HistoryPageOptions } from './history/history-reader.js'
import type { HistorySelector } from './history/history-entry.js'
import { isStoreUrl } from './store/is-store-url.js'

/** The bounds of `submit`, from the options. */
export interface QueueLimits {
  /** Bytes of a message. */
  readonly dataBytesMax: number
  /** Of one message. */
  readonly recipientCountMax: number
}

export class Queue extends Listenable {
  readonly #opened: OpenedQueue
  readonly #parts: Parts
  readonly #engine: Engine
  readonly #consuming: ConsumingLife

  /** Made by `openQueue`. */
  constructor(opened: OpenedQueue) {
    super(opened.parts.events)
    this.#opened = opened
    this.#parts = opened.parts
    this.#engine = opened.engine
    this.#consuming = consumingLifeOf(opened.parts.life, opened.engine)
  }

  /** By `openQueue`: nobody keeps outcomes for a history any more. */
  forgetHistory(): void {
    const isKept = this.consumers().some(({ name }) => name === historyConsumer)
    // Without room it is forgotten by a later life.
    if (isKept) this.forgetConsumer(historyConsumer).catch(() => undefined)
  }

  /** By `openQueue`, once. */
  keepHistory(historyOf: (parts: HistoryParts) => History): void {
    const { life, events, options, clock } = this.#parts
    const history = historyOf({
      disk: options.disk,
      clock,
      outcomeBatches: (request) => this.outcomeBatches(request),
      isOver: () => life.isOver,
      warn: (warning) => events.emit('warning', warning),
    })
    life.run(history.run())
  }

  /** Accepts a message. When it settles, the message is durable: it survives the death of the
   * process and of the machine.
   * @throws WaybillError by rejection: ADDRESS_INVALID, RECIPIENTS_EMPTY, RECIPIENTS_TOO_MANY,
   * MESSAGE_TOO_LARGE, LINE_TOO_LONG, NUL_IN_DATA, DATA_INCOMPLETE, SUBMIT_ABORTED, OPTION_INVALID:
   * nothing was accepted; DISK_FULL: try again later; DISK_FAILED, QUEUE_CRASHED: it may or may not
   * be there after the next start */
  submit(submission: Submission): Promise<Accepted> {
    if (accepting.hasSubscribers) return traceAccept(submission, () => this.#engine.accept.submit(submission))
    return this.#engine.accept.submit(submission)
  }

  /** Submits the messages of an iterable, many at a time, at the rate of many producers. It takes
   * messages only as fast as results are read. Results come in order, one for each message; a
   * refused message has its error there. When the caller stops reading, messages already taken may
   * be in the queue.
   * @throws WaybillError while iterated: OPTION_INVALID of the options; SUBMIT_ABORTED, DISK_FULL,
   * DISK_FAILED, QUEUE_CRASHED, and errors of the iterable, behind the last result */
  submitMany(
    submissions: Iterable<Submission> | AsyncIterable<Submission>,
    options: SubmitManyOptions = {},
  ): AsyncGenerator<SubmitResult, void, undefined> {
    return submitMany((submission) => this.submit(submission), submissions, options)
  }

  /** Messages that match now: active ones first, then lane by lane in the order in which they are
   * due. Memory is bounded; segments that it has yet to read are kept until it ends.
   * @throws WaybillError by rejection: OPTION_INVALID, VERB_ABORTED, DISK_FULL while a recovery
   * waits for room, QUEUE_CRASHED; LOG_CORRUPT, DISK_FAILED and LIST_INCOMPLETE for unreadable
   * messages, after all others */
  list(selector: Selector = {}, options: ListOptions = {}): AsyncIterable<ListedMessage> {
    return list(this.#parts, this.#engine, selector, options)
  }

  /** The same in pages, each of bounded time and memory, for clients that come back for more.
   * @throws WaybillError by rejection, those of `list`, except for the `damage` of a page */
  page(selector: Selector = {}, options: PageOptions = {}): Promise<ListPage> {
    return page(this.#parts, this.#engine, selector, options)
  }

  /** One message with its data; undefined when it is not in the queue. @throws as `list` */
  message(id: string, options: Pick<ListOptions, 'signal'> = {}): Promise<StoredMessage | undefined> {
    return storedMessage(this.#parts, this.#engine, id, options)
  }

  /** Where mail to each of these would go now; undefined: nobody knows. @throws OPTION_INVALID */
  routesOf(recipients: readonly string[]): (Route | undefined)[] {
    return routesOf(this.#parts.options, recipients)
  }

  /** Settles when all that has happened by now stands in the queue's files, durably: who reads
   * them from then on sees it. @throws WaybillError QUEUE_CRASHED by rejection */
  written(): Promise<void> {
    this.#parts.life.check()
    return this.#engine.allDurable()
  }

  /** No attempts until released. Messages on hold before are not counted.
   * @throws WaybillError by rejection, those of VerbResult */
  hold(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return hold(this.#opened, selector, options)
  }

  /** Messages on hold are due now, with unchanged attempts and age.
   * @throws WaybillError by rejection, those of VerbResult */
  release(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return release(this.#opened, selector, options)
  }

  /** As if it had just been accepted: due now, no attempt made, no route set, its lifetime from
   * now. Its id stays.
   * @throws WaybillError by rejection, those of VerbResult */
  requeue(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return requeue(this.#opened, selector, options)
  }

  /** Deletes messages without reports.
   * @throws WaybillError by rejection, those of VerbResult */
  delete(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return deleteMessages(this.#opened, selector, options)
  }

  /** Ends messages as if they were too old: waiting recipients are reported to the sender.
   * @throws WaybillError by rejection, those of VerbResult */
  expire(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return expire(this.#opened, selector, options)
  }

  /** Gives messages a route; they are due now, or stay on hold.
   * @throws WaybillError by rejection, those of VerbResult */
  reroute(selector: Selector, route: NewRoute, options: VerbOptions = {}): Promise<VerbResult> {
    return reroute(this.#opened, selector, route, options)
  }

  /** Attempts deferred messages now, at a limited rate, and revives their destinations. It settles
   * when the last one is started; a life that delivers nothing leaves them due for the next.
   * @throws WaybillError by rejection, those of VerbResult */
  flush(selector: Selector, options: FlushOptions = {}): Promise<VerbResult> {
    return flush(this.#opened, selector, options)
  }

  /** The outcomes of messages, durably and in order. A named consumer gets each outcome at least
   * once, through any crash, from its first call on. Asking for the next outcome acknowledges the
   * one before. The iteration ends with its signal; it fails when this life ends.
   *
   *     for await (const outcome of queue.outcomes({ consumer: 'webhooks' })) await post(outcome)
   *
   * @throws WaybillError by rejection: OPTION_INVALID, DISK_FULL, LOG_CORRUPT, QUEUE_CRASHED */
  outcomes(request: OutcomesRequest = {}): AsyncGenerator<QueueOutcome | OutcomeGap, void> {
    return consume(this.#parts.outcomes, this.#consuming, request)
  }

  /** The same in batches: a consumer is done with a batch when it asks for the next one. */
  outcomeBatches(
    request: OutcomeBatchesRequest = {},
  ): AsyncGenerator<readonly (QueueOutcome | OutcomeGap)[], void> {
    return consumeBatches(this.#parts.outcomes, this.#consuming, request)
  }

  /** Looks up messages in the history, ended ones too, oldest entry first, as far as it is kept
   * (`history` of `openQueue`, history/README.md).
   * @throws WaybillError by rejection: OPTION_INVALID, VERB_ABORTED, DISK_FAILED */
  async history(selector: HistorySelector, options: HistoryPageOptions = {}): Promise<HistoryPage> {
    const { readHistory } = await import('./history/history-reader.js')
    return readHistory(this.#parts.options.disk, selector, options)
  }

  /** Copies the queue while it works: all mail settled before the call and not ended
   * (backup/README.md). @throws WaybillError by rejection: OPTION_INVALID, VERB_ABORTED, DISK_FULL,
   * DISK_FAILED, LOG_CORRUPT, QUEUE_CRASHED */
  async backup(request: BackupRequest): Promise<BackupReport> {
    return (await import('./backup/back-up.js')).backUpOwn(this.#opened, request)
  }

  /** Keeps all files that a start needs, for a copy, until the answer is released or lost.
   * @throws WaybillError by rejection: QUEUE_CRASHED, DISK_FULL */
  pinFiles(): Promise<PinnedFiles> {
    return pinFiles(this.#parts, this.#engine)
  }

  /** Consumers whose name is durable, with the numbers of the last outcome acknowledged and the
   * last one there is. */
  consumers(): readonly ConsumerStatus[] {
    return statusOf(this.#parts.outcomes)
  }

  /** A consumer that `acknowledges` is done with outcomes up to this number. @returns false when
   * there is none @throws WaybillError by rejection: OPTION_INVALID, QUEUE_CRASHED */
  acknowledge(consumer: string, number: number): Promise<boolean> {
    return acknowledge(this.#parts.outcomes, this.#consuming, consumer, number)
  }

  /** Outcomes are no longer kept for the consumer, durably. @returns false when there is none
   * @throws WaybillError by rejection: OPTION_INVALID while it is consuming,
   * DISK_FULL, QUEUE_CRASHED */
  forgetConsumer(name: string): Promise<boolean> {
    return forget(this.#parts.outcomes, this.#consuming, name)
  }

  /** Settles when the queue is idle: all mail accepted by then has had its attempts, and their
   * outcomes are durable. Mail that waits for its time or a limit, is held or unreadable, stays.
   * New mail postpones it. In a life that is drained it settles when `drain` does.
   * @throws WaybillError QUEUE_CRASHED by rejection */
  idle(): Promise<void> {
    return this.#engine.dispatch.gate.isClosed ? this.drain().then(() => undefined) : this.#engine.idle()
  }

  /** Stops gently: no delivery begins any more in this life. It settles when those under way have
   * ended, durably, or when the signal is aborted. Mail is still accepted, for the next life.
   * Nothing is written, and nothing undoes it: `crash()` follows.
   * @throws WaybillError by rejection: OPTION_INVALID, QUEUE_CRASHED */
  drain(options: DrainOptions = {}): Promise<DrainResult> {
    return drain(this.#parts.life, this.#engine.dispatch, () => this.#engine.allDurable(), options)
  }

  /** A snapshot from memory: cheap enough for every second. */
  stats(): QueueStatistics {
    return statistics(this.#parts, this.#engine)
  }

  /** Asks the disk, now.
   * @throws WaybillError by rejection: DISK_FAILED, QUEUE_CRASHED */
  async room(): Promise<Room> {
    const { life, options } = this.#parts
    life.check()
    return roomOf(await life.orEnd(options.disk.space()), options.freeBytesMin)
  }

  /** This life is over: by `crash()`, or because the device or an invariant failed. */
  get isCrashed(): boolean {
    return this.#parts.life.isOver
  }

  /** Destinations in use, dead, slowed or suspended: window, entries, until when, why. */
  destinations(): readonly DestinationSnapshot[] {
    return this.#engine.dispatch.destinations()
  }

  /** Revives a dead destination, or ends its wait for its rate, behind this step, and what `slow`
   * has ordered. What an operator has suspended stays so until `unsuspend`.
   * @param name of the snapshot @returns was there any? @throws WaybillError OPTION_INVALID */
  resume(transport: string, name: string): boolean {
    return this.#engine.dispatch.resume(textOption('transport', transport), textOption('name', name))
  }

  /** At most so many deliveries to a nexthop begin in a time, beside `limits`: for `forMs`, until
   * `resume`, in this life. @throws WaybillError OPTION_INVALID, QUEUE_CRASHED */
  slow(options: SlowOptions): void {
    slow(this.#opened, options)
  }

  /** No delivery to a nexthop, by a transport, or both begins from then on, until `unsuspend` or
   * for `forMs`, through any crash. Those under way go on. Mail is accepted and kept, deferred
   * without an attempt; it grows old and expires as always.
   * @throws WaybillError by rejection: OPTION_INVALID, DISK_FULL, QUEUE_CRASHED */
  suspend(target: SuspensionTarget, options: SuspendOptions = {}): Promise<void> {
    return suspend(this.#opened, target, options)
  }

  /** Ends the suspension of just this target, durably. Mail that was put off is attempted at its
   * next time; `flush` attempts it now. @returns false when there is none
   * @throws WaybillError as `suspend` */
  unsuspend(target: SuspensionTarget): Promise<boolean> {
    return unsuspend(this.#opened, target)
  }

  /** What is suspended. */
  suspensions(): readonly Suspension[] {
    return [...this.#parts.suspensions.all()]
  }

  /** Other limits, another policy, and further transports.
   * @throws WaybillError OPTION_INVALID: all is as it was */
  reconfigure(change: Change): void {
    this.#parts.life.check()
    this.#engine.dispatch.reconfigure(change)
  }

  /** What keeps other processes out of the directory, for a log; undefined on a disk that does not
   * say. */
  get lockKind(): string | undefined {
    return this.#parts.ownership.lockKind
  }

  get limits(): QueueLimits {
    const { dataBytesMax, recipientCountMax } = this.#parts.options
    return { dataBytesMax, recipientCountMax }
  }

  /** The only way to stop, besides the end of the process: drops timers, descriptors and the lock,
   * and writes nothing. Attempts under way are cut off, and repeated by the next life; `drain`
   * waits for them. */
  crash(): void {
    this.#parts.life.end(undefined)
  }

  /** `await using queue = …`: the same as `crash()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.crash()
  }
}

export type { OpenOptions }

/** Opens the queue in a directory, which is made if it is not there, or in a store by its URL
 * (src/MACHINES.md).
 * Settles as soon as mail can be submitted; deliveries go on when `recovered` tells. There is no
 * close.
 * @throws WaybillError OPTION_INVALID, QUEUE_LOCKED, LOCK_UNAVAILABLE, NETWORK_FILE_SYSTEM,
 * NOT_A_QUEUE, FORMAT_NEWER, LOG_CORRUPT, LANES_TOO_MANY, DISK_FULL, DISK_FAILED; of a store
 * STORE_UNREACHABLE, STORE_UNSAFE */
export async function openQueue(directory: string, given: OpenOptions): Promise<Queue> {
  checkOpenOptions(given)
  const { history, ...options } = given
  if (history === undefined) {
    const queue = await openedQueue(directory, options)
    queue.forgetHistory()
    return queue
  }
  const { History, historyBounds } = await import('./history/history.js')
  const bounds = historyBounds(history)
  const queue = await openedQueue(directory, options)
  queue.keepHistory((parts) => new History(parts, bounds))
  return queue
}

async function openedQueue(directory: string, options: QueueOptions): Promise<Queue> {
  // On another kind of disk `sendmail` leaves no mail.
  const isFileSystem = options?.disk === undefined
  if (isFileSystem && isStoreUrl(directory)) {
    const { openInStore } = await import('./engine/open-in-store.js')
    return new Queue(await openInStore(directory, options))
  }
  const opened = await openEngine(directory, options, isFileSystem ? endTaking : undefined)
  return new Queue(isFileSystem ? { ...opened, directory } : opened)
}

const endTaking = (disk: Disk): Promise<void> =>
  removeDurable(disk, async (ids) =>
    (await import('./inspect/records/journal-ids.js')).idsInJournal(disk, ids),
  )
