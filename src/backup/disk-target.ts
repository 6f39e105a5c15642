/** A copy on a disk, as files.
 * Invariant: every file and every name is durable before `finish` settles. */
import type { Disk, DiskFile } from '../disk/disk.js'
import { zeroes } from '../disk/zeroes.js'
import type { BackupTarget } from './copy.js'
import type { PlannedFile } from './plan.js'

export interface DiskTargetOptions {
  /** A file has all of its length in zeroes, so that a write into it needs no room. Else there is a
   * hole behind its content. */
  readonly fills: boolean
}

const zeroBytes = 1024 * 1024

export class DiskTarget implements BackupTarget {
  readonly #disk: Disk
  readonly #fills: boolean
  /** That were made, those above first. */
  readonly #directories = new Set<string>()

  /** @param disk an empty one */
  constructor(disk: Disk, { fills }: DiskTargetOptions) {
    this.#disk = disk
    this.#fills = fills
  }

  async add({ path, bytes, lengthBytes }: PlannedFile, pieces: AsyncIterable<Buffer>): Promise<void> {
    await this.#makeDirectories(path)
    const file = await this.#disk.open(path, 'create')
    try {
      let at = 0
      for await (const piece of pieces) {
        await file.write(piece, at)
        at += piece.length
      }
      if (this.#fills) await writeZeroes(file, bytes, lengthBytes)
      else if (lengthBytes > bytes) await file.truncate(lengthBytes)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  async finish(): Promise<void> {
    for (const directory of [...this.#directories].reverse()) await this.#disk.syncDirectory(directory)
  }

  async abandon(): Promise<void> {
    for (const directory of [...this.#directories].reverse()) {
      for (const name of await this.#disk.list(directory)) {
        const path = directory === '' ? name : `${directory}/${name}`
        if (!this.#directories.has(path)) await this.#disk.unlink(path)
      }
      if (directory !== '') await this.#disk.removeDirectory(directory)
    }
  }

  async #makeDirectories(path: string): Promise<void> {
    const names = path.split('/').slice(0, -1)
    for (let depth = 0; depth <= names.length; depth++) {
      const directory = names.slice(0, depth).join('/')
      if (this.#directories.has(directory)) continue
      await this.#disk.makeDirectory(directory)
      this.#directories.add(directory)
    }
  }
}

async function writeZeroes(file: DiskFile, from: number, to: number): Promise<void> {
  const chunk = zeroes(Math.min(zeroBytes, Math.max(0, to - from)))
  for (let at = from; at < to; at += chunk.length)
    await file.write(chunk.subarray(0, Math.min(chunk.length, to - at)), at)
}
