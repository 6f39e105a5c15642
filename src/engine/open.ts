/** The only start of a life: lock, recover, accept. The journal's end is repaired before the first
 * submission is accepted; messages that were being worked on are resumed meanwhile. The result is
 * wired and running; queue.ts is its public face. */
import { ActiveSet } from '../active/active-set.js'
import { pause, type Clock } from '../base/clock.js'
import { position } from '../base/position.js'
import type { Disk, LockReport } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { patientDisk } from '../disk/patient-disk.js'
import { isWaybillError, WaybillError } from '../errors.js'
import { Garbage } from '../garbage/pins.js'
import { journalDirectory } from '../log/journal.js'
import { readLimits } from '../log/write-limit.js'
import type { LanePositions } from '../record/checkpoint.js'
import { emptyTail, findTail, type JournalTail } from '../recovery/journal-tail.js'
import { journalFiles, sideFiles, sideLogNumbers } from '../directory/log-files.js'
import { KnownKeys } from './keys/known-keys.js'
import { Outcomes } from './outcomes/outcomes.js'
import { Suspensions } from './life/suspensions.js'
import type { SideLogOptions } from './side-logs/side-log.js'
import { queueLockName, readQueueHeader, type QueueHeader } from '../directory/header.js'
import { withOwnNames } from '../directory/own-names.js'
import { spoolDirectory, spoolNumberOf, type SideLogName } from '../directory/paths.js'
import { completeQueue, Completion } from '../directory/incomplete.js'
import { Engine } from './engine.js'
import { filesFree } from './checkpoint/pinned-files.js'
import { QueueEmitter } from './life/events.js'
import { laneDirectories, removeLanes } from '../directory/lane-directories.js'
import { BackupPins, backupWithoutRoom } from './life/backup-pins.js'
import { Life, LifeClock } from './life/life.js'
import { OwnContext } from './life/own-context.js'
import { syncing, syncOf } from './life/tracing.js'
import { MessageReader } from './message/message-reader.js'
import { makeQueue, unmakeQueue } from '../directory/make-queue.js'
import { openJournal } from './recover/open-journal.js'
import { openLanes, openNewLane } from './recover/open-lanes.js'
import { Ownership } from './life/ownership.js'
import { engineOptions, inlineBytesMost, type EngineOptions, type QueueOptions } from './life/options.js'
import type { Parts } from './life/parts.js'
import { readStateFirst, withoutSpools } from './recover/recovered-state.js'
import { Spool } from './message/spool.js'

export interface OpenedEngine {
  readonly parts: Parts
  readonly engine: Engine
}

export interface OpenedQueue extends OpenedEngine {
  /** Where it lies, when that is a file system. */
  readonly directory?: string
}

interface FoundQueue {
  readonly header: QueueHeader
  readonly tail: JournalTail
  readonly completion: Completion
}

/** @param whenCertain runs when all that the journal holds is durable for certain, before a segment
 * is recycled
 * @throws as openQueue; what `whenCertain` throws */
export async function openEngine(
  directory: string,
  options: QueueOptions,
  whenCertain?: (disk: Disk) => Promise<void>,
): Promise<OpenedEngine> {
  if (typeof directory !== 'string' || directory === '' || directory.includes('\0'))
    throw new WaybillError('OPTION_INVALID', 'a queue is opened in a directory', { option: 'directory' })
  const given = options?.disk ?? nodeDisk(directory)
  const disk = withOwnNames(given)
  const checked = { ...engineOptions(options, given), disk }
  try {
    await disk.makeDirectory('')
    const ownership = new Ownership()
    ownership.taken(await locked(disk, ownership, checked))
    const found = await findQueue(disk, checked)
    const inlineBytesMax = Math.min(checked.inlineBytesMax, inlineBytesMost(found.header))
    const opened = await open({ ...checked, inlineBytesMax }, disk, ownership, found, whenCertain)
    for (const message of ownership.warnings)
      // Later, so that who awaits the queue can listen first.
      checked.clock.soon(() => opened.parts.events.emit('warning', { code: 'FILE_SYSTEM', message }))
    return opened
  } catch (error) {
    disk.abandon()
    throw error
  }
}

/** Of a large message: its header, as far as a Message-ID may stand. */
const headBytes = 16 * 1024

/** Of the working suffix, and of a segment, that keys without a record may hold. */
const keyLagPart = 4

/** Looks for the lock so often while another process has it, milliseconds. */
const lockLookMs = 100

/** @throws WaybillError QUEUE_LOCKED when another process keeps it for longer than `lockWaitMs` */
async function locked(
  disk: Disk,
  ownership: Ownership,
  { clock, lockWaitMs }: Pick<EngineOptions, 'clock' | 'lockWaitMs'>,
): Promise<LockReport> {
  const startedAt = clock.monotonicMs()
  for (;;) {
    try {
      return await disk.lock(queueLockName, ownership.lost)
    } catch (error) {
      const isOver = clock.monotonicMs() - startedAt >= lockWaitMs
      if (isOver || !isWaybillError(error, 'QUEUE_LOCKED')) throw error
    }
    await pause(clock, lockLookMs, undefined)
  }
}

/** Opens, unless the life ends meanwhile: nobody listens yet, and calls that were under way
 * may never settle. */
function open(
  options: EngineOptions,
  disk: Disk,
  ownership: Ownership,
  found: FoundQueue,
  whenCertain: ((disk: Disk) => Promise<void>) | undefined,
): Promise<OpenedEngine> {
  return new Promise((resolve, reject) => {
    begin(options, disk, ownership, found, reject, whenCertain).then(resolve, reject)
  })
}

/** @param onFailure called with the reason if the life ends before it has begun */
async function begin(
  given: EngineOptions,
  disk: Disk,
  ownership: Ownership,
  { header, tail, completion }: FoundQueue,
  onFailure: (error: unknown) => void,
  whenCertain: ((disk: Disk) => Promise<void>) | undefined,
): Promise<OpenedEngine> {
  const context = new OwnContext()
  const clock = new LifeClock(given.clock, tail.sealedAtMs, context)
  const spools = (await disk.list(spoolDirectory)).map(spoolNumberOf).filter((number) => number !== undefined)
  const recoveredState = await readStateFirst(disk, header, tail, spools, given.layout === 'single')

  const events = new QueueEmitter(context)
  const patient = patientDisk(disk, clock, ({ code, message }) =>
    events.emit('warning', { code, message: `waiting for a free file descriptor: ${message}` }),
  )
  const options = { ...given, clock, disk: patient }
  const garbage = new Garbage()
  let engine: Engine | undefined
  let begun = false
  const backups = new BackupPins(() => engine && filesFree(engine, life))
  const life = new Life((error) => {
    try {
      engine?.stop()
      backups.lose(life.reason)
    } finally {
      // Also when a listener to a warning throws.
      clock.stop()
      disk.abandon()
      if (begun) tellEnd(options.clock, events, error)
      else onFailure(error)
    }
  }, context)
  ownership.begin(life.end)
  const callbacks = {
    onRoom: () =>
      context.run(() => {
        // Under a quota the disk has room, and the journal none.
        if (engine?.reclaim.isFull === true) backups.lose(backupWithoutRoom())
        engine?.roomChanged()
      }),
    onFull: () =>
      context.run(() => {
        backups.lose(backupWithoutRoom())
        engine?.full()
      }),
    onFailure: life.end,
  }
  const opened = await openJournal(options, header, tail, garbage, {
    ...callbacks,
    onDurable: (end) => {
      if (syncing.hasSubscribers) syncing.publish(syncOf(opened.journal.statistics))
      context.run(() => engine?.durable(end))
    },
    onLimit: () => context.run(() => engine?.dispatch.gate.look()),
    onSegment: () => context.run(() => engine?.segmentEntered()),
  })
  const { journal, checkpoint, firstPosition } = opened
  if (whenCertain !== undefined) await whenCertain(patient)
  // A life that came to no checkpoint has begun a batch behind the one that retires them.
  const directories = await laneDirectories(disk, checkpoint, recoveredState === undefined)
  const opener = { options, header, life: opened.life, garbage, callbacks }
  const lanes = await openLanes(opener, completion, checkpoint, tail.end, firstPosition, directories)
  const spool = new Spool(
    disk,
    patient,
    header.segmentBytes,
    opened.life,
    [checkpoint.spoolHighest, ...checkpoint.spoolPending, ...spools],
    {
      checkpoint: () => life.orEnd(laterCheckpoint(engine!)),
      isPinned: () => backups.isPinned,
      onTooMany: () => backups.lose(backupWithoutRoom()),
      onFailure: life.end,
    },
  )
  const active = new ActiveSet()
  const reader = new MessageReader(journal, lanes, spool, active)
  /** @param what is lost to rot */
  const sideLog = (name: SideLogName, what: string): SideLogOptions => ({
    disk: patient,
    prng: options.prng,
    place: sideFiles(patient, header, name),
    life: opened.life,
    pins: garbage.of(sideLogNumbers[name]),
    onLoss: ({ message }) =>
      events.emit('warning', { code: 'LOG_CORRUPT', message: `${what} are lost: ${message}` }),
    ...callbacks,
  })
  const keys = new KnownKeys(
    {
      ...sideLog('keys', 'idempotency keys'),
      clock,
      retentionMs: options.keyRetentionMs,
      countMax: options.keyCountMax,
      lagBytesMax: Math.min(options.suffixBytesMax, header.segmentBytes) / keyLagPart,
      orEnd: (work) => life.orEnd(work),
    },
    checkpoint.keys,
  )
  const outcomes = new Outcomes(
    {
      ...sideLog('outcomes', 'outcomes'),
      journal,
      bytesMax: options.outcomeBytesMax,
      spoolHead: (number) => spool.read(number, headBytes),
      run: (work) => life.run(work),
      onAcknowledged: () => engine?.checkpointer.wantAgain(),
    },
    checkpoint.outcomes,
  )
  const suspensions = new Suspensions(
    {
      clock: options.clock,
      segmentBytes: header.segmentBytes,
      onEnd: ({ transport = '', nexthop = '' }) => {
        engine?.checkpointer.wantAgain()
        events.emit('resumed', { transport, nexthop, cause: 'time' })
      },
    },
    checkpoint.suspensions ?? [],
  )
  options.retry.onDefect = (words) =>
    events.emit('warning', { code: 'POLICY_INVALID', message: `the retry policy fails: ${words}` })
  const parts = {
    options,
    life,
    clock,
    ownership,
    events,
    journal,
    lanes,
    active,
    garbage,
    spool,
    reader,
    keys,
    outcomes,
    suspensions,
    backups,
    laneSegmentBytes: header.laneSegmentBytes,
    openLane: (positions: LanePositions) => openNewLane(opener, positions),
  }
  const facts = { life: opened.life, checkpoint, tailEnd: tail.end, cutBytes: tail.cutBytes, spools }
  engine = new Engine(parts, facts, recoveredState && (await withoutSpools(spool, recoveredState)))
  life.check()
  opened.begin()
  const { spared } = directories
  if (spared.length > 0) await journal.whenDurable(position(tail.end + 1))
  await removeLanes(disk, spared)
  life.run(engine.recovered)
  begun = true
  return { parts, engine }
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

/** The queue in the directory, or a new one. */
async function findQueue(disk: Disk, { segmentBytes, laneSegmentBytes }: EngineOptions): Promise<FoundQueue> {
  const existing = await readQueueHeader(disk)
  let cutBytes = 0
  if (existing !== undefined) {
    const limitOf = await readLimits(disk, journalDirectory)
    const tail = await findTail(journalFiles(disk, existing), await disk.list(journalDirectory), limitOf)
    if (tail.index >= 0) return { header: existing, tail, completion: await completeQueue(disk) }
    await unmakeQueue(disk)
    cutBytes = tail.cutBytes
  }
  const header = await makeQueue(disk, segmentBytes, laneSegmentBytes)
  return { header, tail: { ...emptyTail, cutBytes }, completion: new Completion(disk, false) }
}
