/** The journal's files: segments in use, the next one prepared ahead, and spares.
 * Invariants (README.md in this folder has the crash stories behind 1 and 5):
 * 1. A file gets a segment's name only after its header, with a fresh epoch, was synced under
 *    another name; the directory is synced before the writer gets the segment.
 * 2. A garbage segment becomes a spare by a rename, and is used only after a sync of the directory.
 * 3. Spares are zero-filled once, at full length, unless the disk's traits say otherwise. So a full
 *    disk is met where it can be refused, and a write to a segment changes no metadata.
 * 4. `reserve` spares are for accepted mail only, and the last one for the end of a recovery.
 * 5. A file with a second name is no spare: it is unlinked.
 * 6. A rename that a full disk refuses may have happened: only the same rename is tried again. A
 *    file that a full disk does not unlink is not used; the next start takes it over. */
import { assert } from '../base/assert.js'
import { fileSystemTraits, type Disk, type DiskFile, type DiskTraits } from '../disk/disk.js'
import { unlinkIfThere } from '../disk/names.js'
import { zeroes } from '../disk/zeroes.js'
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
  /** Called when a spare became ready, or could not: waiting work looks again. */
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
  /** Paths to be unlinked. */
  readonly #unwanted = new Set<string>()
  /** Of this life. */
  #hasSegment = false
  /** Tries again to rename a spare that a full disk refused. */
  #nameAgain: (() => void) | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Spares that can be used now: none while a refused rename waits. */
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
    // A name of an earlier life may not be durable yet, and a file is not renamed twice between two
    // syncs:
    //    1. spare-3 becomes segment 2; the sync fails
    //    2. killed
    //    3. segment 2 becomes spare-5; the sync fails
    //    4. a power loss keeps only the last rename: one file has two names
    if (unbegun.length > 0) await disk.syncDirectory(this.#options.directory)
    // The highest first: if a lower one were missing, recovery would call the highest rotten
    // (recovery/tail-verdict.ts).
    const [lowest, ...others] = [...unbegun].sort((a, b) => a - b)
    let refusal: WaybillError | undefined
    for (const index of others.reverse()) refusal ??= await this.#release([index], [])
    refusal ??= await this.#release(lowest === undefined ? [] : [lowest], whole)
    // Names above the journal's end are used again in this life, so a file that cannot be unlinked
    // now may be in use later.
    if (refusal !== undefined) throw refusal
  }

  /** Makes a spare segment `index` and opens it for synced writes. While the disk is full it
   * waits for a recycled segment, or for a `refill` that succeeds.
   * @throws WaybillError DISK_FULL when the first one of a life cannot have its name;
   * DISK_FAILED */
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

  /** The first segment of a life rejects on a full disk; later ones wait. */
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

  /** Tries a refused rename again, and makes spares until the reserve is whole or the disk is full.
   * Returns at once when that is under way. */
  async refill(): Promise<void> {
    this.#nameAgain?.()
    if (this.#filling) return
    this.#filling = true
    try {
      // What is taken while others are unlinked is made anew: a call meanwhile returns at once.
      do {
        while (this.#isShort) await this.#makeSpare()
        this.#full = (await this.#clear()) !== undefined
      } while (this.#isShort)
    } catch (error) {
      if (!isWaybillError(error, 'DISK_FULL')) throw error
      this.#full = true
    } finally {
      this.#filling = false
    }
    this.#options.onChange()
  }

  /** Garbage segments become spares; those beyond `spareCountMax`, and those that
   * cannot, are unlinked. */
  async recycle(indexes: readonly number[]): Promise<void> {
    if (indexes.length === 0) return
    if ((await this.#release(indexes, [])) !== undefined) this.#full = true
    this.#options.onChange()
  }

  /** The disk is short of room: unlinks spares beyond the reserve. */
  async shrink(): Promise<void> {
    if (this.#ready.length <= reserveSpares) return
    for (const name of this.#ready.splice(reserveSpares)) this.#unwanted.add(this.#path(name))
    if ((await this.#clear()) !== undefined) this.#full = true
    await this.#options.disk.syncDirectory(this.#options.directory)
    this.#options.onChange()
  }

  /** @returns the error of a full disk that refused an unlink */
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

  /** A call that met a full disk may have had its effect.
   * @throws every other error, which ends the life */
  #takeAway(paths: readonly string[], error: unknown): void {
    if (!isWaybillError(error, 'DISK_FULL')) throw error
    for (const path of paths) this.#unwanted.add(path)
  }

  /** @returns the error of a full disk that refuses even that @throws WaybillError DISK_FAILED */
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

  /** Keeps the last spare, or releases it: for the first segment of a life and the end
   * of a recovery. */
  keepLast(isKept: boolean): void {
    this.#kept = isKept ? 1 : 0
    this.#serve()
  }

  get #isShort(): boolean {
    return this.#ready.length < reserveSpares || this.#waiting.length > 0
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

/** Each piece is synced, the last one by the caller: a sync of the journal waits behind one or two
 * pieces, not behind a segment. A piece is written while the one before is synced, because each
 * call costs a turn of the event loop: where a turn is long, a new queue used up its segments
 * faster than they were made. */
async function writeZeroes(file: DiskFile, lengthBytes: number): Promise<void> {
  const chunk = zeroes(Math.min(fillChunkBytes, lengthBytes))
  let syncing: Promise<void> | undefined
  for (let at = 0; at < lengthBytes; at += chunk.length) {
    const writing = file.write(chunk.subarray(0, Math.min(chunk.length, lengthBytes - at)), at)
    const [synced, written] = await Promise.allSettled([syncing, writing])
    // What a sync says goes before a full disk, which does not end the life.
    for (const call of [synced, written]) if (call.status === 'rejected') throw call.reason
    syncing = at + chunk.length < lengthBytes ? file.sync() : undefined
  }
}
