/** The disk of Node: callback `node:fs` behind promises.
 * Invariant: every call is asynchronous and made once. Names are resolved below one root directory,
 * which `makeDirectory('')` creates; from `lock` on, below the very directory that was locked,
 * whatever has its name (README.md, The lock).
 * Why no FileHandle: it costs an object and a promise more per call, and closes its descriptor
 * whenever it is collected. */
import fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isWaybillError } from '../errors.js'
import { Calls, type Answer } from './calls.js'
import type { Disk, DiskFile, DiskSpace, FileStatus, LockReport, OpenMode } from './disk.js'
import { diskFailure } from './failure.js'
import { giveTo, fileOwnerOf, type FileOwner } from './file-owner.js'
import { takeLock, whenReleased, type Lock } from './lock.js'
import { NodeFile } from './node-file.js'
import { noFollow } from './safe-directory.js'

const { O_CREAT, O_DIRECTORY, O_DSYNC, O_EXCL, O_NONBLOCK, O_RDONLY, O_RDWR } = fs.constants
// Not blocking: opening a pipe without a writer would hold a thread of Node's pool for ever. For
// files it changes nothing.
const flagsOf: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY | O_NONBLOCK | noFollow,
  write: O_RDWR | O_NONBLOCK | noFollow,
  create: O_RDWR | O_CREAT | O_EXCL,
  synced: O_RDWR | O_DSYNC | O_NONBLOCK | noFollow,
}
// Only the owner may read mail.
const fileAccess = 0o600
const directoryAccess = 0o700

/** A path is meant in the working directory in which it is given. A program changes that later, as
 * a daemon does:
 *   1. `openQueue('./queue')`, then `process.chdir('/')`
 *   2. the next step looks for the queue in /, and makes one there
 *   3. the next start opens ./queue, and does not find the mail
 * @returns what is no path, as it is: `openEngine` refuses it */
export const absolutePath = (path: string): string =>
  typeof path === 'string' && path !== '' ? resolve(path) : path

class NodeDisk implements Disk {
  readonly #root: string
  readonly #calls: Calls
  readonly #descriptors = new Set<number>()
  readonly #locks: Lock[] = []
  #fileOwner: Promise<FileOwner | undefined> | undefined
  /** Of the root, from `lock` on. */
  #rootDescriptor: number | undefined
  #isAbandoned = false

  constructor(root: string) {
    this.#root = resolve(root)
    this.#calls = new Calls(this.#root)
  }

  async list(directory: string): Promise<string[]> {
    const names = await this.#calls.run<string[]>('list', directory, (answer) => {
      fs.readdir(this.#at(directory), (error, found) => {
        if (error?.code === 'ENOENT') answer(null, [])
        else answer(error, found)
      })
    })
    return names.sort()
  }

  async makeDirectory(path: string): Promise<void> {
    const created = await this.#calls.run<boolean>('makeDirectory', path, (answer) => {
      fs.mkdir(this.#at(path), directoryAccess, (error) => {
        if (error?.code !== 'EEXIST') answer(error, true)
        else fs.stat(this.#at(path), (_, stats) => answer(stats?.isDirectory() ? null : error, false))
      })
    })
    if (path === '') await this.#syncRoot(created)
    else if (created) await this.#giveDirectory(path)
  }

  /** Makes the root's own name durable, which lies in a directory that is not ours.
   *    1. the root is made; the process is killed before the sync
   *    2. the next start finds it, empty
   *    3. mail is settled
   *    4. power loss: there is no queue
   * A root that another user made may lie in a directory that we may not read, or behind a link:
   * then its name is in another directory than the link. */
  async #syncRoot(created: boolean): Promise<void> {
    if (!created && (await this.list('')).length > 0) return
    const link = dirname(this.#root)
    for (const parent of created ? [link] : [link, `${this.#root}/..`])
      try {
        await this.#syncDirectory(parent, '')
      } catch (error) {
        if (created || !isWaybillError(error) || error.place.errno !== 'EACCES') throw error
      }
  }

  removeDirectory(path: string): Promise<void> {
    return this.#calls.runVoid('removeDirectory', path, (answer) => fs.rmdir(this.#at(path), answer))
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const descriptor = await this.#open(path, this.#at(path), flagsOf[mode])
    if (mode === 'create') await this.#give(path, descriptor)
    return new NodeFile(this.#calls, descriptor, path, mode === 'synced', (closed) => {
      this.#descriptors.delete(closed)
    })
  }

  rename(from: string, to: string): Promise<void> {
    return this.#calls.runVoid('rename', from, (answer) => fs.rename(this.#at(from), this.#at(to), answer))
  }

  unlink(path: string): Promise<void> {
    return this.#calls.runVoid('unlink', path, (answer) => fs.unlink(this.#at(path), answer))
  }

  syncDirectory(path: string): Promise<void> {
    return this.#syncDirectory(this.#at(path), path)
  }

  async stat(path: string): Promise<FileStatus> {
    const stats = await this.#calls.run<fs.Stats>('stat', path, (answer) => fs.stat(this.#at(path), answer))
    return { lengthBytes: stats.size, nameCount: stats.nlink }
  }

  async space(): Promise<DiskSpace> {
    await this.#checkPlace()
    const stats = await this.#calls.run<fs.StatsFs>('space', '', (answer) => fs.statfs(this.#root, answer))
    // File systems that allocate inodes as they go say 0 of 0.
    return {
      freeBytes: stats.bavail * stats.bsize,
      freeFiles: stats.files === 0 ? Number.POSITIVE_INFINITY : stats.ffree,
    }
  }

  async lock(path: string): Promise<LockReport> {
    await this.#holdRoot()
    const lock = await this.#calls
      .run<Lock>('lock', path, (answer) => {
        takeLock(`${this.#root}/${path}`).then(
          (taken) => {
            this.#locks.push(taken)
            answer(null, taken)
          },
          (error: NodeJS.ErrnoException) => answer(error),
        )
      })
      .catch((error: unknown) => this.#withoutRoot(error))
    await this.#checkPlace()
    return { warnings: lock.warnings, kind: lock.kind }
  }

  /** Without /proc names are resolved by the root's path, as before the lock. */
  async #holdRoot(): Promise<void> {
    if (this.#rootDescriptor !== undefined) return
    const descriptor = await this.#open('', this.#root, O_RDONLY | O_DIRECTORY)
    if (await this.#calls.run<boolean>('lock', '', (answer) => isThere(pathOf(descriptor), answer)))
      this.#rootDescriptor = descriptor
    else await this.#close(descriptor)
  }

  /** Another process has the lock, which may be waited for: meanwhile the directory may be
   * replaced. */
  async #withoutRoot(error: unknown): Promise<never> {
    const descriptor = this.#rootDescriptor
    if (descriptor !== undefined && this.#locks.length === 0) {
      this.#rootDescriptor = undefined
      await this.#close(descriptor)
    }
    throw error
  }

  /** Mail in a directory without its name is not found by the next start: this life ends.
   * @throws WaybillError DISK_FAILED when the root's path leads elsewhere */
  async #checkPlace(): Promise<void> {
    const descriptor = this.#rootDescriptor
    if (descriptor === undefined) return
    const held = await this.#calls.run<fs.Stats>('space', '', (answer) => fs.fstat(descriptor, answer))
    const named = await this.#calls.run<fs.Stats | undefined>('space', '', (answer) => {
      fs.stat(this.#root, (error, stats) => answer(isNowhere(error) ? null : error, stats))
    })
    if (held.ino !== named?.ino || held.dev !== named.dev) throw diskFailure('space', this.#root, 'ESTALE')
  }

  abandon(): void {
    // Once: the next owner in this process waits for the first end.
    if (this.#isAbandoned) return
    this.#isAbandoned = true
    const locks = this.#locks
    const released = new Promise<void>((resolveReleased) => {
      this.#calls.abandon(() => {
        void closeAll(this.#descriptors)
          .then(() => release(locks))
          .then(resolveReleased)
      })
    })
    for (const lock of locks) whenReleased(lock, released)
  }

  #at(path: string): string {
    const root = this.#rootDescriptor === undefined ? this.#root : pathOf(this.#rootDescriptor)
    return path === '' ? root : `${root}/${path}`
  }

  #open(path: string, absolute: string, flags: number): Promise<number> {
    return this.#calls.run<number>('open', path, (answer) => {
      fs.open(absolute, flags, fileAccess, (error, descriptor) => {
        if (!error) this.#descriptors.add(descriptor)
        answer(error, descriptor)
      })
    })
  }

  async #give(path: string, descriptor: number): Promise<void> {
    const owner = await (this.#fileOwner ??= fileOwnerOf(this.#at('')))
    if (owner !== undefined)
      await this.#calls.runVoid('open', path, (answer) => giveTo(owner, descriptor, answer))
  }

  async #giveDirectory(path: string): Promise<void> {
    const owner = await (this.#fileOwner ??= fileOwnerOf(this.#at('')))
    if (owner === undefined) return
    const descriptor = await this.#open(path, this.#at(path), O_RDONLY | O_DIRECTORY | noFollow)
    await this.#thenClose('open', path, descriptor, (answer) => giveTo(owner, descriptor, answer))
  }

  async #syncDirectory(absolute: string, path: string): Promise<void> {
    const descriptor = await this.#open(path, absolute, O_RDONLY | O_DIRECTORY)
    await this.#thenClose('syncDirectory', path, descriptor, (answer) => fs.fsync(descriptor, answer))
  }

  #close(descriptor: number): Promise<void> {
    return this.#thenClose('close', '', descriptor, (answer) => answer(null))
  }

  /** A call on a descriptor, which is closed whatever comes of it. */
  #thenClose(
    operation: string,
    path: string,
    descriptor: number,
    begin: (answer: (error: NodeJS.ErrnoException | null) => void) => void,
  ): Promise<void> {
    return this.#calls.runVoid(operation, path, (answer) => {
      begin((error) => {
        this.#descriptors.delete(descriptor)
        fs.close(descriptor, (closeError) => answer(error ?? closeError))
      })
    })
  }
}

/** Leads to what the descriptor has open, also when that has another name, or none. */
const pathOf = (descriptor: number): string => `/proc/self/fd/${descriptor}`

const isNowhere = (error: NodeJS.ErrnoException | null): boolean =>
  error?.code === 'ENOENT' || error?.code === 'ENOTDIR'

const isThere = (path: string, answer: Answer<boolean>): void =>
  fs.stat(path, (error) => answer(null, error === null))

async function closeAll(descriptors: Iterable<number>): Promise<void> {
  const closes = Array.from(
    descriptors,
    (descriptor) => new Promise<void>((resolveClose) => fs.close(descriptor, () => resolveClose())),
  )
  await Promise.all(closes)
}

async function release(locks: readonly Lock[]): Promise<void> {
  for (const { descriptors } of locks) for (const descriptor of descriptors) await closeAll([descriptor])
}

/** A disk whose paths lie below `root`. Nothing is touched until the first call. */
export const nodeDisk = (root: string): Disk => new NodeDisk(root)
