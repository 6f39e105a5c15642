/** The segments of a lane's log that are open for writing: made, written, synced, closed, removed.
 * Invariant: `sync` covers all earlier writes, and every name that was made or removed. A file
 * with unsynced writes stays open: writes during a sync go to the segment that was current
 * then, or behind it. */
import type { Prng } from '../base/prng.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { unlinkIfThere } from '../disk/names.js'
import { isWaybillError } from '../errors.js'
import type { SegmentFiles } from './segment-files.js'
import { encodeSegmentHeader, segmentIndexOf, segmentName, segmentSeed } from './segment.js'

export interface LaneSegmentsOptions {
  readonly disk: Disk
  readonly directory: string
  readonly log: number
  readonly life: number
  readonly prng: Prng
  readonly files: SegmentFiles
  /** A segment of this log exists. */
  readonly onSegment: (index: number) => void
}

interface OpenFile {
  readonly file: DiskFile
  readonly seed: number
}

export class LaneSegments {
  readonly #options: LaneSegmentsOptions
  readonly #open = new Map<number, OpenFile>()
  readonly #touched = new Set<number>()
  /** Segments whose making failed: a failed call may have had its effect, so their names may
   * exist. */
  readonly #halfMade = new Set<number>()
  #writing: Promise<void> = Promise.resolve()
  #namesChanged = false
  /** The length that the last segment has from a life before. */
  #inherited: { readonly index: number; readonly fileBytes: number } | undefined
  /** That length is being renewed. */
  #renewing: Promise<void> | undefined

  constructor(options: LaneSegmentsOptions) {
    this.#options = options
  }

  /** The seed of a segment that is open. */
  seedOf(index: number): number {
    return this.#open.get(index)!.seed
  }

  /** Removes everything behind the end and opens the last segment, cut there. Some room behind the
   * end is kept, because a full disk may have no other:
   *    1. messages are marked, on a full disk
   *    2. crash
   *    3. the file is cut at its end, without room
   *    4. no checkpoint has room for the marks: recovery never ends
   * @param last index of the last segment that holds content, @param lengthBytes of its content; 0
   * if there is none
   * @param zeroes written over that room, which holds frames of the life before
   * @returns how many bytes behind the end are room
   * @throws WaybillError LOG_CORRUPT when trusted content is missing */
  async cut(last: number, lengthBytes: number, zeroes: Buffer): Promise<number> {
    const { disk, directory, files, onSegment } = this.#options
    let found = false
    for (const name of await disk.list(directory)) {
      const index = segmentIndexOf(name)
      const path = `${directory}/${name}`
      if (index === undefined) continue
      if (index < last || (index === last && lengthBytes > 0)) {
        onSegment(index)
        found ||= index === last
      } else {
        await disk.unlink(path)
        this.#namesChanged = true
      }
    }
    if (lengthBytes === 0) return 0
    const end = files.grid.at(last, lengthBytes)
    if (!found) throw files.corrupt(end, 'the segment is missing')
    const seed = await files.with(last, async (segment) => segment.seed)
    const file = await disk.open(`${directory}/${segmentName(last)}`, 'write')
    this.#open.set(last, { file, seed })
    const fileBytes = await file.size()
    if (fileBytes < lengthBytes) throw files.corrupt(end, 'the segment is cut short')
    const room = zeroes.subarray(0, fileBytes - lengthBytes)
    const roomBytes = (await isOverwritten(file, room, lengthBytes)) ? room.length : 0
    if (fileBytes > lengthBytes + roomBytes) await file.truncate(lengthBytes + roomBytes)
    else this.#inherited = { index: last, fileBytes }
    return roomBytes
  }

  /** Writes zeroes, to allocate room. The segment is made if it is not there.
   * @throws WaybillError DISK_FULL, DISK_FAILED */
  async allocate(index: number, offsetBytes: number, zeroes: Buffer): Promise<void> {
    if (this.#renewing !== undefined) await this.#renewing
    if (this.#inherited?.index === index) this.#inherited = undefined
    const { file } = this.#open.get(index) ?? (await this.#create(index))
    await file.write(zeroes, offsetBytes)
  }

  /** Writes content, in order behind earlier content. @returns when it is written */
  write(index: number, offsetBytes: number, bytes: Buffer): Promise<void> {
    const { file } = this.#open.get(index)!
    this.#touched.add(index)
    if (this.#inherited?.index === index) this.#renewLength(file, this.#inherited.fileBytes)
    this.#writing = this.#writing.then(() => file.write(bytes, offsetBytes))
    return this.#writing
  }

  /** Changes the file's length there and back, because a length that the kernel calls clean never
   * reaches the device.
   *    1. A segment grows, and its sync fails: the kernel calls its new length clean.
   *    2. The next start in the same boot finds that length, and writes into the room that is
   *       there.
   *    3. Sync, checkpoint, power loss: the segment is shorter than the checkpoint says. */
  #renewLength(file: DiskFile, fileBytes: number): void {
    this.#inherited = undefined
    this.#renewing = this.#writing.then(async () => {
      await file.truncate(fileBytes + 1)
      await file.truncate(fileBytes)
      this.#renewing = undefined
    })
    this.#writing = this.#renewing
  }

  /** Settles when all content is written. */
  get written(): Promise<void> {
    return this.#writing
  }

  /** Makes all earlier writes durable. @param current segments before this one are not
   * needed open any more */
  async sync(current: number): Promise<void> {
    // The set is taken in this step: writes during the wait enter their segment again, for the next
    // sync.
    //    1. a sync waits for writes
    //    2. another write to segment 8 begins
    //    3. segment 8 is synced before that write ends, and counts as synced
    const touched = [...this.#touched]
    this.#touched.clear()
    await this.#writing
    for (const index of touched) await this.#open.get(index)!.file.sync()
    await this.#closeBefore(current)
    if (!this.#namesChanged) return
    this.#namesChanged = false
    await this.#options.disk.syncDirectory(this.#options.directory)
  }

  /** Removes a garbage segment.
   * @throws WaybillError DISK_FULL: it may be gone, call it again; DISK_FAILED */
  async remove(index: number): Promise<void> {
    const { disk, directory, files } = this.#options
    await files.forget(index)
    await unlinkIfThere(disk, `${directory}/${segmentName(index)}`)
    this.#namesChanged = true
  }

  /** Closes all descriptors and removes unfinished segments:
   *    1. the header of a new segment meets a full disk
   *    2. the lane leaves the table; the file stays
   *    3. its directory is not empty: the life ends */
  async close(): Promise<void> {
    const { disk, directory } = this.#options
    await this.#closeBefore(Infinity)
    for (const index of this.#halfMade) await unlinkIfThere(disk, `${directory}/${segmentName(index)}`)
  }

  async #create(index: number): Promise<OpenFile> {
    const { disk, directory, log, life, prng, files, onSegment } = this.#options
    const { segmentBytes } = files.grid
    const epoch = [prng.uint32(), prng.uint32()] as const
    const path = `${directory}/${segmentName(index)}`
    if (this.#halfMade.has(index)) await unlinkIfThere(disk, path)
    this.#halfMade.add(index)
    const file = await disk.open(path, 'create')
    try {
      await file.write(encodeSegmentHeader({ log, index, segmentBytes, epoch, life }), 0)
    } catch (error) {
      await file.close()
      throw error
    }
    this.#halfMade.delete(index)
    const opened = { file, seed: segmentSeed(log, index, epoch) }
    this.#open.set(index, opened)
    this.#touched.add(index)
    onSegment(index)
    this.#namesChanged = true
    return opened
  }

  async #closeBefore(index: number): Promise<void> {
    for (const [opened, { file }] of this.#open) {
      if (opened >= index) continue
      this.#open.delete(opened)
      await file.close()
    }
  }
}

/** Can bytes of the file be overwritten on a full disk? Some file systems write the new
 * ones elsewhere. */
async function isOverwritten(file: DiskFile, bytes: Buffer, offsetBytes: number): Promise<boolean> {
  if (bytes.length === 0) return true
  try {
    await file.write(bytes, offsetBytes)
    return true
  } catch (error) {
    if (isWaybillError(error, 'DISK_FULL')) return false
    throw error
  }
}
