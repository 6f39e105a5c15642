/** A directory in memory, only to be read; each refusal to write is counted, because an inspection must never ask. */
import type { Disk, DiskFile } from '../../src/disk/disk.js'
import { diskFailure } from '../../src/disk/failure.js'

/** Content by path. */
export type Files = ReadonlyMap<string, Buffer>

export class MemoryDisk implements Disk {
  readonly #files: Files
  readonly #directories: readonly string[]
  openCount: number = 0

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
    if (mode !== 'read') throw new Error(`opened for ${mode}: ${path}`)
    if (content === undefined) throw diskFailure('open', path, 'ENOENT')
    this.openCount++
    return {
      read: async (into, position) =>
        content.copy(into, 0, Math.min(position, content.length), content.length),
      size: async () => content.length,
      close: async () => void this.openCount--,
      write: refused,
      sync: refused,
      truncate: refused,
    }
  }

  readonly space: () => Promise<never> = refused
  readonly makeDirectory: () => Promise<never> = refused
  readonly removeDirectory: () => Promise<never> = refused
  readonly rename: () => Promise<never> = refused
  readonly unlink: () => Promise<never> = refused
  readonly syncDirectory: () => Promise<never> = refused
  readonly lock: () => Promise<never> = refused
  abandon(): void {}
}

const refused = (): Promise<never> => Promise.reject(new Error('an inspection writes nothing'))
