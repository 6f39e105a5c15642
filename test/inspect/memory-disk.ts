/** A directory in memory, only to be read: it counts who asks to write, because an inspection must
 * never ask, and bounds how often it is read, because none may read for ever. */
import type { Disk, DiskFile, FileStatus } from '../../src/disk/disk.js'
import { diskFailure } from '../../src/disk/failure.js'

/** Reads of one inspection: the most that a sound queue of this size needs is a few hundred. */
const readsMax = 20_000

/** Content by path. */
export type Files = ReadonlyMap<string, Buffer>

export class MemoryDisk implements Disk {
  readonly #files: Files
  readonly #directories: readonly string[]
  openCount: number = 0
  writeCount: number = 0
  #readCount = 0

  /** @param directories that are there also when they are empty */
  constructor(files: Files, directories: readonly string[] = []) {
    this.#files = files
    this.#directories = directories
  }

  async list(directory: string): Promise<string[]> {
    const prefix = directory === '' ? '' : `${directory}/`
    const names = new Set<string>()
    for (const path of [...this.#files.keys(), ...this.#directories])
      if (path.startsWith(prefix) && path.length > prefix.length)
        names.add(path.slice(prefix.length).split('/')[0]!)
    return [...names].sort()
  }

  async open(path: string, mode: string): Promise<DiskFile> {
    const content = this.#files.get(path)
    if (mode !== 'read') return this.#refused()
    if (content === undefined) throw diskFailure('open', path, 'ENOENT')
    this.openCount++
    return {
      read: async (into, position) => {
        if (++this.#readCount > readsMax) throw new Error(`more than ${readsMax} reads: it hangs`)
        return content.copy(into, 0, Math.min(position, content.length), content.length)
      },
      size: async () => content.length,
      close: async () => void this.openCount--,
      write: this.#refused,
      sync: this.#refused,
      truncate: this.#refused,
    }
  }

  async stat(path: string): Promise<FileStatus> {
    const content = this.#files.get(path)
    if (content === undefined) throw diskFailure('stat', path, 'ENOENT')
    return { lengthBytes: content.length, nameCount: 1 }
  }

  readonly #refused = (): Promise<never> => {
    this.writeCount++
    return Promise.reject(new Error('an inspection writes nothing'))
  }
  readonly space: () => Promise<never> = this.#refused
  readonly makeDirectory: () => Promise<never> = this.#refused
  readonly removeDirectory: () => Promise<never> = this.#refused
  readonly rename: () => Promise<never> = this.#refused
  readonly unlink: () => Promise<never> = this.#refused
  readonly syncDirectory: () => Promise<never> = this.#refused
  readonly lock: () => Promise<never> = this.#refused
  abandon(): void {}
}
