/** A simulated disk: the port, on an image, in a world.
 * Invariant: a call changes the image at one moment between its issue and its answer, which the
 * world chooses; until then it is *under way*, and a crash may find it done, half done or not
 * begun. Calls are numbered in the order in which they take effect; the observer is called before
 * and after each. */
import { below, type Prng } from '../../base/prng.js'
import type { Disk, DiskFile, DiskSpace, FileStatus, LockReport, OpenMode } from '../../disk/disk.js'
import { abandonedFailure, diskFailure } from '../../disk/failure.js'
import { WaybillError } from '../../errors.js'
import { crashStates, type CrashOptions, type CrashState } from './crash-states.js'
import { DiskImage, Refusal, type DeviceSize } from './disk-image.js'
import { diskModes, makeDurable, type DiskMode, type DiskModeName } from './disk-mode.js'
import { FaultPlan, refuseInPart, type Fault } from './faults.js'
import { killStates } from './kill-states.js'
import {
  describeOperation,
  isChanging,
  makesDurable,
  perform,
  type ChangingOperation,
  type Operation,
} from './operation.js'
import { SimDiskFile, type FileCalls } from './sim-disk-file.js'
import { SimLease } from './sim-lease.js'
import type { SimWorld } from '../world/world.js'

/** A guarantee that the device breaks, to see whether a test notices. */
export type Sabotage = 'sync does nothing' | 'synced writes are not synced' | 'syncDirectory does nothing'

export interface NumberedOperation {
  /** From 1, in the order in which calls take effect. */
  readonly n: number
  readonly operation: Operation
}

export interface DiskObserver {
  /** A call is about to take effect; it is still among those under way. If this stops the
   * world, it does not. */
  before?(call: NumberedOperation): void
  /** It has taken effect; its caller has no answer yet. */
  after?(call: NumberedOperation, error: Error | undefined): void
  /** It meets a fault. */
  fails?(operation: Operation, fault: Fault): void
}

export interface SimDiskOptions {
  /** Default: an empty one. */
  readonly image?: DiskImage
  readonly size?: DeviceSize
  readonly faults?: readonly Fault[]
  readonly observer?: DiskObserver
  readonly sabotage?: readonly Sabotage[]
  /** Default: a file system. */
  readonly mode?: DiskModeName
}

export class SimDisk implements Disk {
  readonly image: DiskImage
  readonly traits: DiskMode
  readonly lease: SimLease = new SimLease()
  readonly #world: SimWorld
  readonly #prng: Prng
  readonly #faults = new FaultPlan()
  readonly #observer: DiskObserver
  readonly #sabotage: ReadonlySet<Sabotage>
  /** When each was issued, by the world's clock. */
  readonly #underWay = new Map<Operation, number>()
  readonly #open = new Set<SimDiskFile>()
  readonly #fileCalls: FileCalls
  #abandoned = false
  #callCount = 0
  #hangsUntilMs = 0

  constructor(world: SimWorld, options: SimDiskOptions = {}) {
    this.#world = world
    this.#prng = world.fork()
    this.image = options.image ?? new DiskImage()
    if (options.size !== undefined) this.image.size = options.size
    this.arm(options.faults ?? [])
    this.#observer = options.observer ?? {}
    this.#sabotage = new Set(options.sabotage)
    this.traits = diskModes[options.mode ?? 'file system']
    this.#fileCalls = {
      image: this.image,
      call: (operation, effect) => this.#call(operation, effect),
      perform: (operation) => this.#perform(operation),
      coveredSeq: (seq) => this.#coveredSeq(seq),
      syncs: !this.#sabotage.has('sync does nothing'),
      forget: (open) => this.#forget(open),
    }
  }

  /** From now on these faults are counted, too. */
  arm(faults: readonly Fault[]): void {
    this.#faults.add(faults)
  }

  /** Calls that have taken effect. */
  get callCount(): number {
    return this.#callCount
  }

  /** Milliseconds in which no call that makes something durable takes effect. */
  hang(forMs: number): void {
    this.#hangsUntilMs = this.#world.nowMs + forMs
  }

  /** Until then no call that makes something durable takes effect, by the world's clock. */
  get hangsUntilMs(): number {
    return this.#hangsUntilMs
  }

  /** How long the oldest synced write of a batch has been under way, milliseconds; 0:
   * there is none. */
  get syncedWriteMs(): number {
    let oldestMs = 0
    for (const [operation, issuedAtMs] of this.#underWay)
      if (operation.kind === 'writeSynced' && operation.position > 0)
        oldestMs = Math.max(oldestMs, this.#world.nowMs - issuedAtMs)
    return oldestMs
  }

  /** The states that a power loss now may leave. Captured now, made when they are taken. */
  crashStates(options: CrashOptions = {}): Generator<CrashState> {
    if (this.traits.isAtomic)
      return killStates(this.image, this.#changesUnderWay(), options.seed ?? this.#callCount, true)
    return crashStates(this.image, this.#changesUnderWay(), { seed: this.#callCount, ...options })
  }

  /** The states that the death of the process now may leave: the kernel with its caches lives
   * on. */
  killStates(): Generator<CrashState> {
    return killStates(this.image, this.#changesUnderWay(), this.#callCount, this.traits.isAtomic)
  }

  list(directory: string): Promise<string[]> {
    return this.#call({ kind: 'list', path: directory }, () => {
      if (directory !== '' && this.image.find(directory) === undefined) return []
      return Array.from(this.image.directory(directory).names.keys()).sort()
    })
  }

  makeDirectory(path: string): Promise<void> {
    return this.#change({ kind: 'makeDirectory', path })
  }

  removeDirectory(path: string): Promise<void> {
    return this.#change({ kind: 'removeDirectory', path })
  }

  open(path: string, mode: OpenMode): Promise<DiskFile> {
    const operation: Operation = { kind: mode === 'create' ? 'create' : 'open', path }
    return this.#call(operation, () => {
      if (operation.kind === 'create') this.#perform(operation)
      const file = this.image.file(path)
      this.image.openCounts.set(file, (this.image.openCounts.get(file) ?? 0) + 1)
      const synced = mode === 'synced' && !this.#sabotage.has('synced writes are not synced')
      const open = new SimDiskFile(this.#fileCalls, file, path, mode, synced)
      this.#open.add(open)
      return open
    })
  }

  rename(from: string, to: string): Promise<void> {
    return this.#change({ kind: 'rename', path: from, to })
  }

  unlink(path: string): Promise<void> {
    return this.#change({ kind: 'unlink', path })
  }

  syncDirectory(path: string): Promise<void> {
    const { seq } = this.image
    return this.#call({ kind: 'syncDirectory', path, seq }, () => {
      const directory = this.image.directory(path)
      if (!this.#sabotage.has('syncDirectory does nothing')) directory.sync(this.#coveredSeq(seq))
    })
  }

  stat(path: string): Promise<FileStatus> {
    return this.#call({ kind: 'stat', path }, () => {
      const file = this.image.file(path)
      return { lengthBytes: file.cached.lengthBytes, nameCount: this.image.nameCount(file) }
    })
  }

  space(): Promise<DiskSpace> {
    return this.#call({ kind: 'space', path: '' }, () => this.image.space())
  }

  lock(path: string, onLost?: (error: WaybillError) => void): Promise<LockReport> {
    return this.#call({ kind: 'lock', path }, () => {
      if (this.image.lockHolder !== undefined && this.image.lockHolder !== this)
        throw new WaybillError('QUEUE_LOCKED', 'another life runs this queue', { path })
      if (this.image.find(path) === undefined) this.image.create(path)
      this.image.lockHolder = this
      return this.lease.begin(onLost)
    })
  }

  abandon(): void {
    if (this.#abandoned) return
    this.#abandoned = true
    // The thread pool finishes its calls; the lock is freed after that.
    for (const operation of this.#changesUnderWay()) {
      if (this.#world.order === 'fifo' || below(this.#prng, 2) === 0) continue
      try {
        this.#perform(operation)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    }
    this.#underWay.clear()
    for (const open of this.#open) this.#forget(open)
    if (this.image.lockHolder === this) this.image.lockHolder = undefined
  }

  #change(operation: ChangingOperation): Promise<void> {
    return this.#call(operation, () => this.#perform(operation))
  }

  #perform(operation: ChangingOperation): void {
    perform(this.image, operation)
    if (this.traits.isAtomic) makeDurable(this.image, operation)
  }

  #call<T>(operation: Operation, effect: () => T): Promise<T> {
    if (this.#abandoned) return Promise.reject(abandonedFailure(operation.kind, operation.path))
    this.#underWay.set(operation, this.#world.nowMs)
    return new Promise<T>((resolve, reject) => {
      const happen = (): void => {
        if (this.#abandoned) return
        if (this.#hangsUntilMs > this.#world.nowMs && makesDurable(operation)) {
          this.#world.at(this.#hangsUntilMs, happen)
          return
        }
        const call = { n: this.#callCount + 1, operation }
        this.#observer.before?.(call)
        // Stopped or abandoned by the observer: the call stays under way for ever.
        if (this.#world.stopped || this.#abandoned) return
        this.#callCount++
        this.#underWay.delete(operation)
        const outcome = this.#outcome(operation, effect)
        this.#observer.after?.(call, outcome.error)
        if (outcome.error !== undefined) reject(outcome.error)
        else resolve(outcome.value as T)
      }
      this.#world.enqueue(happen, makesDurable(operation))
    })
  }

  /** Changes up to `seq` had been made when the sync was issued; it may cover some later ones,
   * too. */
  #coveredSeq(seq: number): number {
    if (this.#world.order === 'fifo' || this.image.seq === seq) return seq
    return seq + below(this.#prng, this.image.seq - seq + 1)
  }

  #forget(open: SimDiskFile): void {
    this.#open.delete(open)
    const count = (this.image.openCounts.get(open.file) ?? 1) - 1
    if (count === 0) this.image.openCounts.delete(open.file)
    else this.image.openCounts.set(open.file, count)
  }

  #outcome<T>(operation: Operation, effect: () => T): { value?: T; error?: Error } {
    const fault = this.#faults.next(operation)
    try {
      if (fault === undefined) return { value: effect() }
      this.#observer.fails?.(operation, fault)
      if (this.traits.isAtomic) this.#refuseAtomically(operation, fault)
      else refuseInPart(this.image, operation, fault, this.#world.order === 'fifo' ? undefined : this.#prng)
      return { error: failureOf(operation, fault.errno === 'SHORT' ? undefined : fault.errno) }
    } catch (error) {
      if (error instanceof WaybillError) return { error }
      if (error instanceof Refusal) return { error: failureOf(operation, error.errno) }
      throw error
    }
  }

  /** A call that fails has happened as a whole, or not at all. */
  #refuseAtomically(operation: Operation, { errno, effect }: Fault): void {
    if (errno !== 'EMFILE' && effect === 'all' && isChanging(operation)) this.#perform(operation)
  }

  #changesUnderWay(): ChangingOperation[] {
    return Array.from(this.#underWay.keys()).filter(isChanging)
  }
}

function failureOf(operation: Operation, errno: string | undefined): WaybillError {
  return diskFailure(nameOf(operation, errno), operation.path, errno, new Error(describeOperation(operation)))
}

/** The call's name in its error. */
function nameOf({ kind }: Operation, errno: string | undefined): string {
  if (kind === 'writeSynced') return 'write synced'
  return errno === 'EMFILE' && kind !== 'list' ? 'open' : kind
}
