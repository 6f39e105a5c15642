/** One owner of a queue's directory, by flock(2) on a file and on a directory.
 * Invariant: the kernel frees the locks when the process dies, however it dies, and never earlier.
 * They hold across containers that share the directory.
 * Why a directory, too: an operator may remove the file.
 *   1. "process 17 runs this queue"
 *   2. rm lock, as one does with pid files
 *   3. a new file, a new lock: two owners write one journal
 * README.md in this folder says which directory, how, and why not another lock. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { besideUs } from '../base/at-first-use.js'
import { WaybillError } from '../errors.js'
import { diskFailure } from './failure.js'
import { fileSystemWarnings } from './file-system.js'
import { giveTo, fileOwnerOf } from './file-owner.js'
import { checkQueueDirectory, noFollow } from './safe-directory.js'

export interface Lock {
  readonly path: string
  /** Of the file that is locked: a process id may also be one of another container. */
  readonly identity: string
  /** That of the file, and that of its directory: to be closed in this order. */
  readonly descriptors: readonly number[]
  readonly warnings: readonly string[]
  /** What is locked, and by what, for the log. */
  readonly kind: string
}

/** Tries once, without waiting. Resolves with false if another process holds the lock. */
export type TryLock = (descriptor: number) => Promise<boolean>

const pidBytesMax = 16

/** Locks of this process whose descriptors are still being closed: its next life waits for them. */
const releasing = new Map<string, Promise<void>>()

/** The files that this process has locked, by identity. */
const held = new Set<string>()

export function whenReleased(lock: Lock, released: Promise<void>): void {
  releasing.set(lock.path, released)
  void released.then(() => {
    held.delete(lock.identity)
    if (releasing.get(lock.path) === released) releasing.delete(lock.path)
  })
}

/** @throws WaybillError QUEUE_LOCKED, LOCK_UNAVAILABLE, NETWORK_FILE_SYSTEM, DISK_FAILED */
export async function takeLock(path: string, tryLock: TryLock = defaultLock()): Promise<Lock> {
  await releasing.get(path)
  const directory = dirname(path)
  const warnings = [...(await checkQueueDirectory(directory)), ...(await fileSystemWarnings(directory))]
  const descriptor = await openLock(path)
  const descriptors = [descriptor]
  try {
    const identity = identityOf(descriptor)
    const guard = await openGuard(directory)
    if (guard !== undefined) descriptors.push(guard)
    // An owner that ends frees the directory last, so this process gets the file, too. Some file
    // systems lock only files.
    let isDirectoryLocked = false
    const lockDirectory = async (directory: number): Promise<boolean> =>
      (isDirectoryLocked = await tryLock(directory))
    const isGuarded = guard === undefined || (await lockDirectory(guard).catch(() => true))
    if (isGuarded && (await tryLock(descriptor))) {
      await writePid(descriptor)
      await giveLock(directory, descriptor)
      const locked = isDirectoryLocked ? 'the file lock and a directory' : 'the file lock'
      held.add(identity)
      return { path, identity, descriptors, warnings, kind: `flock of ${locked}, ${lockerOf(tryLock)}` }
    }
    throw new WaybillError('QUEUE_LOCKED', `${await ownerOf(descriptor, identity)} runs this queue`, { path })
  } catch (error) {
    for (const opened of descriptors) await new Promise<void>((resolve) => fs.close(opened, () => resolve()))
    throw error
  }
}

function identityOf(descriptor: number): string {
  const { dev, ino } = fs.fstatSync(descriptor, { bigint: true })
  return `${dev} ${ino}`
}

async function ownerOf(descriptor: number, identity: string): Promise<string> {
  if (held.has(identity)) return 'this very process'
  const owner = await readPid(descriptor)
  return owner === undefined ? 'another process' : `process ${owner}`
}

/** Also that of an earlier process, which did not; but no file that another user has put there:
 * nothing is in it but a pid, and it has no second name. @throws the system's error */
async function giveLock(directory: string, descriptor: number): Promise<void> {
  const owner = await fileOwnerOf(directory)
  if (owner === undefined) return
  const { nlink, size } = fs.fstatSync(descriptor)
  if (nlink > 1 || size > pidBytesMax) return
  await new Promise<void>((resolve, reject) =>
    giveTo(owner, descriptor, (error) => (error === null ? resolve() : reject(error))),
  )
}

/** In a worker thread fs-ext would end the process: it answers on the event loop of
 * the main thread. */
function defaultLock(): TryLock {
  const binding = isMainThread ? loadBinding() : undefined
  return binding === undefined ? flockByProgram : (descriptor) => flockByBinding(binding, descriptor)
}

const lockerOf = (tryLock: TryLock): string =>
  tryLock === flockByProgram ? 'by the program flock of util-linux' : 'by fs-ext'

interface FlockBinding {
  flock(descriptor: number, flags: 'exnb', answer: (error: NodeJS.ErrnoException | null) => void): void
}

function loadBinding(): FlockBinding | undefined {
  try {
    return besideUs('fs-ext') as FlockBinding
  } catch {
    // Not installed, or installed without its binary: flock(1) takes the same lock.
    return undefined
  }
}

/** flock(2) through fs-ext. */
function flockByBinding(binding: FlockBinding, descriptor: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    binding.flock(descriptor, 'exnb', (error) => {
      if (!error) resolve(true)
      else if (error.code === 'EAGAIN' || error.code === 'EWOULDBLOCK') resolve(false)
      else reject(unavailable(`flock answers ${error.code ?? error.message}`, error))
    })
  })
}

/** flock(2) through the program of util-linux. @param program its name or path */
export function flockByProgram(descriptor: number, program = 'flock'): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
    child.once('error', (error) => reject(notRun(program, error)))
    child.once('exit', (code) => {
      if (code === 0) resolve(true)
      else if (code === 1) resolve(false)
      else reject(unavailable(`${program} ended with ${String(code)}`))
    })
  })
}

/** @param error of spawn. A process that lacks descriptors could not load fs-ext either, so nothing
 * is to be installed. */
function notRun(program: string, error: NodeJS.ErrnoException): WaybillError {
  const { code = error.message } = error
  return code === 'EMFILE' || code === 'ENFILE'
    ? diskFailure('lock', program, code, error)
    : unavailable(`${program} cannot be run (${code})`, error)
}

const unavailable = (reason: string, cause?: unknown): WaybillError =>
  new WaybillError(
    'LOCK_UNAVAILABLE',
    isMainThread
      ? `the queue directory cannot be locked: ${reason}; run 'npm rebuild fs-ext' (newer npm asks for ` +
          `its install script to be approved first), or install flock of util-linux`
      : `the queue directory cannot be locked: ${reason}; a worker thread needs flock of util-linux`,
    {},
    cause,
  )

const { O_CREAT, O_DIRECTORY, O_NONBLOCK, O_RDONLY, O_RDWR } = fs.constants
/** Other users may look into it. */
const othersMayRead = 0o044

const openLock = (path: string): Promise<number> => open(path, O_RDWR | O_CREAT | O_NONBLOCK | noFollow)

/** The directory that is locked beside the file; undefined if others can open each that exists. */
async function openGuard(directory: string): Promise<number | undefined> {
  for (const path of [directory, join(directory, 'journal')]) {
    const stats = await lstat(path).catch(() => undefined)
    if (stats?.isDirectory() === true && (stats.mode & othersMayRead) === 0)
      return open(path, O_RDONLY | O_DIRECTORY | noFollow)
  }
  return undefined
}

function open(path: string, flags: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(path, flags, 0o600, (error, descriptor) => {
      if (error) reject(diskFailure('lock', path, error.code, error))
      else resolve(descriptor)
    })
  })
}

/** Padded to a fixed length, so that one write replaces what an earlier owner left. It only informs
 * the operator, so a failure (of a full disk, say) is ignored. */
function writePid(descriptor: number): Promise<void> {
  const bytes = Buffer.from(`${process.pid}\n`.padEnd(pidBytesMax))
  return new Promise((resolve) => {
    fs.write(descriptor, bytes, 0, bytes.length, 0, () => resolve())
  })
}

function readPid(descriptor: number): Promise<number | undefined> {
  const bytes = Buffer.alloc(pidBytesMax)
  return new Promise((resolve) => {
    fs.read(descriptor, bytes, 0, bytes.length, 0, () => {
      const pid = Number.parseInt(bytes.toString('latin1'), 10)
      resolve(Number.isSafeInteger(pid) && pid > 0 ? pid : undefined)
    })
  })
}
