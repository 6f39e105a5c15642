/** Reads around blocks that a disk refuses (EIO): they read as zeroes.
 * Invariant: a frame with a refused block does not verify, and its reader reports the cost. Each
 * refused stretch is reported as a whole, with its place. Only inspections read like this: in an
 * open queue a refused call ends the life, or the work it was for. */
import type { Disk, DiskFile } from '../../disk/disk.js'
import { isWaybillError } from '../../errors.js'
import { blockBytes } from '../../log/segment.js'

/** Refused blocks in a row that are each asked for; behind them every second, every
 * fourth … of so many. */
const oneByOneMax = 64
const strideMax = 256

/** Blocks that follow one another. */
export interface RefusedStretch {
  readonly path: string
  readonly offsetBytes: number
  readonly bytes: number
}

/** @param tell may be called with a known stretch */
export const aroundRefusals = (disk: Disk, tell: (refused: RefusedStretch) => void): Disk => ({
  ...disk,
  open: async (path, mode) => {
    const file = await disk.open(path, mode)
    const blocks = new RefusedBlocks(file, path, tell)
    return {
      read: (into, position) => blocks.read(into, position),
      size: () => file.size(),
      close: () => file.close(),
      write: (bytes, position) => file.write(bytes, position),
      sync: () => file.sync(),
      truncate: (lengthBytes) => file.truncate(lengthBytes),
    }
  },
})

export const isRefusal = (error: unknown): boolean =>
  isWaybillError(error, 'DISK_FAILED') && error.place.errno === 'EIO' && error.place.operation === 'read'

/** Of one open file: each block is tried once, because a device may take seconds to refuse. */
class RefusedBlocks {
  readonly #file: DiskFile
  readonly #path: string
  readonly #tell: (refused: RefusedStretch) => void
  readonly #refused = new Set<number>()

  constructor(file: DiskFile, path: string, tell: (refused: RefusedStretch) => void) {
    this.#file = file
    this.#path = path
    this.#tell = tell
  }

  async read(into: Buffer, position: number): Promise<number> {
    if (!this.#isKnown(position, position + into.length))
      try {
        return await this.#file.read(into, position)
      } catch (error) {
        if (!isRefusal(error)) throw error
      }
    const sizeBytes = await this.#file.size()
    const end = Math.min(position + into.length, sizeBytes)
    for (let at = position; at < end;) {
      const block = Math.floor(at / blockBytes)
      const next = Math.min(end, (block + 1) * blockBytes)
      const part = into.subarray(at - position, next - position)
      const count = await this.#readIn(block, part, at)
      if (count === undefined) {
        part.fill(0)
        await this.#follow(block, sizeBytes)
      } else if (count < part.length) return at + count - position
      at = next
    }
    return Math.max(0, end - position)
  }

  #isKnown(from: number, to: number): boolean {
    if (this.#refused.size === 0) return false
    for (let block = Math.floor(from / blockBytes); block * blockBytes < to; block++)
      if (this.#refused.has(block)) return true
    return false
  }

  /** @returns undefined if it is refused */
  async #readIn(block: number, into: Buffer, position: number): Promise<number | undefined> {
    if (this.#refused.has(block)) return undefined
    try {
      return await this.#file.read(into, position)
    } catch (error) {
      if (!isRefusal(error)) throw error
      return undefined
    }
  }

  /** Finds both ends of the stretch around a refused block, and reports it; known stretches
   * were reported. */
  async #follow(block: number, sizeBytes: number): Promise<void> {
    if (this.#refused.has(block)) return
    const first = await this.#lastRefused(block, -1, 0)
    const last = await this.#lastRefused(block, 1, Math.ceil(sizeBytes / blockBytes) - 1)
    for (let refused = first; refused <= last; refused++) this.#refused.add(refused)
    const offsetBytes = first * blockBytes
    const bytes = Math.min((last + 1) * blockBytes, sizeBytes) - offsetBytes
    this.#tell({ path: this.#path, offsetBytes, bytes })
  }

  /** Not every block of a long stretch is tried: a device that refuses a whole file may take an
   * hour.
   * @param limit the last block in that direction */
  async #lastRefused(from: number, direction: -1 | 1, limit: number): Promise<number> {
    let last = from
    for (let askedCount = 1, stride = 1; last !== limit; askedCount++) {
      if (askedCount > oneByOneMax) stride = Math.min(2 * stride, strideMax)
      const leap = Math.min(stride, Math.abs(limit - last)) * direction
      if (await this.#isRefused(last + leap)) {
        last += leap
        continue
      }
      // Skipped blocks are tried from the other side.
      let readable = last + leap
      while (readable - direction !== last && !(await this.#isRefused(readable - direction)))
        readable -= direction
      return readable - direction
    }
    return last
  }

  async #isRefused(block: number): Promise<boolean> {
    return (await this.#readIn(block, Buffer.allocUnsafe(1), block * blockBytes)) === undefined
  }
}
