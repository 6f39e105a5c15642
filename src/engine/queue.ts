/** A thin face over the parts: what an embedder holds in the hand. */
import type { Accepted } from './accept.js'
import type { Engine } from './engine.js'
import type { QueueEvents } from './events.js'
import { list, type ListedMessage, type Selector } from './listing.js'
import type { DestinationSnapshot } from '../scheduler/scheduler.js'
import type { Parts } from './parts.js'
import { statistics, type QueueStatistics } from './statistics.js'
import type { Submission } from './submission.js'

export interface QueueLimits {
  readonly dataBytesMax: number
  readonly recipientCountMax: number
}

type Listener<K extends keyof QueueEvents> = (...values: QueueEvents[K]) => void

export class Queue {
  readonly #parts: Parts
  readonly #engine: Engine

  /** Made by `openQueue`. */
  constructor(parts: Parts, engine: Engine) {
    this.#parts = parts
    this.#engine = engine
  }

  /** Accepts a message. When it settles, the message is durable: it survives the death of the process and of the machine.
   * @throws WaybillError by rejection: ADDRESS_INVALID, RECIPIENTS_EMPTY, RECIPIENTS_TOO_MANY, MESSAGE_TOO_LARGE, LINE_TOO_LONG,
   * NUL_IN_DATA, DATA_INCOMPLETE, SUBMIT_ABORTED, OPTION_INVALID: nothing was accepted; DISK_FULL: try again later;
   * DISK_FAILED, QUEUE_CRASHED: it may or may not be there after the next start */
  submit(submission: Submission): Promise<Accepted> {
    return this.#engine.accept.submit(submission)
  }

  /** Messages that match, as of now: active ones first, then lane by lane in the order in which they are due. Memory is bounded;
   * segments that it has yet to read are kept until it ends. */
  list(selector: Selector = {}): AsyncIterable<ListedMessage> {
    return list(this.#parts, this.#engine, selector)
  }

  stats(): QueueStatistics {
    return statistics(this.#parts, this.#engine)
  }

  /** Destinations in use, dead or suspended: window, deliveries under way, entries that wait, until when, why. */
  destinations(): readonly DestinationSnapshot[] {
    return this.#engine.dispatch.destinations()
  }

  /** Revives a dead destination, or ends its suspension, now.
   * @param name of the snapshot, @returns false when there is nothing to resume */
  resume(transport: string, name: string): boolean {
    return this.#engine.dispatch.resume(transport, name)
  }

  get limits(): QueueLimits {
    const { dataBytesMax, recipientCountMax } = this.#parts.options
    return { dataBytesMax, recipientCountMax }
  }

  /** The only way to stop, beside the end of the process: drops timers, descriptors and the lock, and writes nothing. */
  crash(): void {
    this.#parts.life.end(undefined)
  }

  on<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#parts.events.on(event, listener as never)
    return this
  }

  once<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#parts.events.once(event, listener as never)
    return this
  }

  off<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#parts.events.off(event, listener as never)
    return this
  }

  /** Used by the parts that open a queue. */
  emit<K extends keyof QueueEvents>(event: K, ...values: QueueEvents[K]): void {
    this.#parts.events.emit(event, ...(values as never))
  }

  /** `await using queue = …`: the same as `crash()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.crash()
  }
}
