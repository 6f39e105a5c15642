/** Wires the parts of one life. Parts never call each other: each event from one to another passes
 * here.
 * Three decisions that need several parts are made here: may another message become active, is a
 * message poison (too many recoveries found it without progress), is the queue idle. */
import type { ActiveMessage } from '../active/active-message.js'
import { nowhere, type Position } from '../base/position.js'
import { ignoreFullDisk } from '../disk/failure.js'
import type { SegmentFiles } from '../log/segment-files.js'
import { Accept } from './accept/accept.js'
import { Checkpointer } from './checkpoint/checkpointer.js'
import { unlessFull } from './life/unless-full.js'
import { Schedule } from './schedule/schedule.js'
import { Dispatch } from './deliver/dispatch.js'
import { Intake } from './start/intake.js'
import { Orders, type Order, stopsAttempts } from './settle/orders.js'
import { DelayedUnlinks } from './checkpoint/delayed-unlinks.js'
import type { Parts } from './life/parts.js'
import { Reclaim } from './checkpoint/reclaim.js'
import { SegmentCleaner } from './cleaning/segment-cleaner.js'
import { readState, type RecoveredState } from './recover/recovered-state.js'
import { recover, type RecoveryFacts } from './recover/recover.js'
import { SecondReading } from './recover/second-reading.js'
import { Settle } from './settle/settle.js'

export interface EngineFacts extends RecoveryFacts {
  readonly life: number
  /** Bytes of a torn batch that were cut there. */
  readonly cutBytes: number
  /** Spool files that existed then. */
  readonly spools: readonly number[]
}

export class Engine {
  readonly accept: Accept
  readonly intake: Intake
  readonly dispatch: Dispatch
  readonly settle: Settle
  readonly checkpointer: Checkpointer
  readonly reclaim: Reclaim
  readonly #schedule: Schedule
  readonly #orders = new Orders()
  readonly #delayedUnlinks: DelayedUnlinks
  readonly #parts: Parts
  readonly #facts: EngineFacts
  #recovering = true
  #isFullTold = false
  #recoveredState: RecoveredState | undefined
  #recovered: Promise<void> | undefined

  /** @param recoveredState undefined: it is read while mail is accepted */
  constructor(parts: Parts, facts: EngineFacts, recoveredState: RecoveredState | undefined) {
    this.#parts = parts
    this.#facts = facts
    this.#recoveredState = recoveredState
    const { active, options } = parts
    const progress = () => this.dispatch.progress()
    this.accept = new Accept(parts, { progress, onAccepted: () => this.#wakeLater() })
    this.reclaim = new Reclaim(parts)
    this.#delayedUnlinks = new DelayedUnlinks(parts.journal, () => this.reclaim.isFull)
    this.settle = new Settle(parts, this.#orders, {
      untrustedMax: options.activeCountMax,
      isFull: () => this.reclaim.isFull,
      isHopeless: (message) =>
        this.reclaim.isFull && (message.start === nowhere || this.#orders.of(message) !== undefined),
      onEnd: () => {
        this.intake.wake()
        this.checkpointer.want()
      },
      onReplacement: (intervalMs) => {
        const isMany = this.settle.room.untrustedCount >= options.activeCountMax / 2
        this.checkpointer.want(isMany ? 0 : intervalMs)
      },
      outlived: () => {
        //    1. finish and a checkpoint's record in one batch
        //    2. nothing more to say, for ever
        //    3. its file is the room that new mail lacks
        this.checkpointer.wantAgain()
        return this.#delayedUnlinks.oneMore()
      },
      onUnlinked: () => this.checkpointer.wantAgain(),
      goOn: (message) => this.#goOn(message),
      onAside: () => this.intake.wake(),
      timedLane: (intervalMs) => this.#schedule.timedLane(intervalMs),
    })
    this.#schedule = new Schedule(parts, {
      checkpoint: () => this.checkpoint(),
      onLane: (lane) => this.intake.laneCame(lane),
      postpone: (message) => this.settle.postpone(message),
      expire: (message) => this.order(message, { kind: 'expire', byTime: true }),
    })
    const onLimits = (): void => this.settle.attemptLimited()
    this.dispatch = new Dispatch(parts, { onSettled: (message) => this.settle.settle(message), onLimits })
    this.intake = new Intake(parts, {
      // A message that is retried later gives its place to another: at most as many as may be
      // active, as after a recovery.
      hasRoom: () =>
        active.count - Math.min(this.settle.asideCount, options.activeCountMax) < options.activeCountMax &&
        this.dispatch.hasRoom,
      isHopeless: () => this.reclaim.isFull && this.dispatch.underWayCount === 0,
      acceptedEnd: () => this.accept.acceptedEnd,
      isAtRest: () => active.count === this.settle.asideCount,
      isAsideFull: () => !this.settle.hasRoomAside(true),
      // Lives that end before the next one would keep the journal of all of them.
      onCaughtUp: () => parts.life.run(this.checkpointer.now()),
      onStart: (message, nowMs) => {
        // What has not been attempted is put on hold when it is settled.
        if (message.envelope.held) this.settle.settle(message)
        else if (!this.#schedule.postpones(message)) this.dispatch.admit(message, nowMs)
      },
    })
    const cleaner = this.#newCleaner()
    this.checkpointer = new Checkpointer(parts, {
      life: facts.life,
      suffix: facts.checkpoint.suffix,
      reclaim: this.reclaim,
      onCapture: () => this.settle.room.capture(),
      onDurable: () => this.#checkpointed(),
      onReleased: (captured) => cleaner.look(captured),
    })
  }

  /** Lanes are trusted further. */
  #checkpointed(): void {
    this.settle.checkpointed()
    this.intake.wake()
  }

  #newCleaner(): SegmentCleaner {
    return new SegmentCleaner(this.#parts, {
      isTime: () => this.#parts.options.deliver && this.dispatch.gate.isOpen && !this.reclaim.isFull,
      onDurable: () => this.intake.wake(),
    })
  }

  /** Runners do not go yet. */
  get isRecovering(): boolean {
    return this.#recovering
  }

  /** A turn later: submissions of callers that resume now go to the disk first, and deliveries are
   * recorded meanwhile. */
  #wakeLater(): void {
    this.#parts.options.clock.soon(() => this.intake.wake())
  }

  /** The journal is durable up to `end`. */
  durable(end: Position): void {
    this.accept.durable(end)
    this.dispatch.durable()
    this.#parts.outcomes.copy()
    this.#delayedUnlinks.look()
    this.checkpointer.want()
  }

  /** A segment was entered: the ones before it may be garbage soon. */
  segmentEntered(): void {
    this.checkpointer.want(0)
  }

  /** The disk is full: orders do not wait for room as mail does. */
  full(): void {
    this.reclaim.retry()
    this.settle.room.changed()
    this.#delayedUnlinks.look()
    if (this.#recovering && this.reclaim.isWaitedFor) this.#tellFull()
  }

  /** Once. */
  #tellFull(): void {
    if (this.#isFullTold) return
    this.#isFullTold = true
    const message = 'recovery waits for room on the disk: until there is more nothing is delivered'
    this.#parts.events.emit('warning', { code: 'DISK_FULL', message })
  }

  /** Settles when nothing is left to do now, and what was done is durable.
   * @throws WaybillError QUEUE_CRASHED by rejection */
  async idle(): Promise<void> {
    const { life, lanes } = this.#parts
    await life.orEnd(this.intake.idle())
    // What a recovery has replaced again may be due; its lane is trusted so far after a
    // checkpoint.
    if ([...lanes].some((lane) => lane.isAheadOfTrust)) {
      await life.orEnd(this.checkpointer.now())
      await life.orEnd(this.intake.idle())
    }
    // Programs that are started for each mail end here: the next one has less to read.
    const { underWay } = this.checkpointer
    if (underWay !== undefined)
      await this.#unlessFull(underWay, 'a checkpoint').catch((error: unknown) => ignoreFullDisk(error))
    await this.allDurable()
  }

  /** What was appended is durable, and its submissions are settled.
   * @throws WaybillError QUEUE_CRASHED by rejection */
  async allDurable(): Promise<void> {
    const { journal } = this.#parts
    await journal.whenDurable(journal.end)
    this.accept.settleDurable()
  }

  /** A checkpoint that is captured after this call; while recovery goes on there is none.
   * @throws WaybillError DISK_FULL by rejection, when there is no room for one */
  checkpoint(): Promise<void> {
    return this.#unlessFull(this.checkpointer.now(), 'a checkpoint')
  }

  /** Settles when recovery has ended.
   * @throws WaybillError DISK_FULL by rejection, when it waits for room */
  whenRecovered(): Promise<void> {
    return this.#unlessFull(this.recovered, 'the end of a recovery')
  }

  #unlessFull(event: Promise<void>, what: string): Promise<void> {
    const { life, options } = this.#parts
    return life.orEnd(unlessFull(options.clock, event, what, () => this.reclaim.isWaitedFor))
  }

  /** There may be room where there was none. */
  roomChanged(): void {
    this.dispatch.wake()
    this.accept.space.renew()
    this.accept.roomChanged()
    this.settle.roomChanged()
    this.reclaim.roomChanged()
    this.#delayedUnlinks.look()
    this.intake.wake()
  }

  /** Orders something for an active message. It is carried out when no attempt on it is under way.
   * @returns false when it has ended otherwise; rejects with the WaybillError that kept it from
   * being carried out */
  async order(message: ActiveMessage, order: Order): Promise<boolean> {
    const { active, options } = this.#parts
    for (let earlier = this.#orders.answerOf(message); earlier !== undefined;) {
      await earlier.catch(() => false)
      earlier = this.#orders.answerOf(message)
    }
    if (!active.has(message)) return false
    const answer = this.#orders.place(message, order)
    if (!this.dispatch.withdraw(message, stopsAttempts(order))) {
      // A life that delivers nothing has not handed it to anybody, unless it is to be replaced
      // again.
      if (options.deliver || message.replacement !== undefined) this.settle.reconsider(message)
      else this.settle.settle(message)
    }
    return answer
  }

  /** Settles when recovery has ended; rejects when it cannot. */
  get recovered(): Promise<void> {
    return (this.#recovered ??= this.#recover())
  }

  /** The second half of recovery, while mail is accepted. */
  async #recover(): Promise<void> {
    const { life, events, options } = this.#parts
    const startedAt = options.clock.monotonicMs()
    const { cutBytes } = this.#facts
    this.#parts.journal.releaseLastSpare()
    const { keys, outcomes } = this.#parts
    // Meanwhile outcomes are copied from what the recovery reads: its checkpoint can say so.
    const outcomesRestored = outcomes.restore()
    if (outcomesRestored !== undefined) life.run(outcomesRestored)
    const recoveredState = this.#recoveredState ?? (await this.#readState())
    this.#recoveredState = undefined
    for (const restored of [keys.restore(recoveredState.keyed), outcomesRestored])
      if (restored !== undefined) await restored
    const roomChange = (): Promise<void> => this.reclaim.roomChange()
    const { messages, unread } = await recover(this.#parts, this.#facts, recoveredState, roomChange)
    life.check()
    await this.checkpointer.run()
    life.check()
    this.#parts.journal.keepLastSpare()
    this.#recovering = false
    if (options.deliver) {
      // Room for the first replacements is part of the reserve: on a full disk deferred mail still
      // finds a place.
      for (const { logs, wanted } of this.#parts.lanes)
        if (wanted) {
          logs?.envelopes.extend()
          logs?.data.extend()
        }
    }
    for (const message of messages) this.#resume(message)
    new SecondReading(this.#parts, unread, (message) => this.#resume(message)).begin()
    this.intake.run()
    const durationMs = options.clock.monotonicMs() - startedAt
    events.emit('recovered', { messageCount: messages.length, cutBytes, durationMs })
  }

  #readState(): Promise<RecoveredState> {
    const { journal, lanes, options } = this.#parts
    const { checkpoint, tailEnd, spools } = this.#facts
    const envelopesOf = (lane: number): SegmentFiles => lanes.get(lane).logs!.envelopes.files
    return readState({ journal, envelopesOf }, checkpoint, tailEnd, spools, options.layout === 'single')
  }

  /** Drops timers and rejects whatever still waits; writes nothing. */
  stop(): void {
    const { life, journal } = this.#parts
    journal.fail(life.reason)
    this.accept.fail(life.reason)
    this.intake.stop()
    this.checkpointer.stop()
    this.dispatch.abandon()
    this.#orders.fail(life.reason)
    this.settle.roomChanged()
    this.reclaim.stop()
    this.#parts.outcomes.stop()
    this.#parts.suspensions.stop()
  }

  /** An order could not be carried out: what still waits is attempted as before, mail on hold
   * excepted. */
  #goOn(message: ActiveMessage): void {
    if (this.#hasPlace(message)) this.settle.settle(message)
    else if (this.#parts.options.deliver && !this.#schedule.postpones(message)) this.dispatch.admit(message)
  }

  #resume(message: ActiveMessage): void {
    // What was replaced is not delivered by being replaced again.
    if (!this.#parts.options.deliver && message.replacement === undefined) return
    if (this.#isPoison(message) && message.pendingCount > 0)
      this.#parts.events.emit('warning', {
        code: 'MESSAGE_HELD',
        message: `${message.recoveries} recoveries found this message attempted and without progress; it is put on hold`,
        id: message.envelope.id,
      })
    if (this.#hasPlace(message)) this.settle.settle(message)
    else if (!this.#schedule.postpones(message)) this.dispatch.admitAgain(message)
  }

  /** It goes to a lane, and is not attempted before. */
  #hasPlace(message: ActiveMessage): boolean {
    return message.replacement !== undefined || message.envelope.held || this.#isPoison(message)
  }

  #isPoison({ recoveries }: ActiveMessage): boolean {
    const { fruitlessRecoveriesMax, deliver } = this.#parts.options
    return deliver && fruitlessRecoveriesMax > 0 && recoveries > fruitlessRecoveriesMax
  }
}
