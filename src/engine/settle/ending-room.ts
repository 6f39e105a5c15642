/** Room for what ends a message: in the journal, and in the logs of the lane that it moves to.
 * Invariant: who has found too little room on a full disk is not composed again before there is as
 * much as was needed, and what was composed is not kept until then: many may wait, and each may
 * have its data. Nor does anybody else wait for them:
 *    1. 64 are composed, and stand in the way until their lane has room
 *    2. an operator deletes others to make some
 *    3. nobody looks */
import type { ActiveMessage } from '../../active/active-message.js'
import type { Lane } from '../../lane/lane.js'
import { frameBytes } from '../../record/frame.js'
import { markReserveBytes, marksBytes } from '../checkpoint/capture.js'
import type { Parts } from '../life/parts.js'

/** Bytes in the logs of the lane (none without separate logs), and in the journal. */
export interface Need {
  readonly envelopeBytes: number
  readonly dataBytes: number
  readonly journalBytes: number
}

/** The lane that a message moves to; undefined: its end is a finish. */
export type Target = Lane | undefined

/** More than a finish or a note takes, its ranges apart. */
export const noteBytesMax = 4096

export class EndingRoom {
  readonly #parts: Parts
  readonly #unvouchedMax: number
  /** Replacements appended since the last capture, and since the one before. */
  #unvouched = 0
  #captured = 0
  /** The needs of messages that found too little room. */
  readonly #lacked = new WeakMap<ActiveMessage, Need & { readonly kind: string }>()

  /** @param unvouchedMax bound of replacements that are not trusted yet */
  constructor(parts: Parts, unvouchedMax: number) {
    this.#parts = parts
    this.#unvouchedMax = unvouchedMax
  }

  /** Replacements that are not trusted yet. */
  get unvouchedCount(): number {
    return this.#unvouched + this.#captured
  }

  /** A replacement is being appended to a lane with separate logs. */
  replaced(): void {
    this.#unvouched++
  }

  /** A checkpoint is being captured: it will make present appends trusted. */
  capture(): void {
    this.#captured += this.#unvouched
    this.#unvouched = 0
  }

  /** The captured checkpoint is durable. */
  vouched(): void {
    this.#captured = 0
  }

  /** Is there room now, for the record with its report as well? */
  has(target: Target, { envelopeBytes, dataBytes, journalBytes }: Need): boolean {
    return (
      this.#hasInLane(target, envelopeBytes, dataBytes) &&
      this.#parts.journal.room(journalBytes + noteBytesMax, 'accepted mail') === 'yes'
    )
  }

  /** Is there room of about the size that will be needed, or that was needed when it was composed?
   * Asked before anything is read. */
  mayHave(target: Target, message: ActiveMessage): boolean {
    const lacked = this.#lacked.get(message)
    if (lacked?.kind === kindOf(target)) return this.has(target, lacked)
    const { envelope, place } = message
    const dataBytes = Math.min(envelope.dataBytes, this.#parts.options.inlineBytesMax)
    return this.#hasInLane(target, place.bytes, frameBytes(dataBytes))
  }

  /** It was composed, and needs more than there is. */
  lacks(target: Target, message: ActiveMessage, need: Need): void {
    this.#lacked.set(message, { kind: kindOf(target), ...need })
  }

  #hasInLane(target: Target, envelopeBytes: number, dataBytes: number): boolean {
    if (target?.logs === undefined) return true
    const { envelopes, data } = target.logs
    const marks = marksBytes(this.#parts, target, 1) + markReserveBytes(target)
    return (
      this.unvouchedCount < this.#unvouchedMax &&
      envelopes.hasRoom(envelopeBytes + marks) &&
      (dataBytes === 0 || data.hasRoom(dataBytes))
    )
  }
}

const kindOf = (target: Target): string =>
  target === undefined ? 'finish' : target.logs === undefined ? 'in the journal' : 'in a lane'
