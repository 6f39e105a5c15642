/** The queue of messages whose attempts are over. decide.ts or an operator's order says how each
 * ends; finish.ts and move.ts carry it out.
 * Invariant: until its end is appended a message stays active. A message that cannot end now is
 * settled again when room comes, or at a later time. */
import type { Timer } from '../../base/clock.js'
import { Ring } from '../../base/ring.js'
import type { ActiveMessage } from '../../active/active-message.js'
import type { Turn } from '../../active/limit-turns.js'
import { isWaybillError } from '../../errors.js'
import type { Lane } from '../../lane/lane.js'
import { isEarly, isOver, type EnvelopeTerms } from '../../record/terms.js'
import { timedIntervalsMs, timedWaitOf } from '../schedule/timed-wait.js'
import { Finish, type FinishCallbacks } from './finish.js'
import { ageOf, nowOf } from './message-age.js'
import { Move, type MoveCallbacks } from './move.js'
import type { Order, Orders } from './orders.js'
import { Room, type EndResult, type RoomCallbacks, type Work } from './room.js'
import { bytesPassed } from '../checkpoint/pinning.js'
import { betweenPieces } from './long-step.js'
import { settling, settlingOf } from '../life/tracing.js'
import type { Parts } from '../life/parts.js'
import { settleDecision, turnDecision, type SettleFacts } from './decide.js'
import { lookAgainMs, tellTrouble } from '../life/trouble.js'
import { giveUp, deferredOf } from './deferred.js'
import { waits } from '../start/waiting-messages.js'

/** A message that a limit keeps is looked at again within the policy's longest interval, or within
 * this, milliseconds: it may be too old. */
const lookMsMin = 10_000
/** Messages being settled at once that need reading or composing. */
const workersMax = 64
export interface SettleCallbacks extends RoomCallbacks, FinishCallbacks, MoveCallbacks {
  /** An order for the message could not be carried out: it is attempted as before. */
  readonly goOn: (message: ActiveMessage) => void
  /** A message is settled again later: another may be active in its place. */
  readonly onAside: () => void
  /** The lane in which a message waits until about then. */
  readonly timedLane: (intervalMs: number) => Promise<Lane>
}

/** `postponed`: it waits in memory for its time, or is attempted, because that has come. */
type SettleResult = EndResult | 'postponed'

export class Settle {
  readonly #parts: Parts
  readonly room: Room
  readonly #finish: Finish
  readonly #move: Move
  readonly #orders: Orders
  readonly #queue = new Ring<ActiveMessage>()
  /** Messages without room. */
  readonly #parked: ActiveMessage[] = []
  /** Messages that could not be read or composed are retried later. */
  readonly #aside = new Map<ActiveMessage, Timer>()
  /** Those that are active, and not to be attempted now. */
  readonly #postponed = new WeakSet<ActiveMessage>()
  readonly #callbacks: SettleCallbacks
  #workers = 0
  /** How often room may have come. */
  #roomChangeCount = 0

  constructor(parts: Parts, orders: Orders, callbacks: SettleCallbacks) {
    this.#parts = parts
    this.room = new Room(parts, callbacks)
    this.#finish = new Finish(parts, this.room, callbacks)
    this.#move = new Move(parts, this.room, callbacks)
    this.#orders = orders
    this.#callbacks = callbacks
  }

  /** Active messages that wait until they are looked at again. */
  get asideCount(): number {
    return this.#aside.size
  }

  /** Are those so few that another need not wait in a lane?
   * @param prefers it is due soon, or would miss its turn in a lane */
  hasRoomAside(prefers: boolean): boolean {
    return this.#aside.size < this.#parts.options.activeCountMax / (prefers ? 2 : 4)
  }

  /** No recipient waits for an attempt, or none is to be attempted. */
  settle(message: ActiveMessage): void {
    if (settling.hasSubscribers) settling.publish(settlingOf(message))
    const done = message.deliveredCount === message.envelope.recipientCount
    if (done && message.replacement === undefined && !message.tellsSuccess) {
      this.#finish.delivered(message)
      this.#orders.ended(message, false)
      return
    }
    this.#queue.push(message)
    this.#work()
  }

  /** The message is not to be attempted: it waits for its time, or has expired. */
  postpone(message: ActiveMessage): void {
    this.#postponed.add(message)
    this.settle(message)
  }

  /** An order has come for a message that is being settled: it need not wait for what the
   * message waited for. */
  reconsider(message: ActiveMessage): void {
    this.#aside.get(message)?.cancel()
    if (this.#aside.delete(message)) this.settle(message)
    else this.roomChanged()
  }

  /** One that waits for its turn is attempted: it may begin by now.
   * @returns false: it does not wait for one here */
  attempt(message: ActiveMessage): boolean {
    if (!this.isLimited(message)) return false
    this.#aside.get(message)!.cancel()
    this.#aside.delete(message)
    this.#callbacks.goOn(message)
    return true
  }

  /** Limits are others: as `attempt`, of all. What is being attempted or settled is attempted
   * behind that. */
  attemptLimited(): void {
    for (const message of this.#parts.active.messages()) {
      message.turns?.outdate()
      this.attempt(message)
    }
  }

  /** Does it wait for its turn in memory? */
  isLimited(message: ActiveMessage): boolean {
    return message.turns?.first !== undefined && this.#aside.has(message)
  }

  /** A checkpoint is durable: lanes are trusted further. */
  checkpointed(): void {
    this.room.checkpointed()
    this.#moveOld()
    this.roomChanged()
  }

  /** What waits in memory for its turn while much mail passes moves to a lane:
   *    1. limited mail waits for hours, and pins the segments in which it stands
   *    2. other mail comes and goes; each segment has some of the limited mail
   *    3. none is garbage: the disk is full */
  #moveOld(): void {
    for (const message of this.#aside.keys())
      if (this.isLimited(message) && this.#isOld(message)) this.reconsider(message)
  }

  /** Room may have come. */
  roomChanged(): void {
    this.#roomChangeCount++
    this.room.changed()
    if (this.#parked.length === 0 || this.#parts.life.isOver) return
    for (const message of this.#parked.splice(0)) this.#queue.push(message)
    this.#work()
  }

  /** Carries out an order on a message that waits in a lane, where it was read: it is started and
   * ended in one step.
   * @returns false when it does not wait there any more */
  async carryOut(message: ActiveMessage, order: Order): Promise<boolean> {
    const isStill = (): boolean => waits(this.#parts, message.place)
    while (isStill()) {
      const changeCount = this.#roomChangeCount
      const result = await this.#obey({ message, isStill }, order).catch((error: unknown) => {
        // What moves on may take along what was to be read.
        if (this.#parts.life.isOver || !isWaybillError(error) || isStill()) throw error
        return 'overtaken'
      })
      if (result !== 'no room') return result === 'done'
      // Room that came before this step is announced no more: the order would wait for the next.
      if (changeCount === this.#roomChangeCount) await this.room.change()
    }
    return false
  }

  /** Messages of others than the caller's may be next. */
  #work(): void {
    const { life } = this.#parts
    life.guard(() => {
      while (this.#workers < workersMax && this.#queue.length > 0) {
        this.#workers++
        life.run(
          this.#settle(this.#queue.shift()!).finally(() => {
            this.#workers--
            if (!life.isOver) this.#work()
          }),
        )
      }
    })
  }

  /** A message that cannot be read or composed now is settled again later. */
  async #settle(message: ActiveMessage): Promise<void> {
    const { life } = this.#parts
    let order = this.#orders.of(message)
    const isStill = (): boolean => this.#orders.of(message) === order
    try {
      for (;;) {
        const changeCount = this.#roomChangeCount
        const result =
          order === undefined
            ? await this.#decide({ message, isStill })
            : await this.#obey({ message, isStill }, order)
        if (result === 'postponed') return
        if (result === 'done') return this.#orders.ended(message, isCarriedOut(order, message))
        // An order that came meanwhile may need no room, and room may have come.
        if (result === 'no room' && isStill() && changeCount === this.#roomChangeCount)
          return void this.#parked.push(message)
        order = this.#orders.of(message)
      }
    } catch (error) {
      if (life.isOver) throw error
      tellTrouble(this.#parts, message.envelope.id, error)
      // An order that came meanwhile may not need what could not be read.
      if (!isStill()) return this.settle(message)
      if (order === undefined) return this.#standAside(message, lookAgainMs(error))
      this.#orders.failed(message, error)
      this.#callbacks.goOn(message)
    }
  }

  #standAside(message: ActiveMessage, forMs: number, next = () => this.settle(message)): void {
    const { life, options } = this.#parts
    const timer = options.clock.after(forMs, () => {
      this.#aside.delete(message)
      if (!life.isOver) next()
    })
    this.#aside.set(message, timer)
    this.#callbacks.onAside()
  }

  async #decide(work: Work): Promise<SettleResult> {
    const { lanes, options, clock } = this.#parts
    const { message } = work
    const { replacement } = message
    const { terms } = message.envelope
    const isWaiting = terms !== undefined && !message.hasOutcome
    if (replacement !== undefined) {
      // By a time that was noted in an earlier life it would be late by as long as nothing lived.
      if (isWaiting && terms.notBefore > 0 && lanes.hold.number !== replacement.lane)
        return this.#moveToItsTime(work, terms)
      const lane = lanes.has(replacement.lane) ? lanes.get(replacement.lane) : lanes.forDelay(0)
      return this.#move.to(work, { lane, timeMs: replacement.timeMs })
    }
    const now = nowOf(clock)
    if (terms !== undefined && this.#postponed.has(message)) return this.#postpone(work, terms)
    const ageMs = ageOf(Math.max(message.envelope.acceptedAt, terms?.notBefore ?? 0), now)
    const deferred = await deferredOf(this.#parts, message)
    if (deferred.length > 0) await betweenPieces(this.#parts, message.deferredCount)
    if (!work.isStill()) return 'overtaken'
    const { wallMs } = now
    const facts = { message, ageMs, wallMs, deferred }
    const turn = message.turns?.first
    if (turn !== undefined && message.pendingCount > 0) return this.#waitForTurn(work, facts, turn)
    const decision = settleDecision(facts, options.retry, options.prng)
    switch (decision.kind) {
      case 'finish':
        return this.#finish.withReport(work, decision.expired)
      case 'replace': {
        const { delayMs, warns, until, expired } = decision
        if (expired.length > 0 && !giveUp(this.#parts, message, expired)) return 'no room'
        if (until !== undefined) return this.#waitUntil(work, until, warns)
        return this.#move.to(work, { lane: lanes.forDelay(delayMs), warns })
      }
      case 'hold':
        return this.#move.to(work, { lane: lanes.hold })
    }
  }

  /** The message is active before its time, or behind it. */
  async #postpone(work: Work, terms: EnvelopeTerms): Promise<SettleResult> {
    const { message } = work
    const wallMs = this.#parts.clock.wallMs()
    if (isOver(terms, wallMs)) return this.#finish.withReport(work, waitingIn(message))
    if (isEarly(terms, wallMs)) return this.#waitUntil(work, terms.notBefore, false)
    this.#postponed.delete(message)
    this.#callbacks.goOn(message)
    return 'postponed'
  }

  /** Makes an untrusted replacement again. A message that is due soon is started anew, and waits
   * then. */
  async #moveToItsTime(work: Work, { notBefore }: EnvelopeTerms): Promise<EndResult> {
    const wait = timedWaitOf(notBefore - this.#parts.clock.wallMs())
    const { incoming } = this.#parts.lanes
    const lane = wait.kind === 'lane' ? await this.#callbacks.timedLane(wait.intervalMs) : incoming
    return this.#move.to(work, { lane })
  }

  /** @param notBefore the next life knows it, too */
  async #waitUntil(work: Work, notBefore: number, warns: boolean): Promise<SettleResult> {
    const wait = timedWaitOf(notBefore - this.#parts.clock.wallMs())
    if (wait.kind === 'lane') {
      const lane = await this.#callbacks.timedLane(wait.intervalMs)
      return this.#move.to(work, { lane, warns, changes: { notBefore } })
    }
    this.#standAside(work.message, wait.kind === 'aside' ? Math.ceil(wait.forMs) : 1)
    return 'postponed'
  }

  /** A limit keeps a delivery of the message waiting, and none is under way. */
  async #waitForTurn(work: Work, facts: SettleFacts, turn: Turn): Promise<SettleResult> {
    const { lanes, options } = this.#parts
    const { message, wallMs } = facts
    if (isOver(message.envelope.terms, wallMs)) return this.#finish.withReport(work, waitingIn(message))
    const lookMs = Math.max(lookMsMin, ...options.retry.intervalsMs)
    const leftMs = Math.min(turn.untilMs - options.clock.monotonicMs(), lookMs)
    const wait = timedWaitOf(leftMs)
    if (wait.kind === 'due' || message.turns!.isOutdated) {
      this.#callbacks.goOn(message)
      return 'postponed'
    }
    const decision = turnDecision(facts, { ...turn, leftMs }, options.retry, options.prng)
    if (decision.kind === 'finish') return this.#finish.withReport(work, decision.expired)
    // In the lane of its deferred recipients it would miss its turn, each time.
    const hasRoomAside = this.hasRoomAside(wait.kind === 'aside' || message.deferredCount > 0)
    // Attempted before its turn, too: those before it may be gone.
    const standAside = (): SettleResult => {
      this.#standAside(message, Math.ceil(leftMs), () => this.#callbacks.goOn(message))
      return 'postponed'
    }
    if (hasRoomAside && (wait.kind === 'aside' || !this.#isOld(message))) return standAside()
    const { delayMs, warns, expired } = decision
    if (expired.length > 0 && !giveUp(this.#parts, message, expired)) return 'no room'
    const timedLane = (): Promise<Lane> =>
      this.#callbacks.timedLane(wait.kind === 'lane' ? wait.intervalMs : timedIntervalsMs[0]!)
    const result =
      message.deferredCount > 0
        ? await this.#move.to(work, { lane: lanes.forDelay(delayMs), warns })
        : await this.#move.to(work, { lane: await timedLane() })
    // On a full disk it has its turn all the same.
    return result === 'no room' && hasRoomAside && work.isStill() ? standAside() : result
  }

  /** Much of the disk may be kept for it alone. */
  #isOld(message: ActiveMessage): boolean {
    return bytesPassed(this.#parts, message) >= this.#parts.options.suffixBytesMax
  }

  async #obey(work: Work, order: Order): Promise<SettleResult> {
    const { message } = work
    const left = waitingIn(message)
    // Its attempts have ended it: only its end is to be appended.
    if (left.length === 0 && order.kind === 'move') return this.#decide(work)
    switch (order.kind) {
      case 'delete':
        return this.#finish.drop(work)
      case 'expire':
        return this.#finish.withReport(work, left)
      case 'move': {
        const { lane, changes } = order
        return this.#move.to(work, { lane: this.#parts.lanes[lane], changes })
      }
    }
  }
}

/** Recipients that have no final outcome. */
const waitingIn = (message: ActiveMessage): number[] => [
  ...message.indexesIn('pending'),
  ...message.indexesIn('deferred'),
]

/** A message that its attempts have ended was not put on hold, nor made due. */
const isCarriedOut = (order: Order | undefined, { pendingCount, deferredCount }: ActiveMessage): boolean =>
  order !== undefined && (order.kind === 'delete' || pendingCount + deferredCount > 0)
