/** The active messages, in the order of their newest starts: the first one is where the working suffix begins.
 * A message whose spool file is not unlinked yet holds the suffix though it is finished, so that a recovery unlinks again. */
import { assert } from '../base/assert.js'
import type { Position } from '../base/position.js'
import type { Carried } from '../record/start.js'
import type { ActiveMessage, EnvelopePlace } from './active-message.js'

/** Data of active messages kept in memory, together. */
const dataBytesMax = 32 * 1024 * 1024

/** A message whose envelope does not verify. Nothing can be done with it but to keep what is left, for the operator. */
export interface DamagedMessage {
  readonly place: EnvelopePlace
  readonly carried: Carried
}

export class ActiveSet {
  readonly #messages = new Map<Position, ActiveMessage>()
  readonly #unlinking = new Map<Position, ActiveMessage>()
  /** Messages that cannot be read: what was carried of them, by the start that holds their place. */
  readonly #damaged = new Map<Position, DamagedMessage>()
  #dataBytes = 0

  get count(): number {
    return this.#messages.size
  }

  /** Its start has just been appended. */
  add(message: ActiveMessage): void {
    assert(!this.#messages.has(message.start), 'a start is the start of one message')
    this.#messages.set(message.start, message)
  }

  /** Keeps its data in memory, if there is room for it; else it is read when it is needed. */
  keepData(message: ActiveMessage, data: Buffer | undefined): void {
    if (data === undefined || this.#dataBytes + data.length > dataBytesMax) return
    this.#dataBytes += data.length
    message.data = data
  }

  /** Its finish, or its replacement and the note, have just been appended. */
  end(message: ActiveMessage): void {
    assert(this.#messages.delete(message.start), 'a message ends once')
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
    assert(this.#messages.delete(message.start), 'an active message is started again')
    message.start = start
    this.add(message)
  }

  /** Is one of them to be replaced again in this lane, because a recovery did not believe that it was? */
  hasReplacementFor(lane: number): boolean {
    for (const { replacement } of this.#messages.values()) if (replacement?.lane === lane) return true
    return false
  }

  has(message: ActiveMessage): boolean {
    return this.#messages.get(message.start) === message
  }

  /** The earliest start that recovery has to read; undefined when there is none. */
  get earliestStart(): Position | undefined {
    let earliest: Position | undefined
    for (const held of [this.#messages, this.#unlinking, this.#damaged]) {
      const [first] = held.keys()
      if (first !== undefined && (earliest === undefined || first < earliest)) earliest = first
    }
    return earliest
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

  /** In the order of their starts. */
  messages(): Iterable<ActiveMessage> {
    return this.#messages.values()
  }
}
