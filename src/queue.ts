/** The public queue: a thin face over the parts. */
import { textOption } from './base/options.js'
import type { Disk } from './disk/disk.js'
import { absolutePath } from './disk/node-disk.js'
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
import { statistics, type QueueStatistics, type StatsOptions } from './admin/select/statistics.js'
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
  /** Recipients of one message. */
  readonly recipientCountMax: number
}

export class Queue extends Listenable {
  readonly #opened: OpenedQueue
  readonly #parts: Parts
  readonly #engine: Engine
  readonly #consuming: ConsumingLife
  #keepsHistory = false

  /** Made by `openQueue`. */
  constructor(opened: OpenedQueue) {
    super(opened.parts.events)
    this.#opened = opened
    this.#parts = opened.parts
    this.#engine = opened.engine
    this.#consuming = consumingLifeOf(opened.parts.life, opened.engine)
  }

  /** `openQueue` calls it where no history is wanted. Without room a later life forgets it. */
  forgetHistory(): void {
    this.forgetConsumer(historyConsumer).catch(() => undefined)
  }

  /** `openQueue` calls it once, where a history is wanted. */
  keepHistory(historyOf: (parts: HistoryParts) => History): void {
    this.#keepsHistory = true
    const { life, events, options, clock } = this.#parts
    const history = historyOf({
      disk: options.disk,
      clock,
      queue: this,
      isOver: () => life.isOver,
      warn: (warning) => events.emit('warning', warning),
    })
    life.run(history.run())
  }

  /** Accepts a message. When it settles, the message is durable: it survives the death of the
   * process and of the machine.
   * @throws WaybillError by rejection: ADDRESS_INVALID, RECIPIENTS_EMPTY, RECIPIENTS_TOO_MANY,
   * MESSAGE_TOO_LARGE, LINE_TOO_LONG, NUL_IN_DATA, DATA_INCOMPLETE, SUBMIT_ABORTED,
   * OPTION_INVALID: nothing was accepted; DISK_FULL: try again later; DISK_FAILED,
   * QUEUE_CRASHED: the next start may or may not find the message */
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
   * due. Memory is bounded. Segments that the listing has yet to read are kept until it ends.
   * @throws WaybillError by rejection: OPTION_INVALID, VERB_ABORTED, DISK_FULL while a recovery
   * waits for room, QUEUE_CRASHED; LOG_CORRUPT, DISK_FAILED and LIST_INCOMPLETE for unreadable
   * messages, after all others */
  list(selector: Selector = {}, options: ListOptions = {}): AsyncIterable<ListedMessage> {
    return list(this.#parts, this.#engine, selector, options)
  }

  /** A listing in pages, each of bounded time and memory, for clients that come back for more.
   * @throws WaybillError by rejection, those of `list`; damage stands in the page, as `damage` */
  page(selector: Selector = {}, options: PageOptions = {}): Promise<ListPage> {
    return page(this.#parts, this.#engine, selector, options)
  }

  /** One message with its data; undefined when it is not in the queue. @throws as `list` */
  message(id: string, options: Pick<ListOptions, 'signal'> = {}): Promise<StoredMessage | undefined> {
    return storedMessage(this.#parts, this.#engine, id, options)
  }

  /** The route of each recipient's mail, if it went now; undefined where `route` gives none.
   * @throws OPTION_INVALID */
  routesOf(recipients: readonly string[]): (Route | undefined)[] {
    return routesOf(this.#parts.options, recipients)
  }

  /** Settles when everything that has happened so far is durable in the queue's files, where a
   * reader of the files finds it. @throws WaybillError QUEUE_CRASHED by rejection */
  written(): Promise<void> {
    this.#parts.life.check()
    return this.#engine.allDurable()
  }

  /** Puts messages on hold until `release`. Those that are on hold already are not counted.
   * @throws WaybillError by rejection, those of VerbResult */
  hold(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return hold(this.#opened, selector, options)
  }

  /** Makes messages on hold due now, with unchanged attempts and age.
   * @throws WaybillError by rejection, those of VerbResult */
  release(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return release(this.#opened, selector, options)
  }

  /** Treats messages as if they had just been accepted: due now, without attempts and without a
   * set route, with a lifetime that begins now. Ids stay.
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

  /** Gives messages a route. They are due now; those on hold stay there.
   * @throws WaybillError by rejection, those of VerbResult */
  reroute(selector: Selector, route: NewRoute, options: VerbOptions = {}): Promise<VerbResult> {
    return reroute(this.#opened, selector, route, options)
  }

  /** Attempts deferred messages now, at a limited rate, and revives their destinations. It settles
   * when the last message is started. With `deliver: false` they are due in the next life.
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

  /** `outcomes` in batches: a consumer is done with a batch when it asks for the next one. */
  outcomeBatches(
    request: OutcomeBatchesRequest = {},
  ): AsyncGenerator<readonly (QueueOutcome | OutcomeGap)[], void> {
    return consumeBatches(this.#parts.outcomes, this.#consuming, request)
  }

  /** Looks up messages in the history, ended ones too, oldest entry first (history/README.md).
   * @throws WaybillError by rejection: OPTION_INVALID, VERB_ABORTED, DISK_FAILED */
  async history(selector: HistorySelector, options: HistoryPageOptions = {}): Promise<HistoryPage> {
    const { readHistory } = await import('./history/history-reader.js')
    return { ...(await readHistory(this.#parts.options.disk, selector, options)), isKept: this.#keepsHistory }
  }

  /** Copies the queue while it works: all mail that was settled before the call and has not ended
   * (backup/README.md). @throws WaybillError by rejection: OPTION_INVALID, VERB_ABORTED, DISK_FULL,
   * DISK_FAILED, LOG_CORRUPT, QUEUE_CRASHED */
  async backup(request: BackupRequest): Promise<BackupReport> {
    return (await import('./backup/back-up.js')).backUpOwn(this.#opened, request)
  }

  /** Keeps all files that a start needs, for a copy, until `release` of the answer, or a loss.
   * @throws WaybillError by rejection: QUEUE_CRASHED, DISK_FULL */
  pinFiles(): Promise<PinnedFiles> {
    return pinFiles(this.#parts, this.#engine)
  }

  /** Consumers whose name is durable, each with the numbers of the last outcome that it has
   * acknowledged and of the last one recorded. */
  consumers(): readonly ConsumerStatus[] {
    return statusOf(this.#parts.outcomes)
  }

  /** Acknowledges outcomes up to this number, for a request with `acknowledges`. @returns false
   * without such a consumer @throws WaybillError by rejection: OPTION_INVALID, QUEUE_CRASHED */
  acknowledge(consumer: string, number: number): Promise<boolean> {
    return acknowledge(this.#parts.outcomes, this.#consuming, consumer, number)
  }

  /** Removes a consumer, durably: outcomes are kept for it no longer. @returns false when there is
   * no such consumer @throws WaybillError by rejection: OPTION_INVALID while it is consuming,
   * DISK_FULL, QUEUE_CRASHED */
  forgetConsumer(name: string): Promise<boolean> {
    return forget(this.#parts.outcomes, this.#consuming, name)
  }

  /** Settles when the queue is idle: all mail accepted by then has had its attempts, and their
   * outcomes are durable. Mail on hold, unreadable mail, and mail that waits for its time or a
   * limit does not count. New mail postpones the end. After `drain` it settles when `drain` does.
   * @throws WaybillError QUEUE_CRASHED by rejection */
  idle(): Promise<void> {
    return this.#engine.dispatch.gate.isClosed ? this.drain().then(() => undefined) : this.#engine.idle()
  }

  /** Stops gently: no delivery begins any more in this life. It settles when the deliveries under
   * way have ended, durably, or when the signal is aborted. Mail is still accepted, for the next
   * life. Nothing undoes it: `crash()` follows.
   * @throws WaybillError by rejection: OPTION_INVALID, QUEUE_CRASHED */
  drain(options: DrainOptions = {}): Promise<DrainResult> {
    return drain(this.#parts.life, this.#engine.dispatch, () => this.#engine.allDurable(), options)
  }

  /** A snapshot from memory: every second with a choice of destinations. @throws OPTION_INVALID */
  stats(options: StatsOptions = {}): QueueStatistics {
    return statistics(this.#parts, this.#engine, options)
  }

  /** The disk's free room now. @throws WaybillError by rejection: DISK_FAILED, QUEUE_CRASHED */
  async room(): Promise<Room> {
    const { life, options } = this.#parts
    life.check()
    return roomOf(await life.orEnd(options.disk.space()), options.freeBytesMin)
  }

  /** Is this life over, by `crash()` or because the device or an invariant failed? */
  get isCrashed(): boolean {
    return this.#parts.life.isOver
  }

  /** Destinations that are in use, dead, slowed or suspended. */
  destinations(): readonly DestinationSnapshot[] {
    return this.#engine.dispatch.destinations()
  }

  /** Revives a dead destination, right after the current step. It also ends the destination's wait
   * for its rate delay, and the limit that `slow` has set. A suspension lasts until `unsuspend`.
   * @param name as in `destinations()` @returns was there anything to end?
   * @throws WaybillError OPTION_INVALID */
  resume(transport: string, name: string): boolean {
    return this.#engine.dispatch.resume(textOption('transport', transport), textOption('name', name))
  }

  /** Limits how many deliveries to a nexthop begin in a time, beside `limits`: for `forMs`, until
   * `resume`, or to the end of this life. @throws WaybillError OPTION_INVALID, QUEUE_CRASHED */
  slow(options: SlowOptions): void {
    slow(this.#opened, options)
  }

  /** Suspends deliveries to a nexthop, by a transport, or both: none begins until `unsuspend`, or
   * for `forMs`, through any crash. Those under way go on. Mail is accepted and kept, deferred
   * without an attempt; it grows old and expires as always.
   * @throws WaybillError by rejection: OPTION_INVALID, DISK_FULL, QUEUE_CRASHED */
  suspend(target: SuspensionTarget, options: SuspendOptions = {}): Promise<void> {
    return suspend(this.#opened, target, options)
  }

  /** Ends the suspension of exactly this target, durably. Deferred mail is attempted at its next
   * time; `flush` attempts it now. @returns false when the target was not suspended
   * @throws WaybillError as `suspend` */
  unsuspend(target: SuspensionTarget): Promise<boolean> {
    return unsuspend(this.#opened, target)
  }

  /** The suspensions in force. */
  suspensions(): readonly Suspension[] {
    return [...this.#parts.suspensions.all()]
  }

  /** Replaces limits, shaping, scheduler parameters or the retry policy, and adds transports.
   * @throws WaybillError OPTION_INVALID: nothing has changed */
  reconfigure(change: Change): void {
    this.#parts.life.check()
    this.#engine.dispatch.reconfigure(change)
  }

  /** The lock that keeps other processes out, for a log; undefined where the disk does not say. */
  get lockKind(): string | undefined {
    return this.#parts.ownership.lockKind
  }

  /** The bounds of `submit`. */
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

/** Opens the queue in a directory, which is made where it is missing, or in a store by its URL
 * (src/MACHINES.md). It settles when mail can be submitted; deliveries begin with `recovered`.
 * @throws WaybillError OPTION_INVALID, QUEUE_LOCKED, LOCK_UNAVAILABLE, NETWORK_FILE_SYSTEM,
 * NOT_A_QUEUE, FORMAT_NEWER, LOG_CORRUPT, LANES_TOO_MANY, DISK_FULL, DISK_FAILED; of a store
 * STORE_UNREACHABLE, STORE_UNSAFE */
export async function openQueue(directory: string, given: OpenOptions): Promise<Queue> {
  checkOpenOptions(given)
  const { history, ...options } = given
  const place = isStoreUrl(directory) ? directory : absolutePath(directory)
  if (history === undefined) {
    const queue = await openedQueue(place, options)
    queue.forgetHistory()
    return queue
  }
  const { History, historyBounds } = await import('./history/history.js')
  const bounds = historyBounds(history)
  const queue = await openedQueue(place, options)
  queue.keepHistory((parts) => new History(parts, bounds))
  return queue
}

async function openedQueue(directory: string, options: QueueOptions): Promise<Queue> {
  // `sendmail` leaves mail only in a directory.
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
