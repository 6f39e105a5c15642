/** A file system in a sparse image, mounted through a loop device. Its power can be cut.
 * Invariant: it is unmounted before its image is removed, and the unmount frees its loop device. */
import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Undo } from './undo.js'

export type FileSystemKind = 'ext4' | 'xfs'

const makeCommand: Readonly<Record<FileSystemKind, readonly string[]>> = {
  ext4: ['mkfs.ext4', '-q', '-F'],
  xfs: ['mkfs.xfs', '-q', '-f'],
}
const unmountTries = 100
const unmountPauseMs = 50

/** @throws Error with the program's output */
function command(...[program, ...args]: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program!, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`)
}

/** Why these programs cannot be used here; undefined when they can. */
export function missing(...programs: readonly string[]): string | undefined {
  const absent = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
  return absent.length === 0 ? undefined : `${absent.join(', ')} not installed`
}

/** Why a file system of this kind cannot be mounted here; undefined when it can: it is tried. */
export function cannotMount(kind: FileSystemKind, undo: Undo): string | undefined {
  if (process.getuid?.() !== 0) return 'not root: no file system can be mounted'
  const absent = missing(`mkfs.${kind}`, 'mount', 'umount')
  if (absent !== undefined) return absent
  try {
    const tried = new LoopFileSystem(kind, smallestMebibytes[kind], undo)
    tried.remove()
    return undefined
  } catch (error) {
    return `no loop device can be mounted: ${error instanceof Error ? error.message : String(error)}`
  }
}

const smallestMebibytes: Readonly<Record<FileSystemKind, number>> = { ext4: 16, xfs: 300 }

export class LoopFileSystem {
  readonly mountPoint: string
  readonly #image: string
  readonly #remove: () => void
  readonly #undo: Undo
  #unmount: (() => void) | undefined

  /** Made and mounted. */
  constructor(kind: FileSystemKind, mebibytes: number, undo: Undo) {
    const directory = mkdtempSync(join(tmpdir(), `waybill-${kind}-`))
    this.#undo = undo
    this.#remove = undo.directory(directory)
    this.#image = join(directory, 'image')
    this.mountPoint = join(directory, 'mount')
    mkdirSync(this.mountPoint)
    const descriptor = openSync(this.#image, 'w')
    ftruncateSync(descriptor, mebibytes * 1024 * 1024)
    closeSync(descriptor)
    try {
      command(...makeCommand[kind], this.#image)
      this.#mount()
    } catch (error) {
      this.#remove()
      throw error
    }
  }

  /** Everything that is not on the disk yet is lost; processes get EIO from now on. */
  cutPower(): void {
    command('xfs_io', '-x', '-c', 'shutdown', this.mountPoint)
  }

  /** The machine starts again. No process uses it. */
  remount(): void {
    this.#unmount?.()
    this.#mount()
  }

  remove(): void {
    this.#unmount?.()
    this.#remove()
  }

  #mount(): void {
    command('mount', '-o', 'loop', this.#image, this.mountPoint)
    this.#unmount = this.#undo.add(() => unmount(this.mountPoint))
  }
}

/** A process that was just killed may still hold it. */
function unmount(mountPoint: string): void {
  for (let tries = 1; ; tries++) {
    const { status, stderr } = spawnSync('umount', [mountPoint], { encoding: 'utf8' })
    if (status === 0) return
    if (tries === unmountTries) {
      command('umount', '-l', mountPoint)
      throw new Error(`${mountPoint} was still in use: ${stderr.trim()}`)
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, unmountPauseMs)
  }
}
