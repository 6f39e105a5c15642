/** Brings messages from the lanes into the active set, incoming and deferred in turn, as long as there is room.
 * Invariant: a message becomes active in the step in which its start is appended, and its lane's position moves in the same
 * step; nothing that its lane's log does not vouch for is started. */
import { Ring } from '../base/ring.js'
import { ActiveMessage } from '../active/active-message.js'
import type { Timer } from '../base/clock.js'
import type { Lane } from '../lane/lane.js'
import type { Candidate } from '../lane/runner.js'
import { frameBytes, kinds } from '../record/frame.js'
import { encodeStart } from '../record/start.js'
import { dataPosition, hold } from './holding.js'
import { LaneReading } from './lane-reading.js'
import type { Parts } from './parts.js'

/** Messages started in one turn of the event loop. */
const startsPerTurnMax = 1000

export interface IntakeOptions {
  /** Is there room for another active message? */
  readonly hasRoom: () => boolean
  /** The message is active. */
  readonly onStart: (message: ActiveMessage) => void
}

export class Intake {
  readonly #parts: Parts
  readonly #options: IntakeOptions
  readonly #reading: LaneReading
  /** The lanes in the order of their turns. */
  readonly #turns = new Ring<Lane>()
  #running = false
  #soon = false
  #timer: Timer | undefined
  #timerAt = Infinity

  constructor(parts: Parts, options: IntakeOptions) {
    this.#parts = parts
    this.#options = options
    this.#reading = new LaneReading(parts, () => this.wake())
  }

  /** Recovery has ended: runners go. */
  run(): void {
    this.#running = true
    for (const lane of this.#parts.lanes) if (lane.kind !== 'hold') this.#turns.push(lane)
    this.wake()
  }

  /** Something changed: mail is durable, a lane is trusted further, room came, time passed. */
  wake(): void {
    if (!this.#running || this.#soon || this.#parts.life.isOver) return
    this.#soon = true
    this.#parts.options.clock.soon(() => {
      this.#soon = false
      this.#parts.life.guard(() => this.startDue())
    })
  }

  /** Starts what is due, in turns. */
  startDue(): void {
    if (!this.#running) return
    let idle = 0
    let started = 0
    while (idle < this.#turns.length) {
      if (!this.#options.hasRoom()) return
      const lane = this.#turns.shift()!
      this.#turns.push(lane)
      if (!this.#startNext(lane)) idle++
      else {
        idle = 0
        if (++started >= startsPerTurnMax) return this.wake()
      }
    }
    this.#wakeWhenDue()
  }

  #startNext(lane: Lane): boolean {
    const { clock } = this.#parts.options
    this.#reading.readAhead(lane)
    const candidate = lane.runner.peek(this.#reading.trustedEnd(lane))
    if (candidate === undefined) return false
    if (lane.intervalMs > 0 && lane.waitMs(candidate, clock.wallMs(), clock.monotonicMs()) > 0) return false
    this.#start(lane, candidate)
    return true
  }

  #start(lane: Lane, candidate: Candidate): void {
    const { journal, active, options } = this.#parts
    const place = {
      lane: lane.number,
      position: candidate.position,
      bytes: candidate.bytes,
      outOfOrder: false,
    }
    const payload = encodeStart({
      envelope: place.position,
      envelopeBytes: place.bytes,
      outOfOrder: false,
      carried: undefined,
    })
    journal.open(frameBytes(payload.length))
    const at = journal.append(kinds.start, lane.number, options.clock.wallMs(), payload)
    lane.runner.take()
    lane.namedAt = at
    const data = dataPosition(candidate.envelope.data)
    if (data > lane.dataFloor) lane.dataFloor = data
    const message = new ActiveMessage(candidate.envelope, place, at, undefined)
    active.add(message)
    active.keepData(message, candidate.data)
    hold(this.#parts, message)
    this.#options.onStart(message)
  }

  /** One timer, for the lane that is due first. */
  #wakeWhenDue(): void {
    const { clock } = this.#parts.options
    const monotonicMs = clock.monotonicMs()
    let waitMs = Infinity
    for (const lane of this.#parts.lanes) {
      if (lane.kind !== 'retry') continue
      const candidate = lane.runner.peek(this.#reading.trustedEnd(lane))
      if (candidate !== undefined)
        waitMs = Math.min(waitMs, lane.waitMs(candidate, clock.wallMs(), monotonicMs))
    }
    if (waitMs === Infinity) return
    const at = monotonicMs + waitMs
    if (this.#timer !== undefined && this.#timerAt <= at) return
    this.#timer?.cancel()
    this.#timerAt = at
    this.#timer = clock.after(Math.max(1, Math.ceil(waitMs)), () => {
      this.#timer = undefined
      this.#timerAt = Infinity
      this.wake()
    })
  }

  /** The end of this life. */
  stop(): void {
    this.#running = false
    this.#timer?.cancel()
  }
}
