/** The journal's files: segments in use, the next one prepared ahead, and spares.
 * Invariants:
 * 1. A file gets a segment's name only after its header, with a fresh epoch, was written and synced under another name; the
 *    directory is synced before the segment is handed to the writer.
 *    // 1. segment 8 created  2. batch settled in it  3. power loss  4. its name is gone: the directory was not synced
 * 2. A garbage segment becomes a spare by a rename, or goes where a full disk refuses that; it is used only after a sync of the directory
 *    that calls it a spare.
 * 3. Spares are zero-filled once, at full length: a full disk is met here, where a refusal is possible, and a write to a
 *    segment changes no file metadata. A disk whose traits say so is neither filled ahead nor are its segments used again.
 * 4. `reserve` of the spares belong to mail already accepted, and the last one to the end of a recovery.
 * 5. A name that a full disk refuses may have been given all the same. It is tried for again, by nothing but the same rename, and the
 *    directory says whether it is there: the writer never has a file that no start would find.
 * 6. A file that has another name, too, is no spare: it goes.
 *    // 1. spare-3 becomes segment 2, and segment 2 spare-5 in the next life; both times the sync of the directory fails  2. power loss keeps
 *    // the last only: spare-3 and spare-5 are one file  3. mail in what was spare-3  4. what was spare-5 is written over it
 * 7. What a full disk does not let go is tried for again, and used for nothing: it may have gone. The next start takes over what it finds. */
import { assert } from '../base/assert.js'
import { fileSystemTraits, type Disk, type DiskFile, type DiskTraits } from '../disk/disk.js'
import { unlinkIfThere } from '../disk/unlink-if-there.js'
import { isWaybillError, type WaybillError } from '../errors.js'
import { encodeSegmentHeader, segmentName } from './segment.js'

const sparePattern = /^spare-([0-9]+)$/
const fillPattern = /^spare-[0-9]+\.fill$/

/** Of a spare, or of one that is being made. */
export const isSpareName = (name: string): boolean => sparePattern.test(name) || fillPattern.test(name)

const fillChunkBytes = 1024 * 1024

/** Spares that only accepted mail may use, the last one kept for recovery. */
export const reserveSpares = 2

export interface PoolOptions {
  readonly disk: Disk
  readonly directory: string
  readonly log: number
  readonly segmentBytes: number
  readonly life: number
  /** Spares that are kept, the reserve among them; more are unlinked. */
  readonly spareCountMax: number
  /** Called when a spare became ready, or could not: who waits looks again. */
  readonly onChange: () => void
}

export class SegmentPool {
  readonly #options: PoolOptions
  readonly #ready: string[] = []
  readonly #waiting: ((name: string) => void)[] = []
  #spareNext = 1
  /** Spares that `prepare` leaves alone. */
  #kept = 0
  #filling = false
  #full = false
  /** Paths that are to be taken away. */
  readonly #unwanted = new Set<string>()
  /** Of this life. */
  #hasSegment = false
  /** A full disk refused a spare the name of a segment: has it tried again. */
  #nameAgain: (() => void) | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Spares that can be used now: none where the one before them cannot have its name. */
  get readyCount(): number {
    return this.#nameAgain === undefined ? this.#ready.length : 0
  }

  /** The last attempt to make a spare, or a segment of one, met a full disk. */
  get diskFull(): boolean {
    return this.#full || this.#nameAgain !== undefined
  }

  /** Takes over the spares of earlier lives, and makes spares of segments that never began.
   * @param names the directory's names, @param unbegun indexes of segments */
  async adopt(names: readonly string[], unbegun: readonly number[]): Promise<void> {
    const { disk, segmentBytes } = this.#options
    const whole: string[] = []
    for (const name of names) {
      if (fillPattern.test(name)) await disk.unlink(this.#path(name))
      const number = Number(sparePattern.exec(name)?.[1] ?? 0)
      if (number === 0) continue
      this.#spareNext = Math.max(this.#spareNext, number + 1)
      const { lengthBytes, nameCount } = await disk.stat(this.#path(name))
      if (lengthBytes === segmentBytes && nameCount === 1) whole.push(name)
      else await disk.unlink(this.#path(name))
    }
    // A name of an earlier life may not be durable yet, and a file is not renamed twice between two syncs:
    //    // 1. spare-3 becomes segment 2  2. killed  3. segment 2 becomes spare-5  4. power loss keeps the last only: one file, two names
    if (unbegun.length > 0) await disk.syncDirectory(this.#options.directory)
    // The highest first, and for certain: where the one below is missing, a segment has begun and rotted (recovery/tail-verdict.ts).
    const [lowest, ...others] = [...unbegun].sort((a, b) => a - b)
    let refusal: WaybillError | undefined
    for (const index of others.reverse()) refusal ??= await this.#release([index], [])
    refusal ??= await this.#release(lowest === undefined ? [] : [lowest], whole)
    // Names above the journal's end are given again in this life: what cannot go now may be in use when it could.
    if (refusal !== undefined) throw refusal
  }

  /** Makes a spare segment `index` and opens it for synced writes. While the disk is full it waits: for a recycled segment, or
   * for a `refill` that succeeds. @throws WaybillError DISK_FULL when the first one of a life cannot have its name; DISK_FAILED */
  async prepare(index: number, epoch: readonly [number, number]): Promise<DiskFile> {
    const { disk, directory, log, segmentBytes, life } = this.#options
    const spare =
      this.#ready.length > this.#kept
        ? this.#ready.shift()!
        : await new Promise<string>((resolve) => this.#waiting.push(resolve))
    const file = await disk.open(this.#path(spare), 'synced')
    await file.write(encodeSegmentHeader({ log, index, segmentBytes, epoch, life }), 0)
    assert(!this.#unwanted.has(this.#path(segmentName(index))), 'what is to be taken away is not used again')
    await this.#name(spare, segmentName(index))
    this.#hasSegment = true
    await disk.syncDirectory(directory)
    return file
  }

  /** Whoever opens a queue is told of a full disk; later it is waited for. */
  async #name(spare: string, segment: string): Promise<void> {
    const { disk, directory, onChange } = this.#options
    for (let isThere = false; !isThere;)
      try {
        await disk.rename(this.#path(spare), this.#path(segment))
        isThere = true
      } catch (error) {
        if (!this.#hasSegment || !isWaybillError(error, 'DISK_FULL')) throw error
        isThere = (await disk.list(directory)).includes(segment)
        if (!isThere)
          await new Promise<void>((resolve) => {
            this.#nameAgain = resolve
            onChange()
          })
      }
    this.#nameAgain = undefined
  }

  /** Makes one spare if there is none. @throws WaybillError DISK_FULL, DISK_FAILED */
  async ensureOne(): Promise<void> {
    if (this.#ready.length === 0) await this.#makeSpare()
  }

  /** Tries again for a name that was refused, and makes spares until the reserve is whole or the disk is full. Returns at once when that is
   * under way. */
  async refill(): Promise<void> {
    this.#nameAgain?.()
    if (this.#filling) return
    this.#filling = true
    try {
      while (this.#ready.length < reserveSpares || this.#waiting.length > 0) await this.#makeSpare()
      this.#full = (await this.#clear()) !== undefined
    } catch (error) {
      if (!isWaybillError(error, 'DISK_FULL')) throw error
      this.#full = true
    } finally {
      this.#filling = false
    }
    this.#options.onChange()
  }

  /** Garbage segments become spares; those beyond `spareCountMax`, and those that cannot, are unlinked. */
  async recycle(indexes: readonly number[]): Promise<void> {
    if (indexes.length === 0) return
    if ((await this.#release(indexes, [])) !== undefined) this.#full = true
    this.#options.onChange()
  }

  /** The disk is short of room: spares beyond the reserve go. */
  async shrink(): Promise<void> {
    if (this.#ready.length <= reserveSpares) return
    for (const name of this.#ready.splice(reserveSpares)) this.#unwanted.add(this.#path(name))
    if ((await this.#clear()) !== undefined) this.#full = true
    await this.#options.disk.syncDirectory(this.#options.directory)
    this.#options.onChange()
  }

  /** @returns the full disk that kept something from going */
  async #release(indexes: readonly number[], spares: readonly string[]): Promise<WaybillError | undefined> {
    const { disk, directory, spareCountMax } = this.#options
    const names = [...spares]
    for (const index of indexes) {
      const path = this.#path(segmentName(index))
      const isWanted = this.#traits.reuses && this.#ready.length + names.length < spareCountMax
      if (!isWanted || (await disk.stat(path)).nameCount > 1) this.#unwanted.add(path)
      else {
        const name = `spare-${this.#spareNext++}`
        try {
          await disk.rename(path, this.#path(name))
          names.push(name)
        } catch (error) {
          this.#takeAway([path, this.#path(name)], error)
        }
      }
    }
    const refusal = await this.#clear()
    await disk.syncDirectory(directory)
    for (const name of names) this.#add(name)
    return refusal
  }

  async #makeSpare(): Promise<void> {
    const { disk, directory } = this.#options
    const name = `spare-${this.#spareNext++}`
    const unfinished = `${this.#path(name)}.fill`
    try {
      await this.#fill(unfinished)
      await disk.rename(unfinished, this.#path(name))
    } catch (error) {
      this.#takeAway([unfinished, this.#path(name)], error)
      await this.#clear()
      throw error
    }
    await disk.syncDirectory(directory)
    this.#add(name)
  }

  /** A call that met a full disk may have had its effect; what else fails ends the life. @throws what is no full disk */
  #takeAway(paths: readonly string[], error: unknown): void {
    if (!isWaybillError(error, 'DISK_FULL')) throw error
    for (const path of paths) this.#unwanted.add(path)
  }

  /** @returns the full disk that refuses even that @throws WaybillError DISK_FAILED */
  async #clear(): Promise<WaybillError | undefined> {
    for (const path of this.#unwanted)
      try {
        await unlinkIfThere(this.#options.disk, path)
        this.#unwanted.delete(path)
      } catch (error) {
        if (!isWaybillError(error, 'DISK_FULL')) throw error
        return error
      }
    return undefined
  }

  async #fill(path: string): Promise<void> {
    const { disk, segmentBytes } = this.#options
    const file = await disk.open(path, 'create')
    try {
      if (this.#traits.fillsAhead) await writeZeroes(file, segmentBytes)
      else await file.truncate(segmentBytes)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /** Keeps the last spare from now on, or gives it free: for the first segment of a life and the end of a recovery. */
  keepLast(isKept: boolean): void {
    this.#kept = isKept ? 1 : 0
    this.#serve()
  }

  #add(name: string): void {
    this.#ready.push(name)
    this.#serve()
  }

  #serve(): void {
    while (this.#waiting.length > 0 && this.#ready.length > this.#kept)
      this.#waiting.shift()!(this.#ready.shift()!)
  }

  get #traits(): DiskTraits {
    return this.#options.disk.traits ?? fileSystemTraits
  }

  #path(name: string): string {
    return `${this.#options.directory}/${name}`
  }
}

async function writeZeroes(file: DiskFile, lengthBytes: number): Promise<void> {
  const zeroes = Buffer.alloc(Math.min(fillChunkBytes, lengthBytes))
  for (let at = 0; at < lengthBytes; at += zeroes.length)
    await file.write(zeroes.subarray(0, Math.min(zeroes.length, lengthBytes - at)), at)
}
