/** A life that begins: its parts are made in the order in which they need each other.
 * Invariant: what a part asks of the engine before there is one has no effect; recovery looks at
 * everything afterwards. The life has one end, also while it begins. */
import { ActiveSet } from '../active/active-set.js'
import type { Clock } from '../base/clock.js'
import { position } from '../base/position.js'
import type { Completion } from '../directory/incomplete.js'
import type { QueueHeader } from '../directory/header.js'
import { laneDirectories, removeLanes } from '../directory/lane-directories.js'
import { sideFiles, sideLogNumbers } from '../directory/log-files.js'
import type { SideLogName } from '../directory/paths.js'
import type { Disk } from '../disk/disk.js'
import { patientDisk } from '../disk/patient-disk.js'
import { WaybillError, type WarningCode } from '../errors.js'
import { Garbage } from '../garbage/pins.js'
import type { Checkpoint } from '../record/checkpoint.js'
import type { JournalTail } from '../recovery/journal-tail.js'
import { filesFree } from './checkpoint/pinned-files.js'
import { Engine } from './engine.js'
import { KnownKeys } from './keys/known-keys.js'
import { BackupPins, backupWithoutRoom } from './life/backup-pins.js'
import { QueueEmitter } from './life/events.js'
import { Life, LifeClock } from './life/life.js'
import type { EngineOptions } from './life/options.js'
import { OwnContext } from './life/own-context.js'
import type { Ownership } from './life/ownership.js'
import type { Parts } from './life/parts.js'
import { Suspensions } from './life/suspensions.js'
import { syncing, syncOf } from './life/tracing.js'
import { MessageReader } from './message/message-reader.js'
import { Spool } from './message/spool.js'
import { Outcomes } from './outcomes/outcomes.js'
import { openJournal, type OpenedJournal } from './recover/open-journal.js'
import { openLanes, openNewLane } from './recover/open-lanes.js'
import { withoutSpools, type RecoveredState } from './recover/recovered-state.js'
import type { SideLogOptions } from './side-logs/side-log.js'

export interface OpenedEngine {
  readonly parts: Parts
  readonly engine: Engine
}

/** What a life begins from. */
export interface FoundQueue {
  readonly header: QueueHeader
  readonly tail: JournalTail
  readonly completion: Completion
}

/** Of a large message: its header, as far as a Message-ID may stand. */
const headBytes = 16 * 1024

/** Of the working suffix, and of a segment, that keys without a record may hold. */
const keyLagPart = 4

/** Used once. */
export class Beginning {
  readonly #disk: Disk
  readonly #patient: Disk
  readonly #options: EngineOptions
  readonly #clock: LifeClock
  readonly #ownership: Ownership
  readonly #header: QueueHeader
  readonly #life: Life
  readonly #context = new OwnContext()
  readonly #events = new QueueEmitter(this.#context)
  readonly #garbage = new Garbage()
  readonly #backups = new BackupPins(() => this.#engine && filesFree(this.#engine, this.#life))
  #engine: Engine | undefined
  #hasBegun = false

  /** @param sealedAtMs when the life before wrote last, milliseconds since 1970; 0: none did */
  constructor(
    given: EngineOptions,
    sealedAtMs: number,
    disk: Disk,
    ownership: Ownership,
    header: QueueHeader,
    onFailure: (error: unknown) => void,
  ) {
    this.#disk = disk
    const clock = new LifeClock(given.clock, sealedAtMs, this.#context)
    this.#clock = clock
    this.#ownership = ownership
    this.#header = header
    this.#patient = patientDisk(disk, clock, ({ code, message }) =>
      this.#warn(code, `waiting for a free file descriptor: ${message}`),
    )
    this.#options = { ...given, clock, disk: this.#patient }
    this.#life = new Life((error) => this.#end(error, onFailure), this.#context)
    ownership.begin(this.#life.end)
  }

  /** @param spools the numbers of the files in `spool/` */
  async run(
    { tail, completion }: FoundQueue,
    spools: readonly number[],
    recoveredState: RecoveredState | undefined,
    whenCertain: ((disk: Disk) => Promise<void>) | undefined,
  ): Promise<OpenedEngine> {
    const header = this.#header
    const opened = await this.#openJournal(tail)
    const { journal, checkpoint, firstPosition } = opened
    if (whenCertain !== undefined) await whenCertain(this.#patient)
    // A life that came to no checkpoint has begun a batch behind the one that retires them.
    const directories = await laneDirectories(this.#disk, checkpoint, recoveredState === undefined)
    const opener = {
      options: this.#options,
      header,
      life: opened.life,
      garbage: this.#garbage,
      callbacks: this.#callbacks,
    }
    const lanes = await openLanes(opener, completion, checkpoint, tail.end, firstPosition, directories)
    const spool = this.#spool(opened, spools)
    const active = new ActiveSet()
    this.#options.retry.onDefect = (words) => this.#warn('POLICY_INVALID', `the retry policy fails: ${words}`)
    const parts: Parts = {
      options: this.#options,
      life: this.#life,
      clock: this.#clock,
      ownership: this.#ownership,
      events: this.#events,
      journal,
      lanes,
      active,
      garbage: this.#garbage,
      spool,
      reader: new MessageReader(journal, lanes, spool, active),
      keys: this.#keys(opened),
      outcomes: this.#outcomes(opened, spool),
      suspensions: this.#suspensions(checkpoint),
      backups: this.#backups,
      laneSegmentBytes: header.laneSegmentBytes,
      openLane: (positions) => openNewLane(opener, positions),
    }
    const facts = { life: opened.life, checkpoint, tailEnd: tail.end, cutBytes: tail.cutBytes, spools }
    const state = recoveredState && (await withoutSpools(spool, recoveredState))
    const engine = new Engine(parts, facts, state)
    this.#engine = engine
    this.#life.check()
    opened.begin()
    const { spared } = directories
    if (spared.length > 0) await journal.whenDurable(position(tail.end + 1))
    await removeLanes(this.#disk, spared)
    this.#life.run(engine.recovered)
    this.#hasBegun = true
    return { parts, engine }
  }

  /** The one end of the life. */
  #end(error: unknown, onFailure: (error: unknown) => void): void {
    try {
      this.#engine?.stop()
      this.#backups.lose(this.#life.reason)
    } finally {
      // Also when a listener to a warning throws.
      this.#clock.stop()
      this.#disk.abandon()
      if (this.#hasBegun) tellEnd(this.#clock, this.#events, error)
      else onFailure(error)
    }
  }

  #warn(code: WarningCode, message: string): void {
    this.#events.emit('warning', { code, message })
  }

  /** What every log tells. */
  readonly #callbacks = {
    onRoom: (): void =>
      this.#context.run(() => {
        // Under a quota the disk has room, and the journal none.
        if (this.#engine?.reclaim.isFull === true) this.#backups.lose(backupWithoutRoom())
        this.#engine?.roomChanged()
      }),
    onFull: (): void =>
      this.#context.run(() => {
        this.#backups.lose(backupWithoutRoom())
        this.#engine?.full()
      }),
    onFailure: (error: unknown): void => this.#life.end(error),
  }

  async #openJournal(tail: JournalTail): Promise<OpenedJournal> {
    const opened: OpenedJournal = await openJournal(this.#options, this.#header, tail, this.#garbage, {
      ...this.#callbacks,
      onDurable: (end) => {
        if (syncing.hasSubscribers) syncing.publish(syncOf(opened.journal.statistics))
        this.#context.run(() => this.#engine?.durable(end))
      },
      onLimit: () => this.#context.run(() => this.#engine?.dispatch.gate.look()),
      onSegment: () => this.#context.run(() => this.#engine?.segmentEntered()),
    })
    return opened
  }

  #spool({ life, checkpoint }: OpenedJournal, spools: readonly number[]): Spool {
    return new Spool(
      this.#disk,
      this.#patient,
      this.#header.segmentBytes,
      life,
      [checkpoint.spoolHighest, ...checkpoint.spoolPending, ...spools],
      {
        checkpoint: () => this.#life.orEnd(laterCheckpoint(this.#engine!)),
        isPinned: () => this.#backups.isPinned,
        onTooMany: () => this.#backups.lose(backupWithoutRoom()),
        onFailure: this.#life.end,
      },
    )
  }

  /** @param what is lost to rot */
  #sideLog(name: SideLogName, what: string, life: number): SideLogOptions {
    return {
      disk: this.#patient,
      prng: this.#options.prng,
      place: sideFiles(this.#patient, this.#header, name),
      life,
      pins: this.#garbage.of(sideLogNumbers[name]),
      onLoss: ({ message }) => this.#warn('LOG_CORRUPT', `${what} are lost: ${message}`),
      ...this.#callbacks,
    }
  }

  #keys({ life, checkpoint }: OpenedJournal): KnownKeys {
    const { keyRetentionMs, keyCountMax, suffixBytesMax } = this.#options
    return new KnownKeys(
      {
        ...this.#sideLog('keys', 'idempotency keys', life),
        clock: this.#clock,
        retentionMs: keyRetentionMs,
        countMax: keyCountMax,
        lagBytesMax: Math.min(suffixBytesMax, this.#header.segmentBytes) / keyLagPart,
        orEnd: (work) => this.#life.orEnd(work),
      },
      checkpoint.keys,
    )
  }

  #outcomes({ life, journal, checkpoint }: OpenedJournal, spool: Spool): Outcomes {
    return new Outcomes(
      {
        ...this.#sideLog('outcomes', 'outcomes', life),
        journal,
        bytesMax: this.#options.outcomeBytesMax,
        spoolHead: (number) => spool.read(number, headBytes),
        run: (work) => this.#life.run(work),
        onAcknowledged: () => this.#engine?.checkpointer.wantAgain(),
        onCaughtUp: () => this.#life.run(this.#engine!.checkpointer.now()),
      },
      checkpoint.outcomes,
    )
  }

  #suspensions(checkpoint: Checkpoint): Suspensions {
    return new Suspensions(
      {
        clock: this.#clock,
        segmentBytes: this.#header.segmentBytes,
        onEnd: ({ transport = '', nexthop = '' }) => {
          this.#engine?.checkpointer.wantAgain()
          this.#events.emit('resumed', { transport, nexthop, cause: 'time' })
        },
      },
      checkpoint.suspensions ?? [],
    )
  }
}

/** One that is captured after this call, and after recovery.
 * @throws WaybillError DISK_FULL by rejection, when there is no room for one */
async function laterCheckpoint(engine: Engine): Promise<void> {
  await engine.whenRecovered()
  await engine.checkpoint()
}

/** An end that nobody listens to ends the process. */
function tellEnd(clock: Clock, events: QueueEmitter, error: unknown): void {
  const tell = (): void => {
    if (error !== undefined && events.listenerCount('crashed') === 0)
      throw new WaybillError(
        'QUEUE_CRASHED',
        'the queue has crashed, and `crashed` has no listener',
        {},
        error,
      )
    events.emit('crashed', { error })
  }
  if (events.listenerCount('crashed') > 0) tell()
  else clock.soon(tell)
}
