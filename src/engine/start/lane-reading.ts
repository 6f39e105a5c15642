/** Reads a lane's marks, and its log ahead of its runner, up to what is trusted. One read per lane
 * is under way at a time. A runner that meets damage stops its lane and says so; the other lanes go
 * on. */
import type { Position } from '../../base/position.js'
import { isWaybillError } from '../../errors.js'
import type { Lane } from '../../lane/lane.js'
import { readAheadBytesMax, readAheadCountMax } from '../../lane/runner.js'
import { decodeEnvelope } from '../../record/envelope.js'
import { classAt, kindAt, kinds, payloadAt, payloadBytesAt, timeAt } from '../../record/frame.js'
import { readMarks } from '../../recovery/read-suffix.js'
import type { Parts } from '../life/parts.js'
import { trustedEndOf } from './waiting-messages.js'

/** A lane is read on when so few candidates are left. */
const readAheadLow = 32
/** A lane whose device failed is read again after this. */
const retryMs = 60_000

export interface LaneReadingOptions {
  /** There may be more candidates now. */
  readonly onRead: () => void
  /** The runners of the lanes in the journal have passed what the life before had left. Called at
   * most once. */
  readonly onCaughtUp: () => void
}

export class LaneReading {
  readonly #parts: Parts
  readonly #options: LaneReadingOptions
  readonly #underWay = new Set<Lane>()
  /** Lanes in the journal whose runners go on where the life before stood. */
  readonly #late = new Set<Lane>()

  constructor(parts: Parts, options: LaneReadingOptions) {
    this.#parts = parts
    this.#options = options
  }

  /** Runners go from now on. */
  begin(): void {
    for (const lane of this.#parts.lanes)
      if (lane.kind !== 'incoming' && lane.logs === undefined && lane.runner.isBehind) this.#late.add(lane)
  }

  get isUnderWay(): boolean {
    return this.#underWay.size > 0
  }

  /** Starts a read if the runner runs low and the log has more that is trusted. */
  readAhead(lane: Lane): void {
    const { runner } = lane
    if (runner.readAheadCount > readAheadLow || lane.damage !== undefined || this.#underWay.has(lane)) return
    if (lane.marks.areKnown) {
      if (runner.readFrom >= trustedEndOf(this.#parts, lane)) return
      if (lane.logs === undefined && !runner.isBehind) return
    }
    this.#underWay.add(lane)
    this.#parts.life.run(this.#read(lane))
  }

  async #read(lane: Lane): Promise<void> {
    const { life, events, options } = this.#parts
    try {
      if (!lane.marks.areKnown) await this.#readMarks(lane)
      await this.#readFrames(lane)
    } catch (error) {
      if (life.isOver || !isWaybillError(error)) throw error
      lane.damage = error
      // What does not verify stays so; a device that failed may answer again.
      if (error.code === 'DISK_FAILED') options.clock.after(retryMs, () => this.#tryAgain(lane))
      events.emit('warning', {
        code: error.code,
        message: `lane ${lane.number} stands still: ${error.message}`,
      })
    } finally {
      this.#underWay.delete(lane)
    }
    if (life.isOver) return
    if (!lane.runner.isBehind && this.#late.delete(lane) && this.#late.size === 0) this.#options.onCaughtUp()
    this.#options.onRead()
  }

  #tryAgain(lane: Lane): void {
    lane.damage = undefined
    if (!this.#parts.life.isOver) this.#options.onRead()
  }

  /** Those that earlier lives recorded, all or none. */
  async #readMarks({ marks, runner, logs }: Lane): Promise<void> {
    const { files } = logs?.envelopes ?? this.#parts.journal
    marks.restoreAll(await readMarks(files, marks.unread, runner.position))
  }

  async #readFrames(lane: Lane): Promise<void> {
    const { journal } = this.#parts
    const { runner, logs } = lane
    const end = trustedEndOf(this.#parts, lane)
    const seenAtMs = this.#parts.options.clock.monotonicMs()
    let countLeft = readAheadCountMax - runner.readAheadCount
    let bytesLeft = readAheadBytesMax
    const visit = (window: Buffer, at: number, position: Position, bytes: number): boolean => {
      if (kindAt(window, at) !== kinds.envelope || classAt(window, at) !== lane.number) return false
      const envelope = decodeEnvelope(payloadAt(window, at))
      runner.found({ position, bytes, timeMs: timeAt(window, at), envelope, data: undefined, seenAtMs })
      countLeft--
      bytesLeft -= payloadBytesAt(window, at)
      // Behind the last that was missed all is handed over, and the journal is not kept for a
      // reader that goes on:
      //    1. the last is found
      //    2. it ends, and a checkpoint recycles what lies behind it
      //    3. that is read: damage, and no new mail goes
      const hasAll = logs === undefined && !runner.isBehind
      return hasAll || countLeft <= 0 || bytesLeft <= 0
    }
    const reached = await (logs?.envelopes ?? journal).read(runner.readFrom, end, visit)
    runner.readTo(reached)
  }
}
