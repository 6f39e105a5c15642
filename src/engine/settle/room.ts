/** Room for the end of a message: in the journal, and in the logs of the lane that it moves to.
 * Nothing here waits for a sync, except at the bound on replacements that are not trusted yet.
 * Invariants:
 *    1. An end is appended in the step in which its room and `isStill` are looked at.
 *    2. On a full disk an end without room is composed again when as much as it needed is free.
 *       Until then it is not kept: many may wait, each with its data.
 *    3. No other message waits for it:
 *       a. 64 are composed, and stand in the way until their lane has room
 *       b. an operator deletes others to make some
 *       c. nobody looks */
import type { ActiveMessage } from '../../active/active-message.js'
import { nowhere } from '../../base/position.js'
import type { Lane } from '../../lane/lane.js'
import { frameBytes } from '../../record/frame.js'
import { canMark, markReserveBytes, marksBytes } from '../checkpoint/capture.js'
import type { Parts } from '../life/parts.js'
import { diskFull } from '../life/trouble.js'
import { discardReport, type Report } from './report.js'

/** A message whose end is being prepared. */
export interface Work {
  readonly message: ActiveMessage
  /** Is it still to end the way that is being prepared? False when an order has overtaken that. */
  readonly isStill: () => boolean
}

/** `overtaken`: it is not to end this way any more, nothing was appended. `no room`: nothing was
 * appended, and what was composed is not kept. */
export type EndResult = 'done' | 'overtaken' | 'no room'

/** Bytes in the logs of the lane (none without separate logs), and in the journal. */
export interface Need {
  readonly envelopeBytes: number
  readonly dataBytes: number
  readonly journalBytes: number
}

/** The lane that a message moves to; undefined: its end is a finish. */
type Target = Lane | undefined

/** What ends a message, composed. */
export interface End {
  readonly target: Target
  readonly written: Report | undefined
  readonly need: Need
  /** Appends it, without a wait. */
  readonly append: () => void
}

/** More than a finish or a note takes, its ranges apart. */
export const noteBytesMax = 4096

export interface RoomCallbacks {
  /** Room may be long in coming. */
  readonly isFull: () => boolean
  /** Nobody waits for room for it: the disk is full, and it is an operator's order. */
  readonly isHopeless: (message: ActiveMessage) => boolean
  /** Bound of replacements that are not trusted yet. */
  readonly untrustedMax: number
}

export class Room {
  readonly #parts: Parts
  readonly #callbacks: RoomCallbacks
  readonly #waiting: (() => void)[] = []
  /** Replacements appended since the last capture, and since the one before. */
  #untrusted = 0
  #captured = 0
  /** The needs of messages that found too little room. */
  readonly #lacked = new WeakMap<ActiveMessage, Need & { readonly kind: string }>()

  constructor(parts: Parts, callbacks: RoomCallbacks) {
    this.#parts = parts
    this.#callbacks = callbacks
  }

  /** Replacements that are not trusted yet. */
  get untrustedCount(): number {
    return this.#untrusted + this.#captured
  }

  /** A checkpoint is being captured: it will make present appends trusted. */
  capture(): void {
    this.#captured += this.#untrusted
    this.#untrusted = 0
  }

  /** The captured checkpoint is durable. */
  checkpointed(): void {
    this.#captured = 0
  }

  /** Room may have come: each message that waits is looked at again. */
  changed(): void {
    for (const look of this.#waiting.splice(0)) look()
  }

  /** The caller checks again, in the step in which it appends: others may have taken the room.
   *    1. two find room for one
   *    2. both go on behind their `await`
   *    3. the second appends where nothing is allocated */
  async change(): Promise<void> {
    await new Promise<void>((look) => this.#waiting.push(look))
    this.#parts.life.check()
  }

  /** Is there room of about the size that will be needed, or that was needed when it was composed?
   * Asked before anything is read.
   * @throws WaybillError DISK_FULL when nobody waits for room for it */
  mayHave(target: Target, message: ActiveMessage): boolean {
    if (this.#mayHave(target, message)) return true
    if (this.#callbacks.isHopeless(message)) throw diskFull('an order')
    return false
  }

  #mayHave(target: Target, message: ActiveMessage): boolean {
    const lacked = this.#lacked.get(message)
    if (lacked?.kind === kindOf(target)) return this.#has(target, lacked)
    const { envelope, place } = message
    const dataBytes = Math.min(envelope.dataBytes, this.#parts.options.inlineBytesMax)
    return this.#hasInLane(target, place.bytes, frameBytes(dataBytes))
  }

  /** Appends the end of a message when there is room for it.
   * @throws WaybillError DISK_FULL: what was composed is not used */
  async endWith({ message, isStill }: Work, { target, written, need, append }: End): Promise<EndResult> {
    const { life } = this.#parts
    while (isStill()) {
      if (this.#canStart(message) && this.#has(target, need)) {
        if (target?.logs !== undefined) this.#untrusted++
        // What goes wrong here, some of it appended, is no trouble of this message that could be
        // looked at again.
        life.guard(append)
        life.check()
        return 'done'
      }
      if (this.#callbacks.isHopeless(message)) {
        await discardReport(this.#parts, written)
        throw diskFull('an order')
      }
      if (message.start !== nowhere && this.#callbacks.isFull()) {
        this.#lacked.set(message, { kind: kindOf(target), ...need })
        await discardReport(this.#parts, written)
        return 'no room'
      }
      await this.change()
    }
    await discardReport(this.#parts, written)
    return 'overtaken'
  }

  /** Is there room for the mark as well, when the message is started by what ends it? */
  #canStart({ start, place }: ActiveMessage): boolean {
    return start !== nowhere || canMark(this.#parts, this.#parts.lanes.get(place.lane))
  }

  /** Is there room now, for the record with its report as well? */
  #has(target: Target, { envelopeBytes, dataBytes, journalBytes }: Need): boolean {
    return (
      this.#hasInLane(target, envelopeBytes, dataBytes) &&
      this.#parts.journal.room(journalBytes + noteBytesMax, 'accepted mail') === 'yes'
    )
  }

  #hasInLane(target: Target, envelopeBytes: number, dataBytes: number): boolean {
    if (target?.logs === undefined) return true
    const { envelopes, data } = target.logs
    const marks = marksBytes(this.#parts, target, 1) + markReserveBytes(target)
    return (
      this.untrustedCount < this.#callbacks.untrustedMax &&
      envelopes.hasRoom(envelopeBytes + marks) &&
      (dataBytes === 0 || data.hasRoom(dataBytes))
    )
  }
}

const kindOf = (target: Target): string =>
  target === undefined ? 'finish' : target.logs === undefined ? 'in the journal' : 'in a lane'
