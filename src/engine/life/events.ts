/** The events of a queue. They are emitted after the record was appended, and say nothing about
 * durability, except `accepted`. Listeners run inside the engine's turn; what they throw changes
 * nothing. */
import { EventEmitter } from 'node:events'
import { callListener, listenerDefectText } from '../../delivery/call-listener.js'
import { warnOfMistake } from './tell-listener.js'
import type { MessageId } from '../../base/message-id.js'
import type { OptionNames } from '../../base/options.js'
import type { OutcomeTls } from '../../delivery/transport.js'
import { WaybillError, type WarningCode } from '../../errors.js'
import type { FeedbackEvent } from '../../scheduler/scheduler.js'

export interface RecipientEvent {
  readonly id: MessageId
  readonly sender: string
  readonly recipients: readonly string[]
  /** It and `nexthop` are '' where nobody was asked: without a route, or while a
   * destination is dead. */
  readonly transport: string
  readonly nexthop: string
  /** RFC 3463; '' for a delivery without one. */
  readonly status: string
  readonly text: string
  /** The server whose reply `text` ends with: `mx.example.net[192.0.2.1]:25`. Absent where a
   * transport names none. */
  readonly remote?: string
  /** Of a delivery over an encrypted session. */
  readonly tls?: OutcomeTls
  /** 1 for the first. */
  readonly attempt: number
  /** Since the queue accepted the message. */
  readonly delayMs: number
  /** Length of the message's data; 0 for a reference. */
  readonly dataBytes: number
  /** Of its submission; absent where there were none, here and below. */
  readonly tags?: readonly string[]
}

export interface EndedEvent {
  readonly id: MessageId
  readonly sender: string
  /** Of recipients that are no longer attempted. */
  readonly recipientCount: number
  readonly tags?: readonly string[]
}

export interface QueueEvents {
  /** Durable: its `submit` settles in this turn. */
  accepted: [
    {
      readonly id: MessageId
      readonly sender: string
      readonly recipientCount: number
      readonly dataBytes: number
      readonly tags?: readonly string[]
    },
  ]
  /** These recipients have it, or the next server has. */
  delivered: [RecipientEvent]
  /** They are tried again, or given up because the message is too old, which `expired` tells, or
   * `failed` where others of it are not. */
  deferred: [RecipientEvent]
  /** For good: their mail is returned. So are recipients that the policy gives up by destination,
   * with the status 5.4.7. */
  failed: [RecipientEvent]
  /** Recipients were given up, because the message is too old or an operator said so; `reported`
   * tells of their report. */
  expired: [EndedEvent]
  /** An operator deleted the rest of it, without a report. `finished` follows. */
  deleted: [EndedEvent]
  /** The message went to a lane, to be tried again `delayMs` from now: after a deferral, or because
   * an operator moved it. */
  requeued: [{ readonly id: MessageId; readonly lane: number; readonly delayMs: number }]
  /** A report was made for the sender of `id`. It is a separate message with outcomes and an end,
   * and never `accepted`. */
  reported: [
    {
      readonly id: MessageId
      readonly report: MessageId
      readonly action: 'failed' | 'delayed' | 'delivered'
    },
  ]
  /** Nothing is left to do. */
  finished: [{ readonly id: MessageId; readonly tags?: readonly string[] }]
  /** Recovery has ended; runners go. */
  recovered: [{ readonly messageCount: number; readonly cutBytes: number; readonly durationMs: number }]
  /** A step of a destination's concurrency, when the scheduler's
   * `destinationConcurrencyFeedbackDebug` is on. */
  feedback: [FeedbackEvent]
  /** A destination is dead: its site could not be reached, or was in trouble. Nothing is attempted
   * there until `untilMs`, milliseconds since 1970; what waits for it is deferred, by the reason
   * that is given. */
  dead: [
    {
      readonly transport: string
      readonly nexthop: string
      /** Of `destinations()`. */
      readonly name: string
      readonly untilMs: number
      readonly status: string
      readonly text: string
    },
  ]
  /** A site has asked for patience (`shaping`), or an operator has slowed it, with no status: no
   * more deliveries than these begin there until then, in milliseconds since 1970. */
  slowed: [
    {
      readonly transport: string
      readonly nexthop: string
      readonly count: number
      readonly perMs: number
      readonly untilMs: number
      readonly status: string
      readonly text: string
    },
  ]
  /** An operator has suspended deliveries, durably: none begins there until `untilAt`, milliseconds
   * since 1970. A transport or a nexthop that is '' means every one, here and below. */
  suspended: [{ readonly transport: string; readonly nexthop: string; readonly untilAt: number }]
  /** A suspension has ended. */
  resumed: [{ readonly transport: string; readonly nexthop: string; readonly cause: 'operator' | 'time' }]
  /** Something that an operator should see; mail is safe. `code` is an ErrorCode, or
   * TRANSPORT_DEFECT (a mistake in a transport's program), ROUTE_DEFECT (in `route`, or a name that
   * no transport has; each once in a life), LISTENER_DEFECT (in a listener),
   * SETTLE_DEFECT (in ours, at one message), MESSAGE_HELD (put on hold: `fruitlessRecoveriesMax`),
   * FILE_SYSTEM (no place for a queue), DELIVERIES_HELD (the disk hangs: `proofMs`) or
   * DELIVERIES_RESUMED (it has answered). */
  warning: [{ readonly code: WarningCode; readonly message: string; readonly id?: MessageId }]
  /** The end of this life: by `crash()` without an error, or because the device or an invariant
   * failed. The last event. */
  crashed: [{ readonly error: unknown }]
}

const names: OptionNames<QueueEvents> = {
  accepted: true,
  delivered: true,
  deferred: true,
  failed: true,
  expired: true,
  deleted: true,
  requeued: true,
  reported: true,
  finished: true,
  recovered: true,
  feedback: true,
  dead: true,
  slowed: true,
  suspended: true,
  resumed: true,
  warning: true,
  crashed: true,
}

/** `error` is what `once` and `on` of node:events listen to beside the event that they
 * are asked for. */
const nodeError = 'error'

/** @throws WaybillError OPTION_INVALID */
function checkListening(event: string, listener: unknown): void {
  if (typeof listener !== 'function')
    throw new WaybillError('OPTION_INVALID', 'a listener is a function', { option: event })
  if (event === nodeError || Object.hasOwn(names, event)) return
  throw new WaybillError('OPTION_INVALID', `no such event; there are ${Object.keys(names).join(', ')}`, {
    option: event,
  })
}

export type Listener<K extends keyof QueueEvents> = (...values: QueueEvents[K]) => unknown

/** Invariant: what a listener throws, or rejects with later, changes nothing in the queue. Events
 * come before records are durable, so a life that ended for it would deliver again what it was just
 * told of:
 *   1. a message is delivered, and a listener throws
 *   2. the process ends before the record is durable, and is started again
 *   3. the message is delivered again, and those beside it, at each start */
export class QueueEmitter {
  readonly #emitter = new EventEmitter()
  #isOver = false

  emit<K extends keyof QueueEvents>(event: K, ...values: QueueEvents[K]): void {
    // A queue that is crashed in an event is so in the middle of a step, and what the next one
    // would be written to is closed.
    if (this.#isOver) return
    this.#isOver = event === 'crashed'
    for (const listener of this.#emitter.rawListeners(event)) this.#tell(event, listener, values)
    if (event !== 'crashed') return
    const [{ error }] = values as QueueEvents['crashed']
    if (error === undefined) return
    for (const listener of this.#emitter.rawListeners(nodeError)) this.#tell(event, listener, [error])
  }

  #tell(event: keyof QueueEvents, listener: Function, values: readonly unknown[]): void {
    callListener(
      () => Reflect.apply(listener, this.#emitter, values),
      (error) => this.#defect(event, error),
    )
  }

  #defect(event: keyof QueueEvents, error: unknown): void {
    const message = listenerDefectText(event, error)
    const mistake = { code: 'LISTENER_DEFECT', message } as const
    if (event === 'warning' || event === 'crashed') warnOfMistake(mistake)
    else this.tellMistake(mistake)
  }

  /** A mistake of the program around the queue. Where nobody hears it as an event, Node says it on
   * standard error:
   *   1. a transport forgets to return its answer
   *   2. each attempt delivers, and is tried again
   *   3. mail goes out for days, and nothing says why */
  tellMistake(warning: QueueEvents['warning'][0]): void {
    const isHeard = this.listenerCount('warning') > 0 && !this.#isOver
    if (isHeard) this.emit('warning', warning)
    else warnOfMistake(warning)
  }

  listenerCount(event: keyof QueueEvents): number {
    return this.#emitter.listenerCount(event)
  }

  on<K extends keyof QueueEvents>(event: K, listener: Listener<K>): void {
    checkListening(event, listener)
    this.#emitter.on(event, listener as never)
  }

  once<K extends keyof QueueEvents>(event: K, listener: Listener<K>): void {
    checkListening(event, listener)
    this.#emitter.once(event, listener as never)
  }

  off<K extends keyof QueueEvents>(event: K, listener: Listener<K>): void {
    checkListening(event, listener)
    this.#emitter.off(event, listener as never)
  }
}
