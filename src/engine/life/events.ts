/** The events of a queue. They are emitted after the record was appended, and say nothing about
 * durability, except `accepted`. Listeners run inside the engine's turn; what they throw changes
 * nothing. */
import { EventEmitter } from 'node:events'
import { callListener, listenerDefectText } from '../../delivery/call-listener.js'
import { warnOfMistake } from './option-listener.js'
import type { MessageId } from '../../base/message-id.js'
import type { OptionNames } from '../../base/options.js'
import type { OutcomeTls } from '../../delivery/transport.js'
import { WaybillError, type WarningCode } from '../../errors.js'
import type { FeedbackEvent } from '../../scheduler/scheduler.js'
import { OwnContext } from './own-context.js'

export interface RecipientEvent {
  readonly id: MessageId
  readonly sender: string
  readonly recipients: readonly string[]
  /** '' where no server was asked: without a route, or while a destination is dead. The same
   * holds for `nexthop`. */
  readonly transport: string
  readonly nexthop: string
  /** RFC 3463; '' for a delivery without one. */
  readonly status: string
  readonly text: string
  /** The server whose reply `text` ends with: `mx.example.net[192.0.2.1]:25`. Absent where a
   * transport names none. */
  readonly remote?: string
  /** The TLS of the session; absent where none was encrypted. */
  readonly tls?: OutcomeTls
  /** Number of the attempt, from 1. */
  readonly attempt: number
  /** Milliseconds since the queue accepted the message. */
  readonly delayMs: number
  /** Length of the message's data; 0 for a reference. */
  readonly dataBytes: number
  /** Tags of the submission; absent where there were none, here and below. */
  readonly tags?: readonly string[]
}

export interface EndedEvent {
  readonly id: MessageId
  readonly sender: string
  /** Number of recipients that are no longer attempted. */
  readonly recipientCount: number
  readonly tags?: readonly string[]
}

export interface QueueEvents {
  /** The message is durable; its `submit` settles in this turn. */
  accepted: [
    {
      readonly id: MessageId
      readonly sender: string
      readonly recipientCount: number
      readonly dataBytes: number
      readonly tags?: readonly string[]
    },
  ]
  /** The next server, or the mailbox, has the message for these recipients. */
  delivered: [RecipientEvent]
  /** The attempt failed for now. The recipients are tried again, except where the message is too
   * old: then `expired` follows, or `failed` where other recipients are not given up. */
  deferred: [RecipientEvent]
  /** The recipients have failed for good, and the sender gets a report. With the status 5.4.7 the
   * policy has given them up by destination. */
  failed: [RecipientEvent]
  /** Recipients were given up, because the message is too old or an operator expired it.
   * `reported` follows when a report was made. */
  expired: [EndedEvent]
  /** An operator deleted the message for its remaining recipients, without a report. `finished`
   * follows. */
  deleted: [EndedEvent]
  /** The message went to a lane, to be tried again `delayMs` from now: after a deferral, or because
   * an operator moved it. */
  requeued: [{ readonly id: MessageId; readonly lane: number; readonly delayMs: number }]
  /** A report was made for the sender of `id`. The report is a separate message with events as any
   * other, except `accepted`. */
  reported: [
    {
      readonly id: MessageId
      readonly report: MessageId
      readonly action: 'failed' | 'delayed' | 'delivered'
    },
  ]
  /** Nothing is left to do for the message. */
  finished: [{ readonly id: MessageId; readonly tags?: readonly string[] }]
  /** Recovery has ended, and deliveries begin. */
  recovered: [{ readonly messageCount: number; readonly cutBytes: number; readonly durationMs: number }]
  /** A step of a destination's concurrency, when the scheduler's
   * `destinationConcurrencyFeedbackDebug` is on. */
  feedback: [FeedbackEvent]
  /** A destination is dead: its site could not be reached, or was in trouble. Nothing is attempted
   * there until `untilMs`, milliseconds since 1970. Mail that waits for it is deferred with this
   * status and text. */
  dead: [
    {
      readonly transport: string
      readonly nexthop: string
      /** The destination's name in `destinations()`. */
      readonly name: string
      readonly untilMs: number
      readonly status: string
      readonly text: string
    },
  ]
  /** At most `count` deliveries in `perMs` begin at a site until `untilMs`, milliseconds since
   * 1970. Its reply asked for that (`shaping`), or an operator did: then `status` is ''. */
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
  /** An operator has suspended deliveries, durably: none begins until `untilAt`, milliseconds since
   * 1970. A `transport` or `nexthop` that is '' stands for all of them, here and in `resumed`. */
  suspended: [{ readonly transport: string; readonly nexthop: string; readonly untilAt: number }]
  /** A suspension has ended. */
  resumed: [{ readonly transport: string; readonly nexthop: string; readonly cause: 'operator' | 'time' }]
  /** Something that an operator should see; mail is safe. `code` is an ErrorCode, or
   * TRANSPORT_DEFECT (a mistake in a transport's program), ROUTE_DEFECT (a mistake in `route`, or a
   * name that no transport has; each once in a life), LISTENER_DEFECT (a mistake in a listener),
   * SETTLE_DEFECT (a mistake of Waybill, at one message), MESSAGE_HELD (a message was put on hold:
   * `fruitlessRecoveriesMax`), FILE_SYSTEM (a file system that suits no queue), DELIVERIES_HELD
   * (the disk hangs: `proofMs`) or DELIVERIES_RESUMED (the disk has answered). */
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
  readonly #context: OwnContext
  #isOver = false

  constructor(context: OwnContext = new OwnContext()) {
    this.#context = context
  }

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
      () => this.#context.run(() => Reflect.apply(listener, this.#emitter, values) as unknown),
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
