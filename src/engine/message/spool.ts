/** Large data, a file each under `spool/`, named by a number that is never given twice.
 * Invariants: a file and its name are durable before the envelope that names it is appended; it is
 * unlinked when the finish that names it is durable. A number is pending until its envelope is
 * appended, and the checkpoint says which are: what exists at a start and is neither named by the
 * suffix nor older than that is an orphan of the crash. A file that a full disk does
 * not let us unlink is pending, too: each checkpoint tries again, and so does the next start. */
import type { Disk, DiskFile } from '../../disk/disk.js'
import { unlinkIfThere } from '../../disk/names.js'
import { isWaybillError } from '../../errors.js'
import { spoolDirectory, spoolPath } from '../../directory/paths.js'

/** Numbers that a life gives as it likes: its first is above all that earlier ones gave, without
 * reading what they were. A life that needs more claims half as many again, so that lives that need
 * fewer return to the usual claim. */
const numbersPerLife = 2 ** 28

/** At most this part of a segment is for the numbers of files that have no envelope yet, and as
 * much for those that cannot be unlinked: a segment holds a checkpoint twice, its copy and its
 * successor, and leaves room for what accepted mail may need. */
const pendingPart = 64
/** A number in a checkpoint, at the most. */
const numberBytes = 9

/** A spool file that is being written. */
export interface SpoolFile {
  readonly number: number
  /** Appends bytes.
   * @throws WaybillError DISK_FULL, DISK_FAILED: abort, and reject the submission */
  write(bytes: Buffer): Promise<void>
  /** Makes it durable, name included. */
  finish(): Promise<void>
  /** It will not be used: removes it. */
  abort(): Promise<void>
}

export interface SpoolCallbacks {
  /** A checkpoint that is captured after this call.
   * @throws WaybillError DISK_FULL by rejection, when there is no room for one */
  readonly checkpoint: () => Promise<void>
  /** A backup may be copying files. */
  readonly isPinned: () => boolean
  /** Files that nobody needs are too many to wait for a backup. */
  readonly onTooMany: () => void
  /** The life ends. */
  readonly onFailure: (error: unknown) => void
}

export class Spool {
  readonly #disk: Disk
  readonly #names: Pick<Disk, 'syncDirectory'>
  readonly #callbacks: SpoolCallbacks
  readonly #pending = new Set<number>()
  readonly #pendingMax: number
  /** Files that nobody needs, and that a full disk or a backup keeps from being removed. */
  readonly #unwanted = new Set<number>()
  /** Pending numbers of files that were given up and could not be unlinked. A submission that waits
   * for a number tries again. */
  readonly #doubtful = new Set<number>()
  /** Submissions that wait for their turn, in order. */
  readonly #waiting: (() => void)[] = []
  /** The newest sync of their directory that has begun, and the one behind it. */
  #sync: Promise<void> | undefined
  #nextSync: Promise<void> | undefined
  #highest: number
  /** The last number that may be given before a checkpoint claims more. */
  #last: number
  /** The number that checkpoints name as the claim of this life. It is never given: a file whose
   * number is pending in a checkpoint may be taken for an orphan. */
  #claim: number | undefined
  /** An earlier life may have changed names that are not durable: this life does not see that they
   * were there.
   *    1. unlinked
   *    2. killed
   *    3. a checkpoint passes the finish
   *    4. power loss: the file is back, and nobody knows it */
  #namesChanged = true

  /** @param disk where a file that cannot be opened now is one submission's trouble, or one
   * delivery's
   * @param names where the directory of them all is synced
   * @param segmentBytes of the journal, @param life the number of this life
   * @param known numbers given or claimed in earlier ones: those of the checkpoint and of the
   * files */
  constructor(
    disk: Disk,
    names: Pick<Disk, 'syncDirectory'>,
    segmentBytes: number,
    life: number,
    known: readonly number[],
    callbacks: SpoolCallbacks,
  ) {
    this.#disk = disk
    this.#names = names
    this.#pendingMax = Math.floor(segmentBytes / pendingPart / numberBytes)
    this.#callbacks = callbacks
    this.#highest = known.reduce((highest, number) => Math.max(highest, number), life * numbersPerLife)
    this.#last = (life + 1) * numbersPerLife
  }

  get highest(): number {
    return this.#highest
  }

  /** Numbers whose envelope is not appended yet, or never will be, and what is claimed. */
  get pending(): readonly number[] {
    const named = [...this.#pending, ...this.#unwanted]
    return this.#claim === undefined ? named : [...named, this.#claim]
  }

  isPending(number: number): boolean {
    return this.#pending.has(number) || this.#unwanted.has(number)
  }

  /** A file for a submission. Where too many numbers are pending, submissions take turns, and each
   * turn first unlinks a file that was given up. Without that:
   *    1. the file system of spool/ is read-only: each submission is refused, and its number stays
   *    2. as many numbers are pending as there may be
   *    3. later submissions wait for ever, even when the file system can be written again
   * @throws WaybillError as `create` */
  async createInTurn(): Promise<SpoolFile> {
    while (this.#isUsedUp || this.#pending.size >= this.#pendingMax) {
      const [doubtful] = this.#doubtful
      if (this.#isUsedUp) await this.#claimMore()
      else if (doubtful !== undefined) await this.giveUp(doubtful)
      else await new Promise<void>((look) => this.#waiting.push(look))
    }
    return this.create()
  }

  /** A file at once, or after the checkpoint that claims its number.
   * @throws WaybillError DISK_FULL, also when there is no room for that checkpoint; DISK_FAILED */
  async create(): Promise<SpoolFile> {
    while (this.#isUsedUp) await this.#claimMore()
    const number = ++this.#highest
    this.#pending.add(number)
    const path = spoolPath(number)
    let file: DiskFile
    try {
      file = await this.#disk.open(path, 'create')
    } catch (error) {
      // A call that failed may have had its effect. What cannot be taken away is left to the next
      // recovery; what was there is not ours.
      if (isWaybillError(error) && error.place.errno === 'EEXIST') this.#forget(number)
      else await this.giveUp(number).catch(() => undefined)
      throw error
    }
    this.#namesChanged = true
    let offset = 0
    let isOpen = true
    return {
      number,
      write: async (bytes) => {
        await file.write(bytes, offset)
        offset += bytes.length
      },
      finish: async () => {
        await file.sync()
        isOpen = false
        await file.close()
        await this.#syncDirectory()
      },
      abort: async () => {
        try {
          if (isOpen) await file.close()
        } finally {
          await this.giveUp(number)
        }
      },
    }
  }

  /** The envelope that names it was appended in this step. */
  appended(number: number): void {
    this.#forget(number)
  }

  /** Its file will not be used. Submissions that wait for its turn are rejected, too, if it cannot
   * be removed.
   * @throws WaybillError as `unlink` */
  async giveUp(number: number): Promise<void> {
    this.#doubtful.add(number)
    try {
      await this.unlink(number)
      this.#doubtful.delete(number)
      this.#pending.delete(number)
    } finally {
      this.#waiting.shift()?.()
    }
  }

  /** @param from offset, bytes @returns fewer bytes where the file ends */
  async read(number: number, bytes: number, from = 0): Promise<Buffer> {
    const file = await this.#disk.open(spoolPath(number), 'read')
    try {
      const data = Buffer.allocUnsafe(bytes)
      const length = await file.read(data, from)
      return data.subarray(0, length)
    } finally {
      await file.close()
    }
  }

  /** Removes a file; one that somebody else has removed is gone as well. What a full disk or a
   * backup keeps is removed later.
   * @throws WaybillError DISK_FAILED; DISK_FULL when there are too many of those */
  async unlink(number: number): Promise<void> {
    if (this.#callbacks.isPinned()) {
      if (this.#unwanted.size < this.#pendingMax) return void this.#unwanted.add(number)
      this.#callbacks.onTooMany()
    }
    try {
      await unlinkIfThere(this.#disk, spoolPath(number))
      this.#unwanted.delete(number)
    } catch (error) {
      const isOneMore = !this.#unwanted.has(number)
      if (!isWaybillError(error, 'DISK_FULL') || (isOneMore && this.#unwanted.size >= this.#pendingMax))
        throw error
      this.#unwanted.add(number)
    }
    this.#namesChanged = true
  }

  /** Makes removed names durable: part of a checkpoint. */
  async syncNames(): Promise<void> {
    if (!this.#callbacks.isPinned()) for (const unwanted of this.#unwanted) await this.unlink(unwanted)
    if (!this.#namesChanged) return
    this.#namesChanged = false
    await this.#names.syncDirectory(spoolDirectory)
  }

  get #isUsedUp(): boolean {
    return this.#highest >= this.#last
  }

  /** The next life must be above what this one gives, and has only its checkpoint to know:
   *    1. this life gives the next one's first number, and ends that message
   *    2. killed: the file is gone
   *    3. the next life gives the number again
   *    4. power loss: the end of the first message takes the file of the second */
  async #claimMore(): Promise<void> {
    const claim = this.#highest + numbersPerLife / 2
    this.#claim = claim
    try {
      await this.#callbacks.checkpoint()
    } catch (error) {
      // A submission that does not take its turn passes it on.
      this.#waiting.shift()?.()
      throw error
    }
    this.#last = Math.max(this.#last, claim - 1)
  }

  /** No checkpoint has to name it any more. */
  #forget(number: number): void {
    this.#pending.delete(number)
    this.#waiting.shift()?.()
  }

  /** Resolves when the names that are there now are durable. One sync is under way at a time: files
   * that are finished meanwhile share the next one, for this one may have missed their names. */
  #syncDirectory(): Promise<void> {
    this.#nextSync ??= this.#syncBehind(this.#sync)
    return this.#nextSync
  }

  /** The names in a directory are synced together, so a failure is not one submission's:
   *    1. the sync for A fails, and the name of B counts as clean
   *    2. the sync for B "succeeds"
   *    3. B settles
   *    4. power loss
   * @throws WaybillError DISK_FAILED, also when the one before did */
  async #syncBehind(before: Promise<void> | undefined): Promise<void> {
    await before
    this.#sync = this.#nextSync
    this.#nextSync = undefined
    try {
      await this.#names.syncDirectory(spoolDirectory)
    } catch (error) {
      this.#callbacks.onFailure(error)
      throw error
    }
  }
}
