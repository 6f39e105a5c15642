/** Messages that wait in lanes, read from the lanes' logs a few at a time: what waited at one
 * moment, however long it is read.
 * Invariant: a message waits when it stands in its lane at or behind the runner's position, is not
 * marked, and the lane is trusted so far. Segments that are being read, and their lane, stay until
 * the reading ends. */
import { position, type Position } from '../../base/position.js'
import type { EnvelopePlace } from '../../active/active-message.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import type { SegmentPins } from '../../garbage/pins.js'
import type { Lane } from '../../lane/lane.js'
import type { MarksThen } from '../../lane/marks.js'
import { journalLog } from '../../log/journal-writer.js'
import type { PositionVisitor } from '../../log/segment-files.js'
import { EncodedEnvelope, type EnvelopeFacts } from '../../record/encoded-envelope.js'
import type { Envelope } from '../../record/envelope.js'
import { classAt, kindAt, kinds, timeAt } from '../../record/frame.js'
import { envelopesLog } from '../../directory/log-files.js'
import type { Parts } from '../life/parts.js'

export interface WaitingMessage {
  readonly envelope: Envelope
  readonly place: EnvelopePlace
  /** When it was appended to its lane, milliseconds since 1970. */
  readonly timeMs: number
}

/** @param envelope valid during the call, @param at where it stands in its lane */
export type WantedTest = (envelope: EnvelopeFacts, at: Position) => boolean

/** Messages read at once. */
const batchCountMax = 256
/** Of a read: as much as the batch before has walked over, so that little is read twice where much
 * is wanted. Other work of the engine waits while a window is looked at, less than for a batch. */
const windowBytesMin = 64 * 1024
const windowBytesMax = 256 * 1024
/** Of the log, between two batches: a walk that finds nothing can be stopped, too. */
const passedBytesMax = 2 * 1024 * 1024

/** How far a lane's log is trusted now. Without its marks not at all:
 *    1. started by a verb, and delivered
 *    2. its mark rots
 *    3. restart: the runner starts it again */
export function trustedEndOf({ journal }: Pick<Parts, 'journal'>, lane: Lane): Position {
  if (!lane.marks.areKnown) return lane.runner.position
  return lane.logs === undefined ? journal.durableEnd : lane.trustedEnd
}

/** Does a message wait at this place now? */
export function waits(parts: Pick<Parts, 'journal' | 'lanes'>, place: EnvelopePlace): boolean {
  if (!parts.lanes.has(place.lane)) return false
  const lane = parts.lanes.get(place.lane)
  return (
    place.position >= lane.runner.position &&
    !lane.marks.has(place.position) &&
    place.position + place.bytes <= trustedEndOf(parts, lane)
  )
}

/** What waited in a lane at the moment in which this was made. `end` releases what is held for
 * it. */
export class Stretch {
  readonly lane: Lane
  readonly #parts: Parts
  readonly #from: Position
  readonly #end: Position
  readonly #marks: MarksThen
  /** Why it is not known what waited. */
  readonly #damage: WaybillError | undefined

  /** @param from where a message of the lane stands, or may: before the runner nothing waits */
  constructor(parts: Parts, lane: Lane, from: Position = lane.runner.position) {
    this.lane = lane
    this.#parts = parts
    const { areKnown, unread } = lane.marks
    const log = lane.logs?.envelopes ?? parts.journal
    this.#damage = areKnown ? undefined : log.files.corrupt(unread, 'marks cannot be read')
    this.#from = position(Math.max(from, lane.runner.position))
    this.#end = lane.logs?.envelopes.end ?? parts.journal.end
    this.#marks = lane.marks.snapshot()
    lane.userCount++
    this.#eachSegment((pins, index) => pins.pin(index))
  }

  end(): void {
    this.lane.userCount--
    this.#eachSegment((pins, index) => pins.release(index))
  }

  /** Batches in order, also empty ones, and those before a damaged place. What has moved meanwhile
   * is among them: `waits` tells.
   * @param trust makes the lane trusted further, if it can: asked where what is trusted ends; what
   * is not trusted then is left out
   * @param isWanted asked about each, before a damaged place twice about some: only then it is
   * decoded
   * @throws WaybillError LOG_CORRUPT, DISK_FAILED, QUEUE_CRASHED; LIST_INCOMPLETE at its end */
  async *batches(
    trust: () => Promise<void>,
    isWanted: WantedTest = () => true,
  ): AsyncGenerator<readonly WaitingMessage[]> {
    if (this.#damage !== undefined) throw this.#damage
    let at = this.#from
    // What is decoded lies apart from it.
    const window = Buffer.allocUnsafeSlow(Math.min(windowBytesMax, Math.max(0, this.#end - at)))
    let windowBytes = windowBytesMin
    for (let isAsked = false; at < this.#end;) {
      const last = position(Math.min(this.#end, trustedEndOf(this.#parts, this.lane)))
      if (at >= last) {
        if (isAsked) return this.#checkIsAll(at)
        isAsked = true
        await trust()
      } else {
        const { batch, reached } = await this.#read(at, last, isWanted, window.subarray(0, windowBytes))
        windowBytes = Math.max(windowBytesMin, Math.min(reached - at, windowBytesMax))
        at = reached
        yield batch
      }
    }
  }

  /** @param at where what is trusted ends */
  #checkIsAll(at: Position): void {
    const { lane } = this
    // Of what is not durable there nobody has been told yet that it is accepted.
    if (lane.kind === 'incoming') return
    const { files } = lane.logs?.envelopes ?? this.#parts.journal
    const reason = `the latest mail of lane ${lane.number}: no checkpoint covers it yet`
    throw new WaybillError('LIST_INCOMPLETE', `not listed: ${reason}`, files.placeOf(at))
  }

  async #read(
    from: Position,
    last: Position,
    isWanted: WantedTest,
    window: Buffer,
  ): Promise<{ readonly batch: readonly WaitingMessage[]; readonly reached: Position }> {
    const { lane } = this
    const log = lane.logs?.envelopes ?? this.#parts.journal
    const batch: WaitingMessage[] = []
    const encoded = new EncodedEnvelope()
    const visit: PositionVisitor = (filled, offset, place, bytes) => {
      const isFar = place - from >= passedBytesMax
      if (kindAt(filled, offset) !== kinds.envelope || classAt(filled, offset) !== lane.number) return isFar
      if (this.#marks.has(place)) return isFar
      encoded.aim(filled, offset)
      if (isWanted(encoded, place))
        batch.push({
          envelope: encoded.decode(),
          place: { lane: lane.number, position: place, bytes, outOfOrder: true },
          timeMs: timeAt(filled, offset),
        })
      return isFar || batch.length >= batchCountMax
    }
    try {
      return { reached: await this.#parts.life.orEnd(log.read(from, last, visit, window)), batch }
    } catch (error) {
      const place = batch.at(-1)?.place
      if (this.#parts.life.isOver || !isWaybillError(error) || place === undefined) throw error
      // Messages before the damage wait and can be had; a read behind them meets it again.
      return { reached: position(place.position + place.bytes), batch }
    }
  }

  #eachSegment(visit: (pins: SegmentPins, index: number) => void): void {
    const { journal, garbage } = this.#parts
    const { logs, number } = this.lane
    const { grid } = logs?.envelopes.files ?? journal
    const pins = garbage.of(logs === undefined ? journalLog : envelopesLog(number))
    for (let index = grid.indexOf(this.#from); index <= grid.indexOf(this.#end); index++) visit(pins, index)
  }
}
