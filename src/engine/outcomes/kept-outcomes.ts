/** The outcomes in their log: appended in order, found by number, forgotten by segment.
 * Invariant: the numbers of a segment lie between its first and that of the next one. Where one is
 * missing there was no room for it. */
import { position, type Position } from '../../base/position.js'
import { isWaybillError } from '../../errors.js'
import type { LaneLog } from '../../log/lane-log.js'
import { frameBytes, kindAt, kinds, payloadAt, timeAt } from '../../record/frame.js'
import { decodeOutcome, encodeOutcome, type NewOutcome, type QueueOutcome } from '../../record/outcome.js'

/** Outcomes that are read at once. */
export const readMax = 1000

export interface OutcomeRecord {
  readonly number: number
  readonly timeMs: number
  readonly payload: Buffer
}

/** In the order of their numbers, and where the next one begins. */
export interface ReadOutcomes {
  readonly outcomes: QueueOutcome[]
  readonly next: Position
}

export class KeptOutcomes {
  readonly log: LaneLog
  /** The number of a segment's first outcome, once it was appended or read in this life. */
  readonly #firsts = new Map<number, number>()
  #floor: Position

  /** @param floor the first outcome that is kept; undefined: the log is empty */
  constructor(log: LaneLog, floor: Position | undefined) {
    this.log = log
    this.#floor = floor ?? log.end
  }

  recordOf(outcome: NewOutcome, number: number): OutcomeRecord {
    let payload = encodeOutcome(outcome, number, outcome.recipients)
    // Of more recipients than a segment should hold it keeps only the number.
    if (payload.length > this.log.files.grid.segmentBytes / 4) payload = encodeOutcome(outcome, number, [])
    return { number, timeMs: outcome.at, payload }
  }

  hasRoom({ payload }: OutcomeRecord): boolean {
    return this.log.hasRoom(frameBytes(payload.length))
  }

  append({ number, timeMs, payload }: OutcomeRecord): void {
    this.log.open(frameBytes(payload.length), timeMs)
    const place = this.log.append(kinds.outcome, 0, timeMs, payload)
    const index = this.log.files.grid.indexOf(place)
    if (!this.#firsts.has(index)) this.#firsts.set(index, number)
  }

  /** Forgets segments all of whose outcomes are consumed, and the oldest of more than `bytesMax`.
   * @param cursor the last number that every consumer is done with @returns the new floor */
  forget(cursor: number, bytesMax: number): Position {
    const { grid } = this.log.files
    const last = grid.indexOf(this.log.end)
    let index = grid.indexOf(this.#floor)
    const isNeeded = (): boolean => {
      const next = this.#firsts.get(index + 1)
      const isConsumed = next !== undefined && next <= cursor + 1
      return !isConsumed && (last - index + 1) * grid.segmentBytes <= bytesMax
    }
    while (index < last && !isNeeded()) this.#firsts.delete(index++)
    this.#floor = grid.firstOf(index)
    return this.#floor
  }

  /** Reads outcomes from a number on, or from the first behind it that is there.
   * @param place of a former read, where the next one begins
   * @throws WaybillError LOG_CORRUPT, DISK_FAILED */
  async read(number: number, place: Position | undefined): Promise<ReadOutcomes> {
    const { log } = this
    // What is appended while this is written cannot be read yet.
    const { end } = log
    await log.written()
    const floor = this.#floor
    const begin = position(Math.max(place ?? (await this.#segmentOf(number, floor, end)), floor))
    const outcomes: QueueOutcome[] = []
    if (begin >= end) return { outcomes, next: begin }
    try {
      const next = await log.read(begin, end, (window, at) => {
        if (kindAt(window, at) !== kinds.outcome) return false
        const outcome = decodeOutcome(payloadAt(window, at), timeAt(window, at))
        if (outcome.number >= number) outcomes.push(outcome)
        return outcomes.length >= readMax
      })
      return { outcomes, next }
    } catch (error) {
      // Its segment was forgotten meanwhile: what is left begins behind it.
      if (begin < this.#floor) return this.read(number, this.#floor)
      return { outcomes, next: this.#behindRot(error, end) }
    }
  }

  /** What stands behind rot in its segment is lost: its numbers are missing.
   * @throws what is no rot, and rot in the segment that is written to */
  #behindRot(error: unknown, end: Position): Position {
    const { grid } = this.log.files
    const segment = isWaybillError(error, 'LOG_CORRUPT') ? Number(error.place.segment) : NaN
    if (!(segment < grid.indexOf(end))) throw error
    return grid.firstOf(segment + 1)
  }

  /** Where the segment begins that has the outcome, or the first one that there is. */
  async #segmentOf(number: number, floor: Position, end: Position): Promise<Position> {
    const { grid } = this.log.files
    let begin = floor
    for (let index = grid.indexOf(floor) + 1; index <= grid.indexOf(end); index++) {
      const first = this.#firsts.get(index) ?? (await this.#firstOf(index, end))
      if (first === undefined || first > number) break
      begin = grid.firstOf(index)
    }
    return begin
  }

  async #firstOf(index: number, end: Position): Promise<number | undefined> {
    const { log } = this
    const { grid } = log.files
    let first: number | undefined
    if (grid.firstOf(index) >= end) return undefined
    await log.read(grid.firstOf(index), end, (window, at) => {
      if (kindAt(window, at) === kinds.outcome) first = decodeOutcome(payloadAt(window, at), 0).number
      return first !== undefined
    })
    if (first !== undefined) this.#firsts.set(index, first)
    return first
  }
}
