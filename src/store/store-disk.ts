/** A queue in a store as a disk.
 * Invariants:
 * 1. A call that resolves is durable on a quorum. So `sync` and `syncDirectory` have nothing to
 * do.
 * 2. Only the owner changes anything; anybody may read. A node that is no owner reads what it
 * may not act upon.
 * 3. Calls of one life happen in the order in which they were made, part by part (store.ts). */
import { systemClock, type Clock } from '../base/clock.js'
import { systemPrng, type Prng } from '../base/prng.js'
import type { Disk, DiskFile, DiskSpace, DiskTraits, FileStatus, LockReport, OpenMode } from '../disk/disk.js'
import { abandonedFailure, diskFailure } from '../disk/failure.js'
import type { WaybillError } from '../errors.js'
import type { CallStore, OwnLife } from './calls.js'
import { Lease } from './lease.js'
import { ReadConnection } from './read-connection.js'
import { newStatistics, type StoreEvent, type StoreStatistics } from './statistics.js'
import {
  done,
  parts,
  refusalError,
  refused,
  type Answer,
  type Change,
  type FoundFile,
  type Session,
  type Store,
} from './store.js'
import { StoreFile, type FileState, type Owned } from './store-file.js'
import { noQueue, type ClaimOptions } from './claim.js'
import { Writer } from './writer.js'

export interface StoreDiskOptions extends Pick<ClaimOptions, 'queue' | 'node' | 'role' | 'safety'> {
  readonly store: Store
  /** An owner that is silent for so long has lost its queue. */
  readonly ttlMs: number
  /** Attempts begin only while a commit was asked for less than this ago, and answered. Default:
   * a third of `ttlMs`, at most 2 s. */
  readonly proofMs?: number
  /** How long an owner waits for a store that is away. */
  readonly resumeMs: number
  readonly clock?: Clock
  readonly prng?: Prng
  /** Queues that this node has already. */
  readonly ownedCount?: number
  readonly onEvent?: (event: StoreEvent) => void
}

const proofMsMax = 2000
const safetyLookMs = 10_000
const spaceKeptMs = 5000
/** Reads wait for a look: it is kept so many times as long as it took. */
const spacePerLook = 20
const noStandby = { freeBytes: 0, freeFiles: 0 }

/** Files whose content is a table: it goes at once when it is unlinked. */
const hasTable = (path: string): boolean => /^(?:journal|lanes|keys|outcomes)\//.test(path)
const hasCalls = (store: Store): store is Store & CallStore => 'connectCalls' in store
const storeTraits: DiskTraits = { fillsAhead: false, reuses: false }

/** What is not there is refused, as by a file system. */
const foundOf = (answer: Answer<FoundFile | undefined>): Answer<FoundFile> => {
  if (answer.kind !== 'done') return answer
  return answer.value === undefined ? refused({ kind: 'errno', errno: 'ENOENT' }) : done(answer.value)
}

export class StoreDisk implements Disk {
  readonly traits: DiskTraits = storeTraits
  readonly statistics: StoreStatistics = newStatistics()
  readonly #options: StoreDiskOptions
  readonly #clock: Clock
  readonly #reads: ReadConnection
  /** Open for writing, by their numbers. */
  readonly #states = new Map<number, FileState>()
  #owned: Owned | undefined
  #isAbandoned = false
  #hasGarbage = true
  #changeNumber = 0
  #space: { readonly space: DiskSpace; readonly untilMs: number } | undefined

  constructor(options: StoreDiskOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#reads = new ReadConnection(options.store, options.queue, this.#clock, options.resumeMs)
  }

  /** Of the store, for errors and logs. */
  get name(): string {
    return this.#options.store.name
  }

  /** Is it proven that this process owns the queue? */
  get isProven(): boolean {
    return this.#owned?.lease.proof.isProven ?? false
  }

  /** Undefined: the queue was not claimed, or this life is over. */
  get life(): OwnLife | undefined {
    if (this.#isAbandoned || this.#owned === undefined) return undefined
    const { queue, nonce, timeline } = this.#owned.lease
    return { queue: queue.queue, nonce, timeline }
  }

  /** Where calls about the queue come from. */
  get calls(): CallStore | undefined {
    const { store } = this.#options
    return hasCalls(store) ? store : undefined
  }

  /** Age of the newest proof, milliseconds. */
  get proofAgeMs(): number {
    return this.#owned?.lease.proof.ageMs ?? Infinity
  }

  async list(directory: string): Promise<string[]> {
    const names = await this.#ask('list', directory, (session, queue) => session.list(queue, directory))
    return names.sort()
  }

  async makeDirectory(path: string): Promise<void> {
    if (path === '') await this.#queue()
    else await this.#change('makeDirectory', path, { verb: 'makeDirectory', path })
  }

  async removeDirectory(path: string): Promise<void> {
    await this.#change('removeDirectory', path, { verb: 'removeDirectory', path })
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const found = mode === 'create' ? await this.#create(path) : await this.#find('open', path)
    if (found.isDirectory) throw diskFailure('open', path, 'EISDIR')
    const owner = mode === 'read' ? undefined : this.#owner('open', path)
    const isJournal = mode === 'synced' && path.startsWith('journal/')
    return new StoreFile({
      path,
      row: found,
      operation: mode === 'synced' ? 'write synced' : 'write',
      part: isJournal ? parts.journal : parts.names,
      owner,
      state: this.#held(found),
      read: (from, upto) =>
        this.#ask('read', path, (session, queue) => session.read(queue, found, from, upto)),
      change: (operation, change) => this.#change(operation, path, change),
      check: (operation) => this.#check(operation, path),
      release: () => this.#release(found.file),
    })
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#change('rename', from, { verb: 'rename', path: from, to })
    this.#hasGarbage = true
  }

  async unlink(path: string): Promise<void> {
    await this.#change('unlink', path, { verb: 'unlink', path })
    this.#hasGarbage = true
  }

  async syncDirectory(path: string): Promise<void> {
    this.#check('syncDirectory', path)
    if (path === '') return
    const { isDirectory } = await this.#find('syncDirectory', path)
    if (!isDirectory) throw diskFailure('syncDirectory', path, 'ENOTDIR')
  }

  async stat(path: string): Promise<FileStatus> {
    const { lengthBytes } = await this.#find('stat', path)
    return { lengthBytes, nameCount: 1 }
  }

  /** What the quota leaves; nothing while commits are not safe, so that new mail is refused. */
  async space(): Promise<DiskSpace> {
    this.#check('space', '')
    if (this.#owned?.lease.isUnsafe === true) return noStandby
    const nowMs = this.#clock.monotonicMs()
    if (this.#space !== undefined && nowMs < this.#space.untilMs) return this.#space.space
    const { quotaBytes } = await this.#queue()
    const used = await this.#ask('space', '', (session, queue) => session.usedBytes(queue))
    this.statistics.usedBytes = used
    const space = { freeBytes: Math.max(0, quotaBytes - used), freeFiles: Infinity }
    const answeredMs = this.#clock.monotonicMs()
    const keptMs = Math.max(spaceKeptMs, spacePerLook * (answeredMs - nowMs))
    this.#space = { space, untilMs: answeredMs + keptMs }
    return space
  }

  async lock(path: string, onLost?: (error: WaybillError) => void): Promise<LockReport> {
    const report = await this.claim(onLost)
    // Asked first: a create that is refused is an error in the server's log.
    const found = await this.#ask('lock', path, async (session, queue) => session.find(queue, path))
    if (found === undefined) await this.#change('lock', path, { verb: 'create', path, hasTable: false })
    return report
  }

  /** Makes this process the owner. @throws WaybillError as `lock` */
  async claim(onLost?: (error: WaybillError) => void): Promise<LockReport> {
    this.#check('lock', '')
    const lease = (this.#owned ?? (await this.#take(onLost))).lease
    const warnings =
      this.#options.safety === 'assumed'
        ? ['whether committed mail is on two machines is assumed, not checked']
        : []
    return {
      warnings,
      kind: `epoch ${this.statistics.epoch} of queue ${this.#options.queue}, by node ${this.#options.node}`,
      isProven: () => lease.proof.isProven,
      onProven: (tell) => lease.proof.onProven(tell),
    }
  }

  abandon(): void {
    if (this.#isAbandoned) return
    this.#isAbandoned = true
    this.#owned?.lease.abandon(abandonedFailure('', ''))
    this.#reads.close()
  }

  async #take(onLost: ((error: WaybillError) => void) | undefined): Promise<Owned> {
    const { ttlMs, prng, onEvent, ownedCount, ...options } = this.#options
    const proofMs = this.#options.proofMs ?? Math.min(ttlMs / 3, proofMsMax)
    const clock = this.#clock
    const lease = await Lease.take(
      {
        ...options,
        ttlMs,
        clock,
        prng: prng ?? systemPrng(),
        ownedCount: ownedCount ?? 0,
        proofMs,
        beatMs: Math.min(ttlMs / 4, proofMs / 3),
        safetyMs: safetyLookMs,
        onEvent: onEvent ?? ((): void => undefined),
        statistics: this.statistics,
      },
      (error) => onLost?.(error),
      {
        garbage: () => this.#garbage(),
        onUnreaped: () => (this.#hasGarbage = true),
        isKept: (session, queue) => this.#isKept(session, queue),
      },
    )
    if (this.#isAbandoned) {
      lease.abandon(abandonedFailure('lock', ''))
      throw abandonedFailure('lock', '')
    }
    const last = await lease.ask((session) => session.lastChange(lease.queue.queue))
    if (last.kind !== 'done') throw abandonedFailure('lock', '')
    this.#changeNumber = last.value
    const journal = new Writer(parts.journal, lease, clock, this.statistics)
    const names = new Writer(parts.names, lease, clock, this.statistics)
    this.#owned = { lease, writers: [journal, names] }
    // From here on its own connections read.
    this.#reads.close()
    return this.#owned
  }

  async #isKept(session: Session, queue: number): Promise<Answer<boolean>> {
    for (const writer of this.#owned?.writers ?? []) {
      const kept = await writer.isKept(session, queue)
      if (kept.kind !== 'done' || !kept.value) return kept
    }
    return done(true)
  }

  /** Asked with each beat. */
  #garbage(): readonly number[] | undefined {
    if (!this.#hasGarbage && this.statistics.reapWaiting === 0) return undefined
    this.#hasGarbage = false
    return [...this.#states.keys()]
  }

  async #queue(): Promise<{ readonly queue: number; readonly quotaBytes: number }> {
    if (this.#owned !== undefined) return this.#owned.lease.queue
    this.#check('list', '')
    const row = await this.#reads.queue()
    if (row === undefined) throw noQueue(this.#options.store, this.#options.queue)
    return row
  }

  async #create(path: string): Promise<FoundFile> {
    const row = { hasTable: hasTable(path) }
    const file = await this.#change('open', path, { verb: 'create', path, ...row })
    return { ...row, file, isDirectory: false, lengthBytes: 0, contentEnd: 0 }
  }

  #find(operation: string, path: string): Promise<FoundFile> {
    return this.#ask(operation, path, async (session, queue) => foundOf(await session.find(queue, path)))
  }

  /** Asks what changes nothing, on the owner's connection if there is one. */
  async #ask<T>(
    operation: string,
    path: string,
    question: (session: Session, queue: number) => Promise<Answer<T>>,
  ): Promise<T> {
    this.#check(operation, path)
    const { queue } = await this.#queue()
    const asked = (session: Session): Promise<Answer<T>> => question(session, queue)
    const answer = await (this.#owned === undefined ? this.#reads.ask(asked) : this.#owned.lease.ask(asked))
    this.#check(operation, path)
    if (answer.kind === 'done') return answer.value
    if (answer.kind === 'unknown') throw answer.error
    throw refusalError(answer.refusal, operation, path)
  }

  #change(operation: string, path: string, change: Change): Promise<number> {
    this.#check(operation, path)
    const { writers } = this.#owner(operation, path)
    const write = { ...change, number: ++this.#changeNumber }
    return writers[parts.names].run(operation, path, write)
  }

  #owner(operation: string, path: string): Owned {
    if (this.#owned === undefined) throw diskFailure(operation, path, 'EROFS')
    return this.#owned
  }

  #held({ file, contentEnd }: FoundFile): FileState {
    const state = this.#states.get(file) ?? { contentEnd, openCount: 0 }
    state.openCount++
    this.#states.set(file, state)
    return state
  }

  #release(file: number): void {
    const state = this.#states.get(file)
    if (state !== undefined && --state.openCount === 0) {
      this.#states.delete(file)
      this.#hasGarbage = true
    }
  }

  #check(operation: string, path: string): void {
    if (this.#isAbandoned) throw abandonedFailure(operation, path)
  }
}
