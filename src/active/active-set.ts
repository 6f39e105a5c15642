/** The active messages, in the order of their newest starts; the working suffix begins at the
 * first.
 * A finished message whose spool file is not unlinked yet holds the suffix, so that recovery
 * unlinks it again.
 * Invariant: starts ascend along the list, because each is the newest record when its message is
 * added. */
import { assert } from '../base/assert.js'
import { LinkedList } from '../base/linked-list.js'
import type { Position } from '../base/position.js'
import { namesRecipients } from '../record/envelope.js'
import type { Carried } from '../record/start.js'
import type { ActiveMessage, EnvelopePlace } from './active-message.js'

/** Data of active messages kept in memory, together. */
const dataBytesMax = 32 * 1024 * 1024

/** Frames of the envelopes whose recipients are kept in memory, together: in memory they take
 * about twice as much. A message with few recipients always keeps them, and is not counted. */
const recipientBytesMax = 16 * 1024 * 1024
const fewRecipients = 10

/** A message whose envelope does not verify or cannot be read. It is kept for the operator. */
export interface DamagedMessage {
  readonly place: EnvelopePlace
  readonly carried: Carried
}

export class ActiveSet {
  readonly #unlinking = new Map<Position, ActiveMessage>()
  /** Messages that cannot be read: their carried state, by the start that holds their place. */
  readonly #damaged = new Map<Position, DamagedMessage>()
  readonly #messages = new LinkedList<ActiveMessage>()
  #dataBytes = 0
  #recipientBytes = 0
  #endedRecipientCount = 0

  /** Recipients of messages that have ended in this life. */
  get endedRecipientCount(): number {
    return this.#endedRecipientCount
  }

  get count(): number {
    return this.#messages.count
  }

  /** Its start has just been appended. */
  add(message: ActiveMessage): void {
    assert(!this.has(message), 'a message becomes active once')
    const { last } = this.#messages
    assert(
      last === undefined || last.start < message.start,
      'a start is the start of one message, and the newest',
    )
    this.#messages.add(message)
  }

  /** Its recipients stay in memory while there is room for them. Without room it forgets them,
   * and they are read when they are needed: so the memory of active messages does not grow with
   * their recipients. Called once, before the scheduler gets it. */
  keepRecipients(message: ActiveMessage): void {
    const { envelope, place } = message
    if (envelope.recipientCount <= fewRecipients || !namesRecipients(envelope)) return
    if (this.#recipientBytes + place.bytes > recipientBytesMax) return message.forgetRecipients()
    this.#recipientBytes += place.bytes
    message.recipientBytes = place.bytes
  }

  /** Keeps its data in memory, if there is room for it; else it is read when it is needed. */
  keepData(message: ActiveMessage, data: Buffer | undefined): void {
    if (data === undefined || this.#dataBytes + data.length > dataBytesMax) return
    this.#dataBytes += data.length
    message.data = data
  }

  /** May several attempts ask for its data? */
  isShared(message: ActiveMessage): boolean {
    return message.pendingCount > 1 && this.has(message)
  }

  /** Keeps data that was read for one of several attempts, for the others, in at most half of the
   * memory: the rest is for new mail. @param data of which it keeps a copy: a buffer of the pool
   * would hold its neighbours, which are not counted */
  keepRead(message: ActiveMessage, data: Buffer): void {
    if (message.data !== undefined || !this.isShared(message)) return
    if (this.#dataBytes + data.length > dataBytesMax / 2) return
    const copy = Buffer.allocUnsafeSlow(data.length)
    data.copy(copy)
    this.keepData(message, copy)
  }

  /** Its finish, or its replacement and the note, have just been appended. */
  end(message: ActiveMessage): void {
    assert(this.has(message), 'a message ends once')
    this.#endedRecipientCount += message.envelope.recipientCount
    this.#messages.remove(message)
    this.#recipientBytes -= message.recipientBytes
    message.recipientBytes = 0
    this.#dataBytes -= message.data?.length ?? 0
    message.data = undefined
  }

  /** As `end`, but its spool file is still to be unlinked. */
  endHolding(message: ActiveMessage): void {
    this.end(message)
    this.#unlinking.set(message.start, message)
  }

  /** Its spool file is gone. */
  unlinked(message: ActiveMessage): void {
    this.#unlinking.delete(message.start)
  }

  /** A start that takes the place of the message's has just been appended. */
  restart(message: ActiveMessage, start: Position): void {
    assert(this.has(message), 'an active message is started again')
    this.#messages.remove(message)
    message.start = start
    this.add(message)
  }

  /** Is one of them to be replaced again in this lane, because recovery did not trust its
   * replacement? An unreadable one is, too, as soon as it can be read:
   *    1. a checkpoint is captured without the lane
   *    2. the message is read, and replaced there
   *    3. the lane is removed, and the message with it */
  hasReplacementFor(lane: number): boolean {
    for (const { replacement } of this.#messages) if (replacement?.lane === lane) return true
    for (const { carried } of this.#damaged.values()) if (carried.replacement?.lane === lane) return true
    return false
  }

  has(message: ActiveMessage): boolean {
    return this.#messages.has(message)
  }

  /** The earliest start that recovery has to read; undefined when there is none. */
  get earliestStart(): Position | undefined {
    let earliest = this.#messages.first?.start
    // All of them: they came in the order in which they ended.
    for (const held of [this.#unlinking, this.#damaged])
      for (const start of held.keys()) if (earliest === undefined || start < earliest) earliest = start
    return earliest
  }

  /** Those whose start lies behind this one, the newest first. */
  *startedBehind(start: Position): Generator<ActiveMessage> {
    let message = this.#messages.last
    for (; message !== undefined && message.start > start; message = message.older) yield message
  }

  /** How many messages cannot be read; they are not in `count`. */
  get damagedCount(): number {
    return this.#damaged.size
  }

  /** Its place is held by a start that has just been appended. */
  addDamaged(start: Position, message: DamagedMessage): void {
    this.#damaged.set(start, message)
  }

  removeDamaged(start: Position): void {
    this.#damaged.delete(start)
  }

  /** By their starts, in order. */
  damaged(): Iterable<readonly [Position, DamagedMessage]> {
    return this.#damaged
  }

  /** In the order of their starts. The one that was given last may end or start again meanwhile. */
  messages(): Iterable<ActiveMessage> {
    return this.#messages
  }
}
