/** The messages that an earlier life was working on: a fold over the records of the suffix.
 * Invariant: replaying the suffix leaves exactly the messages without a trusted end. A record that
 * names a start before the suffix is ignored: its message ended before the checkpoint. A record
 * that names an unknown start inside the suffix is corruption. */
import { position, type Position } from '../base/position.js'
import { WaybillError } from '../errors.js'
import type { ActiveRecord, EnvelopePlace } from '../active/active-message.js'
import { incomingLane } from '../lane/lane.js'
import type { Delivery } from '../record/delivery.js'
import type { Finish } from '../record/finish.js'
import type { Replaced } from '../record/replaced.js'
import type { Carried, Start } from '../record/start.js'

export interface WorkingMessage {
  readonly start: Position
  readonly place: EnvelopePlace
  readonly carried: Carried | undefined
  /** What happened since the start, in order. */
  readonly records: ActiveRecord[]
}

/** One lane in the suffix. */
export interface LaneTrace {
  /** Behind the last envelope that was started in order. */
  runner: Position
  /** Envelopes that were started out of order. */
  readonly marks: Position[]
  /** The newest record that names the lane. */
  namedAt: Position
}

export interface SuffixFacts {
  readonly suffix: Position
  /** The checkpointed end of a lane's envelopes; undefined for a lane that the checkpoint
   * does not know. */
  readonly trustedEnd: (lane: number) => Position | undefined
}

export class WorkingSet {
  readonly #facts: SuffixFacts
  readonly #working = new Map<Position, WorkingMessage>()
  readonly lanes: Map<number, LaneTrace> = new Map()
  /** Spool files of messages that finished: they are unlinked again. */
  readonly finishedSpools: number[] = []

  constructor(facts: SuffixFacts) {
    this.#facts = facts
  }

  /** In the order of their starts. */
  get messages(): Iterable<WorkingMessage> {
    return this.#working.values()
  }

  get count(): number {
    return this.#working.size
  }

  start(at: Position, lane: number, start: Start): void {
    const { envelope, envelopeBytes, outOfOrder } = start
    const place = { lane, position: envelope, bytes: envelopeBytes, outOfOrder }
    const { carried } = start
    if (carried !== undefined) this.#working.delete(carried.start)
    this.#working.set(at, { start: at, place, carried, records: [] })
    const trace = this.#trace(lane, at)
    if (outOfOrder) trace.marks.push(envelope)
    else trace.runner = position(Math.max(trace.runner, envelope + envelopeBytes))
  }

  delivery(at: Position, { start, notes, finishes }: Delivery): void {
    const message = this.#find(at, start)
    if (finishes) this.#working.delete(start)
    else message?.records.push({ kind: 'delivery', notes })
  }

  finish(at: Position, { start, spool }: Finish): void {
    if (this.#find(at, start) === undefined) return
    this.#working.delete(start)
    if (spool !== 0) this.finishedSpools.push(spool)
  }

  /** The note of a replacement: in a lane with separate logs, or in `incoming`, where note and
   * replacement are one group. */
  replaced(at: Position, lane: number, timeMs: number, note: Replaced): void {
    const message = this.#find(at, note.start)
    this.#trace(lane, at)
    if (message === undefined) return
    const trustedEnd = this.#facts.trustedEnd(lane)
    if (lane === incomingLane || (trustedEnd !== undefined && note.targetEnd <= trustedEnd)) {
      this.#working.delete(note.start)
      return
    }
    message.records.push({ kind: 'reported', reported: note.reported, warnings: note.warnings })
    message.records.push({ kind: 'replacement', lane, timeMs })
  }

  /** A replacement that stands in the journal itself. */
  replacedBy(at: Position, start: Position): void {
    if (this.#find(at, start) !== undefined) this.#working.delete(start)
  }

  #find(at: Position, start: Position): WorkingMessage | undefined {
    const message = this.#working.get(start)
    if (message === undefined && start >= this.#facts.suffix)
      throw new WaybillError('LOG_CORRUPT', 'a record names a start that is not there', {
        log: 'journal',
        position: at,
      })
    return message
  }

  #trace(lane: number, at: Position): LaneTrace {
    let trace = this.lanes.get(lane)
    if (trace === undefined) this.lanes.set(lane, (trace = { runner: position(0), marks: [], namedAt: at }))
    trace.namedAt = at
    return trace
  }
}
