/** A thin face over the parts: what an embedder holds in the hand. */
import type { Disk } from './disk/disk.js'
import { deleteMessages } from './admin/verbs/delete.js'
import { expire } from './admin/verbs/expire.js'
import { flush, type FlushOptions } from './admin/verbs/flush.js'
import { hold } from './admin/verbs/hold.js'
import { release } from './admin/verbs/release.js'
import { requeue } from './admin/verbs/requeue.js'
import { reroute, type NewRoute } from './admin/verbs/reroute.js'
import type { VerbOptions, VerbResult } from './admin/verbs/tally.js'
import { submitMany, type SubmitManyOptions, type SubmitResult } from './engine/accept/submit-many.js'
import type { Accepted } from './engine/accept/tickets.js'
import { drain, type DrainOptions, type DrainResult } from './engine/deliver/drain.js'
import type { Engine } from './engine/engine.js'
import type { Change } from './engine/life/change.js'
import type { Listener, QueueEvents } from './engine/life/events.js'
import { list, type ListedMessage, type ListOptions } from './admin/select/listing.js'
import { page, type ListPage, type PageOptions } from './admin/select/page.js'
import { storedMessage, type StoredMessage } from './admin/select/stored-message.js'
import type { QueueOptions } from './engine/life/options.js'
import { openEngine, type OpenedEngine } from './engine/open.js'
import type { Parts } from './engine/life/parts.js'
import {
  consume,
  consumeBatches,
  consumingLifeOf,
  forget,
  statusOf,
  type ConsumerStatus,
  type ConsumingLife,
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
import { isStoreUrl } from './store/is-store-url.js'

/** What `submit` refuses more of: as the options say. */
export interface QueueLimits {
  /** Bytes of a message. */
  readonly dataBytesMax: number
  /** Of one message. */
  readonly recipientCountMax: number
}

export class Queue {
  readonly #opened: OpenedEngine
  readonly #parts: Parts
  readonly #engine: Engine

  /** Made by `openQueue`. */
  constructor(opened: OpenedEngine) {
    this.#opened = opened
    this.#parts = opened.parts
    this.#engine = opened.engine
  }

  /** Accepts a message. When it settles, the message is durable: it survives the death of the process and of the machine.
   * @throws WaybillError by rejection: ADDRESS_INVALID, RECIPIENTS_EMPTY, RECIPIENTS_TOO_MANY, MESSAGE_TOO_LARGE, LINE_TOO_LONG,
   * NUL_IN_DATA, DATA_INCOMPLETE, SUBMIT_ABORTED, OPTION_INVALID: nothing was accepted; DISK_FULL: try again later;
   * DISK_FAILED, QUEUE_CRASHED: it may or may not be there after the next start */
  submit(submission: Submission): Promise<Accepted> {
    return this.#engine.accept.submit(submission)
  }

  /** Submits what an iterable gives, many at a time, at the rate of many producers. It goes no
   * further than its results are read. Results come in its order, one for each that was
   * taken from it; a message that is refused has its error there. What was submitted when the
   * caller stops reading may be in the queue.
   *
   *     for await (const { index, id, error } of queue.submitMany(campaign())) …
   *
   * @throws WaybillError while iterated: OPTION_INVALID of the options; SUBMIT_ABORTED, DISK_FULL,
   * DISK_FAILED, QUEUE_CRASHED, and what the iterable throws, behind the last result */
  submitMany(
    submissions: Iterable<Submission> | AsyncIterable<Submission>,
    options: SubmitManyOptions = {},
  ): AsyncGenerator<SubmitResult, void, undefined> {
    return submitMany((submission) => this.submit(submission), submissions, options)
  }

  /** Messages that match, as of now: active ones first, then lane by lane in the order in which they are due. Memory is bounded;
   * segments that it has yet to read are kept until it ends.
   * @throws WaybillError by rejection: OPTION_INVALID, VERB_ABORTED, DISK_FULL while a recovery waits for room, QUEUE_CRASHED; LOG_CORRUPT,
   * DISK_FAILED and LIST_INCOMPLETE for what cannot be read, when all else has been listed */
  list(selector: Selector = {}, options: ListOptions = {}): AsyncIterable<ListedMessage> {
    return list(this.#parts, this.#engine, selector, options)
  }

  /** The same in pages, each of bounded time and memory, for clients that come back for more.
   * @throws WaybillError by rejection, those of `list`, except for what a page tells as its `damage` */
  page(selector: Selector = {}, options: PageOptions = {}): Promise<ListPage> {
    return page(this.#parts, this.#engine, selector, options)
  }

  /** One message with its data; undefined when it is not in the queue. @throws as `list` */
  message(id: string, options: ListOptions = {}): Promise<StoredMessage | undefined> {
    return storedMessage(this.#parts, this.#engine, id, options)
  }

  /** No attempts until released. What was on hold before is not counted.
   * @throws WaybillError by rejection, those of VerbResult */
  hold(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return hold(this.#opened, selector, options)
  }

  /** What is on hold is due now, with its attempts and its age as they were.
   * @throws WaybillError by rejection, those of VerbResult */
  release(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return release(this.#opened, selector, options)
  }

  /** As if it had just been accepted: due now, no attempt made, no route set, its lifetime from now. Its id stays.
   * @throws WaybillError by rejection, those of VerbResult */
  requeue(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return requeue(this.#opened, selector, options)
  }

  /** Gone, and nobody is told.
   * @throws WaybillError by rejection, those of VerbResult */
  delete(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return deleteMessages(this.#opened, selector, options)
  }

  /** Ends as if it had grown too old: recipients that still wait are reported to the sender.
   * @throws WaybillError by rejection, those of VerbResult */
  expire(selector: Selector, options: VerbOptions = {}): Promise<VerbResult> {
    return expire(this.#opened, selector, options)
  }

  /** From now on goes where it is told, and is due now; on hold it stays there.
   * @throws WaybillError by rejection, those of VerbResult */
  reroute(selector: Selector, route: NewRoute, options: VerbOptions = {}): Promise<VerbResult> {
    return reroute(this.#opened, selector, route, options)
  }

  /** Attempts what is deferred now, so many messages a second, and revives the destinations concerned. It settles when the last one is
   * started; a life that delivers nothing leaves them due for the next.
   * @throws WaybillError by rejection, those of VerbResult */
  flush(selector: Selector, options: FlushOptions = {}): Promise<VerbResult> {
    return flush(this.#opened, selector, options)
  }

  /** What becomes of messages, durably and in order: each outcome at least once for a consumer that
   * has a name, through any crash, from the first call with the name on. One that is asked for the
   * next outcome is done with the one before. The iteration ends with its signal; it fails when
   * this life ends.
   *
   *     for await (const outcome of queue.outcomes({ consumer: 'webhooks' })) await post(outcome)
   *
   * @throws WaybillError by rejection: OPTION_INVALID, DISK_FULL, LOG_CORRUPT, QUEUE_CRASHED */
  outcomes(request: OutcomesRequest = {}): AsyncGenerator<QueueOutcome | OutcomeGap, void> {
    return consume(this.#parts.outcomes, this.#consumingLife, request)
  }

  /** The same in batches: a consumer is done with a batch when it asks for the next one. */
  outcomeBatches(
    request: OutcomeBatchesRequest = {},
  ): AsyncGenerator<readonly (QueueOutcome | OutcomeGap)[], void> {
    return consumeBatches(this.#parts.outcomes, this.#consumingLife, request)
  }

  get #consumingLife(): ConsumingLife {
    return consumingLifeOf(this.#parts.life, this.#engine)
  }

  /** Consumers with a name, as soon as that is durable: the number of the last outcome that each is
   * done with, and of the last one that there is. */
  consumers(): readonly ConsumerStatus[] {
    return statusOf(this.#parts.outcomes)
  }

  /** Outcomes are no longer kept for the consumer, durably. @returns false when there is none
   * @throws WaybillError by rejection: OPTION_INVALID while it is consuming,
   * DISK_FULL, QUEUE_CRASHED */
  forgetConsumer(name: string): Promise<boolean> {
    return forget(this.#parts.outcomes, this.#consumingLife, name)
  }

  /** Settles when nothing is left to do now: all mail accepted by then has had its attempts, and their outcomes are durable. What waits
   * for its next attempt, is on hold or cannot be read stays. New mail postpones it. In a life that is drained it settles when `drain` does.
   * @throws WaybillError QUEUE_CRASHED by rejection */
  idle(): Promise<void> {
    return this.#engine.dispatch.gate.isClosed ? this.drain().then(() => undefined) : this.#engine.idle()
  }

  /** Stops gently: no delivery begins any more in this life, and it settles when those under way have
   * ended, durably, or when the signal is aborted. Mail is accepted all the while, for the next life.
   * Nothing is written for it, and nothing undoes it: `crash()` follows.
   * @throws WaybillError by rejection: OPTION_INVALID, QUEUE_CRASHED */
  drain(options: DrainOptions = {}): Promise<DrainResult> {
    return drain(this.#parts, this.#engine.dispatch, options)
  }

  /** Of this moment, from memory: cheap enough for every second. */
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

  /** Destinations in use, dead or suspended: window, deliveries under way, entries that wait, until when, why. */
  destinations(): readonly DestinationSnapshot[] {
    return this.#engine.dispatch.destinations()
  }

  /** Revives a dead destination, or ends its suspension, behind this step.
   * @param name of the snapshot, @returns false when there is nothing to resume */
  resume(transport: string, name: string): boolean {
    return this.#engine.dispatch.resume(transport, name)
  }

  /** Other limits and further transports. @throws WaybillError OPTION_INVALID: all is as it was */
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

  /** The only way to stop, beside the end of the process: drops timers, descriptors and the lock, and writes nothing. Attempts under way
   * are cut off, and repeated by the next life: `drain` waits for them. */
  crash(): void {
    this.#parts.life.end(undefined)
  }

  /** Listeners run in the queue's turn. What they throw, or reject with, is a `warning` LISTENER_DEFECT and changes nothing. `once` and `on` of
   * node:events work: they fail when the queue crashes with an error.
   * @throws WaybillError OPTION_INVALID when there is no such event, here and below */
  on<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#parts.events.on(event, listener)
    return this
  }

  once<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#parts.events.once(event, listener)
    return this
  }

  off<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#parts.events.off(event, listener)
    return this
  }

  /** As EventEmitter calls them. */
  addListener<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    return this.on(event, listener)
  }

  removeListener<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    return this.off(event, listener)
  }

  /** `await using queue = …`: the same as `crash()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.crash()
  }
}

/** Opens the queue in a directory, which is made if it is not there, or in a store by its URL (src/MACHINES.md).
 * Settles as soon as mail can be submitted; deliveries go on when `recovered` tells. There is no close.
 * @throws WaybillError OPTION_INVALID, QUEUE_LOCKED, LOCK_UNAVAILABLE, NETWORK_FILE_SYSTEM, NOT_A_QUEUE, FORMAT_NEWER, LOG_CORRUPT,
 * LANES_TOO_MANY, DISK_FULL, DISK_FAILED; of a store STORE_UNREACHABLE, STORE_UNSAFE */
export async function openQueue(directory: string, options: QueueOptions): Promise<Queue> {
  // Where the disk is another one `sendmail` leaves no mail.
  const isFileSystem = options?.disk === undefined
  if (isFileSystem && isStoreUrl(directory))
    return new Queue(await (await import('./engine/open-in-store.js')).openInStore(directory, options))
  return new Queue(await openEngine(directory, options, isFileSystem ? endTaking : undefined))
}

const endTaking = (disk: Disk): Promise<void> =>
  removeDurable(disk, async (ids) =>
    (await import('./inspect/records/journal-ids.js')).idsInJournal(disk, ids),
  )
