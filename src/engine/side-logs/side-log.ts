/** A log beside the journal and the lanes: of keys, of outcomes. It is made when it is first
 * needed, written and synced as a lane's log is.
 * Invariant: it is trusted up to the end that a checkpoint says. Its directory's name is durable
 * before that checkpoint is. Rot in it costs what it holds, and no mail. */
import type { Prng } from '../../base/prng.js'
import type { Position } from '../../base/position.js'
import type { LaneFiles } from '../../directory/log-files.js'
import type { Disk } from '../../disk/disk.js'
import { isWaybillError, type WaybillError } from '../../errors.js'
import type { SegmentPins } from '../../garbage/pins.js'
import { LaneLog } from '../../log/lane-log.js'

export interface SideLogOptions {
  readonly disk: Disk
  readonly prng: Prng
  readonly place: LaneFiles
  /** The number of this life. */
  readonly life: number
  readonly pins: SegmentPins
  readonly onRoom: () => void
  readonly onFull: () => void
  readonly onFailure: (error: unknown) => void
  /** Some of it is lost to rot. */
  readonly onLoss: (reason: WaybillError) => void
}

export class SideLog {
  readonly #options: SideLogOptions
  #log: LaneLog | undefined
  #opening: Promise<LaneLog> | undefined

  constructor(options: SideLogOptions) {
    this.#options = options
  }

  /** undefined: it is not open. */
  get log(): LaneLog | undefined {
    return this.#log
  }

  /** Makes it, unless it is open: no checkpoint knows of one, and what lies there is not trusted.
   * @throws WaybillError DISK_FULL by rejection: it can be asked for again; DISK_FAILED */
  opened(): Promise<LaneLog> {
    this.#opening ??= this.#made().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Opens what a checkpoint trusts up to `end`. Where some of that is missing the log goes on
   * behind it, in a segment that it does not have yet.
   * @returns whether nothing is missing */
  async reopen(end: Position): Promise<boolean> {
    const { disk, place } = this.#options
    const { grid } = place.files
    let isWhole = true
    try {
      // An empty directory may not have come along with a copy of the queue.
      if ((await disk.list(place.directory)).length === 0) await this.#makeDirectory()
      this.#log = await this.#recovered(end)
    } catch (error) {
      this.lost(error)
      isWhole = false
      this.#log = await this.#recovered(grid.firstOf(grid.indexOf(end) + 1))
    }
    this.#opening = Promise.resolve(this.#log)
    return isWhole
  }

  /** Something in it cannot be read. @throws what is no rot */
  lost(error: unknown): void {
    if (!isWaybillError(error, 'LOG_CORRUPT')) throw error
    this.#options.onLoss(error)
  }

  async #made(): Promise<LaneLog> {
    await this.#makeDirectory()
    this.#log = await this.#recovered(this.#options.place.files.grid.firstOf(0))
    return this.#log
  }

  async #recovered(end: Position): Promise<LaneLog> {
    const { place, pins } = this.#options
    const log = new LaneLog({ ...this.#options, ...place, end, onSegment: (index) => pins.add(index) })
    await log.recover()
    return log
  }

  /** An earlier life may have made it, and failed to sync its name: it is made anew. */
  async #makeDirectory(): Promise<void> {
    const { disk, place } = this.#options
    const { directory } = place
    if ((await disk.list('')).includes(directory)) {
      for (const name of await disk.list(directory)) await disk.unlink(`${directory}/${name}`)
      await disk.removeDirectory(directory)
    }
    await disk.makeDirectory(directory)
    await disk.syncDirectory('')
  }
}
