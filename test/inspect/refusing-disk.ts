/** A disk in memory that has gone bad in one place: it answers no read that touches it. */
import type { DiskFile } from '../../src/disk/disk.js'
import { diskFailure } from '../../src/disk/failure.js'
import { MemoryDisk, type Files } from './memory-disk.js'

/** Bytes of a file. */
export interface BadPlace {
  readonly path: string
  readonly offset: number
  readonly bytes: number
}

export class RefusingDisk extends MemoryDisk {
  readonly #bad: BadPlace
  /** Reads that were refused. */
  refusedCount: number = 0

  constructor(files: Files, directories: readonly string[], bad: BadPlace) {
    super(files, directories)
    this.#bad = bad
  }

  override async open(path: string, mode: string): Promise<DiskFile> {
    const file = await super.open(path, mode)
    const { offset, bytes } = this.#bad
    if (path !== this.#bad.path) return file
    const read = async (into: Buffer, position: number): Promise<number> => {
      const end = Math.min(position + into.length, await file.size())
      if (position >= offset + bytes || end <= offset) return file.read(into, position)
      this.refusedCount++
      throw diskFailure('read', path, 'EIO')
    }
    return { ...file, read }
  }
}
