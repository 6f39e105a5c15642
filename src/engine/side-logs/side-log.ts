/** A log beside the journal and the lanes: of keys, of outcomes. It is made when it is first needed,
 * written and synced as a lane's log is.
 * Invariant: it is trusted up to the end that a checkpoint says. Its directory's name is durable
 * before that checkpoint is. */
import type { Prng } from '../../base/prng.js'
import type { Position } from '../../base/position.js'
import type { LaneFiles } from '../../directory/log-files.js'
import type { Disk } from '../../disk/disk.js'
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
}

/** @param end that the checkpoint says; undefined: it knows of no such log, and what lies there is not
 * trusted
 * @throws WaybillError DISK_FULL, DISK_FAILED; LOG_CORRUPT when trusted content is missing */
export async function openSideLog(options: SideLogOptions, end: Position | undefined): Promise<LaneLog> {
  const { disk, place } = options
  const { directory } = place
  if (end === undefined || (await disk.list(directory)).length === 0) await makeDirectory(disk, directory)
  return recovered(options, end ?? place.files.grid.firstOf(0))
}

/** Goes on behind what cannot be read: in a segment that the log does not have yet. */
export function openBehind(options: SideLogOptions, end: Position): Promise<LaneLog> {
  const { grid } = options.place.files
  return recovered(options, grid.firstOf(grid.indexOf(end) + 1))
}

async function recovered(options: SideLogOptions, end: Position): Promise<LaneLog> {
  const { place, pins } = options
  const log = new LaneLog({ ...options, ...place, end, onSegment: (index) => pins.add(index) })
  await log.recover()
  return log
}

/** An earlier life may have made it, and failed to sync its name: it is made anew. An empty one may not
 * have come along with a copy of the queue. */
async function makeDirectory(disk: Disk, directory: string): Promise<void> {
  if ((await disk.list('')).includes(directory)) {
    for (const name of await disk.list(directory)) await disk.unlink(`${directory}/${name}`)
    await disk.removeDirectory(directory)
  }
  await disk.makeDirectory(directory)
  await disk.syncDirectory('')
}
