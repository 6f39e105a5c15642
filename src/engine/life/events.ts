/** What happens to mail, as events. They are emitted after the record was appended and tell nothing about durability, but for
 * `accepted`. Listeners run inside the engine's turn: what they throw is theirs, and ends the life, and the process like any uncaught error
 * when nobody listens to `crashed`. */
import { EventEmitter } from 'node:events'
import type { MessageId } from '../../base/message-id.js'
import type { OptionNames } from '../../base/option-names.js'
import type { OutcomeTls } from '../../delivery/transport.js'
import { WaybillError, type WarningCode } from '../../errors.js'
import type { FeedbackEvent } from '../../scheduler/scheduler.js'

export interface RecipientEvent {
  readonly id: MessageId
  readonly sender: string
  readonly recipients: readonly string[]
  /** It and `nexthop` are '' where nobody was asked: without a route, or while a destination is dead. */
  readonly transport: string
  readonly nexthop: string
  /** RFC 3463; '' for a delivery without one. */
  readonly status: string
  readonly text: string
  /** The server whose reply `text` ends with: `mx.example.net[192.0.2.1]:25`. Absent where a transport names none. */
  readonly remote?: string
  /** Of a delivery over an encrypted session. */
  readonly tls?: OutcomeTls
  /** 1 for the first. */
  readonly attempt: number
  /** Since the queue accepted the message. */
  readonly delayMs: number
  /** Length of the message's data; 0 for a reference. */
  readonly dataBytes: number
}

export interface QueueEvents {
  /** Durable: its `submit` settles in this turn. */
  accepted: [
    {
      readonly id: MessageId
      readonly sender: string
      readonly recipientCount: number
      readonly dataBytes: number
    },
  ]
  /** These recipients have it, or the next server has. */
  delivered: [RecipientEvent]
  /** They are tried again, or given up because the message is too old, which `expired` tells, or `failed` where others of it are not. */
  deferred: [RecipientEvent]
  /** For good: their mail is returned. So are those whom the policy gives up by their destination, with the status 5.4.7. */
  failed: [RecipientEvent]
  /** Recipients were given up, because the message is too old or an operator said so; `reported` tells of their report. */
  expired: [{ readonly id: MessageId; readonly sender: string; readonly recipientCount: number }]
  /** An operator deleted what was left of it; nobody is told. `finished` follows. */
  deleted: [{ readonly id: MessageId; readonly sender: string; readonly recipientCount: number }]
  /** The message went to a lane, to be tried again `delayMs` from now: after a deferral, or because an operator moved it. */
  requeued: [{ readonly id: MessageId; readonly lane: number; readonly delayMs: number }]
  /** A report was made for the sender of `id`. It is a message with outcomes and an end of its own, and never `accepted`. */
  reported: [
    {
      readonly id: MessageId
      readonly report: MessageId
      readonly action: 'failed' | 'delayed' | 'delivered'
    },
  ]
  /** Nothing is left to do. */
  finished: [{ readonly id: MessageId }]
  /** Recovery has ended; runners go. */
  recovered: [{ readonly messageCount: number; readonly cutBytes: number; readonly durationMs: number }]
  /** A step of a destination's concurrency, when the scheduler's `destinationConcurrencyFeedbackDebug` is on. */
  feedback: [FeedbackEvent]
  /** Something that an operator should see; mail is safe. `code` is an ErrorCode, or TRANSPORT_DEFECT (a mistake in a transport's program),
   * SETTLE_DEFECT (in ours, at one message), MESSAGE_HELD (put on hold: `fruitlessRecoveriesMax`), FILE_SYSTEM (no place for a queue),
   * DELIVERIES_HELD (the disk hangs: `proofMs`) or DELIVERIES_RESUMED (it has answered). */
  warning: [{ readonly code: WarningCode; readonly message: string; readonly id?: MessageId }]
  /** The end of this life: by `crash()` without an error, or because the device or an invariant failed. The last event. */
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
  warning: true,
  crashed: true,
}

/** @throws WaybillError OPTION_INVALID */
function checkName(event: string): void {
  if (Object.hasOwn(names, event)) return
  throw new WaybillError('OPTION_INVALID', `there is no such event, but ${Object.keys(names).join(', ')}`, {
    option: event,
  })
}

export type Listener<K extends keyof QueueEvents> = (...values: QueueEvents[K]) => void

export class QueueEmitter {
  readonly #emitter = new EventEmitter()
  readonly #onThrow: (error: unknown) => void
  #isOver = false

  /** @param onThrow is told what a listener throws, in this step: whatever it is, it must not be taken for an error of ours */
  constructor(onThrow: (error: unknown) => void) {
    this.#onThrow = onThrow
  }

  emit<K extends keyof QueueEvents>(event: K, ...values: QueueEvents[K]): void {
    // Who crashes the queue in an event does so in the middle of a step, and has closed what he would write the next one to.
    if (this.#isOver) return
    this.#isOver = event === 'crashed'
    try {
      this.#emitter.emit(event, ...values)
    } catch (error) {
      this.#onThrow(error)
      throw error
    }
  }

  listenerCount(event: keyof QueueEvents): number {
    return this.#emitter.listenerCount(event)
  }

  on<K extends keyof QueueEvents>(event: K, listener: Listener<K>): void {
    checkName(event)
    this.#emitter.on(event, listener as never)
  }

  once<K extends keyof QueueEvents>(event: K, listener: Listener<K>): void {
    checkName(event)
    this.#emitter.once(event, listener as never)
  }

  off<K extends keyof QueueEvents>(event: K, listener: Listener<K>): void {
    checkName(event)
    this.#emitter.off(event, listener as never)
  }
}
