/** Brings messages from the lanes into the active set, incoming and deferred in turn, as long as
 * there is room.
 * Invariant: a message becomes active in the step in which its start is appended, and its lane's
 * position moves in the same step; only trusted envelopes are started. */
import { Ring } from '../../base/ring.js'
import { ActiveMessage, PlaceInTurn, type EnvelopePlace } from '../../active/active-message.js'
import { EarliestTimer } from '../../base/clock.js'
import { position, type Position } from '../../base/position.js'
import type { Lane } from '../../lane/lane.js'
import type { Candidate } from '../../lane/runner.js'
import { kinds } from '../../record/frame.js'
import { writeStart } from '../../record/start.js'
import { canMark } from '../checkpoint/capture.js'
import { diskFull } from '../life/trouble.js'
import { asideMsMax } from '../schedule/timed-wait.js'
import { dataPosition, pinSegments } from '../checkpoint/pinning.js'
import { LaneReading } from './lane-reading.js'
import type { Parts } from '../life/parts.js'
import { trustedEndOf, waits, type WaitingMessage } from './waiting-messages.js'

/** Messages started in one turn of the event loop. */
const startsPerTurnMax = 1000
/** While a message waits for its time a wall clock that was set is noticed after this. */
const clockLookMs = 30_000
/** Whether there is room for more that wait in memory is looked at so often. */
const asideLookMs = 100

export interface IntakeOptions {
  /** Is there room for another active message? */
  readonly hasRoom: () => boolean
  /** Nobody waits for it: the disk is full, and nothing is under way that could make some. */
  readonly isHopeless: () => boolean
  /** New mail behind it is not started. */
  readonly acceptedEnd: () => Position
  /** Nothing is left to do now with the active messages there are. */
  readonly isAtRest: () => boolean
  /** So many wait in memory for their time that others wait where they are. */
  readonly isAsideFull: () => boolean
  /** The journal is not needed any more where runners of the life before stood. */
  readonly onCaughtUp: () => void
  /** The message is active, as of now by the monotonic clock. */
  readonly onStart: (message: ActiveMessage, nowMs: number) => void
}

/** The clocks, looked at once for all that starts in one step. */
interface Step {
  readonly wallMs: number
  readonly monotonicMs: number
}

interface Wanted {
  readonly lane: Lane
  readonly message: WaitingMessage
  readonly askedFor: ActiveMessage['askedFor']
  readonly signal: AbortSignal | undefined
  readonly resolve: (isStarted: boolean) => void
  readonly reject: (error: unknown) => void
}

export class Intake {
  readonly #parts: Parts
  readonly #options: IntakeOptions
  readonly #reading: LaneReading
  /** The lanes but `incoming` in the order of their turns. */
  readonly #turns = new Ring<Lane>()
  /** Those that have nothing to start, in this step. */
  readonly #idle = new Ring<Lane>()
  #incomingIsIdle = false
  #incomingIsNext = true
  /** Messages that need not wait until they are due. */
  readonly #wanted = new Ring<Wanted>()
  /** Callers that wait until the queue is idle. */
  readonly #untilIdle: (() => void)[] = []
  #running = false
  #soon = false
  /** For the lane that is due first. */
  readonly #timer: EarliestTimer

  constructor(parts: Parts, options: IntakeOptions) {
    this.#parts = parts
    this.#options = options
    this.#reading = new LaneReading(parts, {
      onRead: () => this.wake(),
      onCaughtUp: options.onCaughtUp,
    })
    this.#timer = new EarliestTimer(parts.options.clock, () => this.wake())
  }

  /** Recovery has ended: runners go. In a life that delivers nothing they only pass what is marked,
   * as that of `hold` does always. */
  run(): void {
    this.#running = true
    this.#reading.begin()
    for (const lane of this.#parts.lanes) if (lane.kind !== 'incoming') this.#turns.push(lane)
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
    const hasEnded = this.#startInTurns()
    for (let lane = this.#idle.shift(); lane !== undefined; lane = this.#idle.shift()) this.#turns.push(lane)
    this.#incomingIsIdle = false
    if (!hasEnded) return
    this.#wakeWhenDue()
    if (this.#untilIdle.length > 0 && this.#isIdle()) for (const settle of this.#untilIdle.splice(0)) settle()
  }

  /** Settles when nothing is due, active or being read; never, when this life ends before that. */
  idle(): Promise<void> {
    this.wake()
    return new Promise((resolve) => this.#untilIdle.push(resolve))
  }

  /** Asked when what is in memory and due has been started: what is left is not durable
   * yet, or not read. */
  #isIdle(): boolean {
    const { lanes, options } = this.#parts
    const { runner, damage } = lanes.incoming
    const standsStill = !options.deliver || damage !== undefined
    const isEmpty = runner.readAheadCount === 0 && !runner.isBehind
    return this.#options.isAtRest() && !this.#reading.isUnderWay && (isEmpty || standsStill)
  }

  /** A lane that had nothing to start is not asked again: nothing comes to be due in one step.
   * @returns false when there is no room for more, or the turn of the event loop has
   * been long enough */
  #startInTurns(): boolean {
    const { clock } = this.#parts.options
    const step: Step = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }
    let started = 0
    while (this.#turns.length > 0 || !this.#incomingIsIdle || this.#wanted.length > 0) {
      if (!this.#options.hasRoom()) {
        if (this.#options.isHopeless()) this.#refuseWanted()
        return false
      }
      // Requested messages go before the lanes: a verb asks for a few at a time.
      let wasStarted = this.#startWanted(step)
      if (!wasStarted) {
        const lane = this.#nextLane()
        if (lane === undefined) break
        wasStarted = this.#startNext(lane, step)
        this.#turnEnded(lane, wasStarted)
      }
      if (wasStarted && ++started >= startsPerTurnMax) {
        this.wake()
        return false
      }
    }
    return true
  }

  /** New mail has every second turn, however many lanes are due: neither new nor deferred mail
   * keeps the other waiting. */
  #nextLane(): Lane | undefined {
    const isIncomings = !this.#incomingIsIdle && (this.#incomingIsNext || this.#turns.length === 0)
    return isIncomings ? this.#parts.lanes.incoming : this.#turns.shift()
  }

  #turnEnded(lane: Lane, wasStarted: boolean): void {
    const isIncoming = lane.kind === 'incoming'
    if (isIncoming) this.#incomingIsIdle = !wasStarted
    else (wasStarted ? this.#turns : this.#idle).push(lane)
    if (wasStarted) this.#incomingIsNext = !isIncoming
  }

  #startNext(lane: Lane, step: Step): boolean {
    this.#reading.readAhead(lane)
    const trustedEnd = trustedEndOf(this.#parts, lane)
    const acceptedEnd = lane.kind === 'incoming' ? this.#options.acceptedEnd() : trustedEnd
    const candidate = lane.runner.peek(position(Math.min(trustedEnd, acceptedEnd)))
    if (candidate === undefined || !this.#parts.options.deliver) return false
    if (lane.intervalMs > 0 && this.#waitMs(lane, candidate, step) > 0) return false
    this.#start(lane, candidate, step)
    return true
  }

  /** Milliseconds until it is to be started. */
  #waitMs(lane: Lane, candidate: Candidate, { wallMs, monotonicMs }: Step): number {
    const waitMs = lane.waitMs(candidate, wallMs, monotonicMs)
    const { terms } = candidate.envelope
    if (terms === undefined || terms.notBefore <= wallMs) return waitMs
    // The wall clock may be set: it is looked at now and then.
    if (waitMs > 0) return Math.min(waitMs, clockLookMs)
    const isNear = terms.notBefore - wallMs < asideMsMax
    return isNear && this.#options.isAsideFull() ? asideLookMs : 0
  }

  /** This life has added a lane. */
  laneCame(lane: Lane): void {
    if (this.#running) this.#turns.push(lane)
  }

  /** Starts a message where it waits, before its time, when there is room: it is marked.
   * @param askedFor whose mail is attempted even where it waits to be asked for
   * @param signal when it is aborted before there is room, nothing is started
   * @returns false when it does not wait there any more, or nobody wants it
   * @throws WaybillError DISK_FULL by rejection */
  startEarly(
    lane: Lane,
    message: WaitingMessage,
    askedFor: ActiveMessage['askedFor'],
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    this.wake()
    return new Promise((resolve, reject) =>
      this.#wanted.push({ lane, message, askedFor, signal, resolve, reject }),
    )
  }

  #refuseWanted(): void {
    for (let left = this.#wanted.shift(); left !== undefined; left = this.#wanted.shift())
      left.reject(diskFull('an order'))
  }

  #startWanted(step: Step): boolean {
    const wanted = this.#firstWanted()
    if (wanted === undefined) return false
    const { lane, message, askedFor, resolve, reject } = wanted
    if (!canMark(this.#parts, lane)) {
      if (lane.logs?.envelopes.diskFull === true) {
        this.#wanted.shift()
        reject(diskFull('an order'))
      }
      return false
    }
    this.#wanted.shift()
    const { envelope, place } = message
    if (waits(this.#parts, place)) {
      const at = this.#appendStart(lane, place, step)
      lane.marks.add(place.position)
      const active = new ActiveMessage(envelope, place, at, undefined)
      active.askedFor = askedFor
      this.#activate(active, undefined, step)
      resolve(true)
    } else resolve(false)
    return true
  }

  /** A caller that has aborted wants nothing. */
  #firstWanted(): Wanted | undefined {
    for (let wanted = this.#wanted.peek(); wanted !== undefined; wanted = this.#wanted.peek()) {
      if (wanted.signal?.aborted !== true) return wanted
      this.#wanted.shift()
      wanted.resolve(false)
    }
    return undefined
  }

  #start(lane: Lane, { envelope, position: at, bytes, data }: Candidate, step: Step): void {
    const place = new PlaceInTurn(lane.number, at, bytes)
    const start = this.#appendStart(lane, place, step)
    lane.runner.take()
    const dataAt = dataPosition(envelope.data)
    if (dataAt > lane.dataFloor) lane.dataFloor = dataAt
    this.#activate(new ActiveMessage(envelope, place, start, undefined), data, step)
  }

  #appendStart(lane: Lane, place: EnvelopePlace, { wallMs }: Step): Position {
    const { journal } = this.#parts
    const { position: at, bytes, outOfOrder } = place
    journal.aim()
    writeStart({ envelope: at, envelopeBytes: bytes, outOfOrder, carried: undefined })
    lane.namedAt = journal.appendAlone(kinds.start, lane.number, wallMs)
    return lane.namedAt
  }

  #activate(message: ActiveMessage, data: Buffer | undefined, { monotonicMs }: Step): void {
    const { active } = this.#parts
    active.add(message)
    active.keepRecipients(message)
    active.keepData(message, data)
    pinSegments(this.#parts, message)
    this.#options.onStart(message, monotonicMs)
  }

  /** One timer, for the lane that is due first. */
  #wakeWhenDue(): void {
    const { clock, deliver } = this.#parts.options
    if (!deliver) return
    const monotonicMs = clock.monotonicMs()
    const step: Step = { wallMs: clock.wallMs(), monotonicMs }
    let waitMs = Infinity
    for (const lane of this.#parts.lanes) {
      if (lane.kind !== 'retry') continue
      const candidate = lane.runner.peek(trustedEndOf(this.#parts, lane))
      if (candidate !== undefined) waitMs = Math.min(waitMs, this.#waitMs(lane, candidate, step))
    }
    this.#timer.at(monotonicMs + waitMs, monotonicMs)
  }

  /** The end of this life. */
  stop(): void {
    this.#running = false
    this.#timer.cancel()
    for (let left = this.#wanted.shift(); left !== undefined; left = this.#wanted.shift()) left.resolve(false)
  }
}
