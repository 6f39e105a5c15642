/** The log of keys, `keys/`: opened when the first key comes, as a lane's log is, and read at a start.
 * Invariant: it is trusted up to the end that a checkpoint says. Its directory's name is durable
 * before that checkpoint is. */
import type { Prng } from '../../base/prng.js'
import type { Position } from '../../base/position.js'
import { keysDirectory } from '../../directory/paths.js'
import { keyFiles } from '../../directory/log-files.js'
import type { QueueHeader } from '../../directory/header.js'
import type { Disk } from '../../disk/disk.js'
import type { SegmentPins } from '../../garbage/pins.js'
import { LaneLog } from '../../log/lane-log.js'
import type { KeyPositions } from '../../record/checkpoint.js'

export interface KeyLogOptions {
  readonly disk: Disk
  readonly prng: Prng
  readonly header: QueueHeader
  readonly life: number
  readonly pins: SegmentPins
  readonly onRoom: () => void
  readonly onFull: () => void
  readonly onFailure: (error: unknown) => void
}

/** @param positions of the checkpoint; undefined: it knows of no keys, and what lies there is not
 * trusted
 * @throws WaybillError DISK_FULL, DISK_FAILED; LOG_CORRUPT when trusted content is missing */
export async function openKeyLog(
  options: KeyLogOptions,
  positions: KeyPositions | undefined,
): Promise<LaneLog> {
  const { disk, pins } = options
  const { files } = keyFiles(disk, options.header)
  if (positions === undefined) await makeDirectory(disk)
  return recovered(options, positions?.end ?? files.grid.firstOf(0), (index) => pins.add(index))
}

/** Goes on behind what cannot be read: in a segment that the log does not have yet. */
export function openKeyLogBehind(options: KeyLogOptions, { end }: KeyPositions): Promise<LaneLog> {
  const { grid } = keyFiles(options.disk, options.header).files
  return recovered(options, grid.firstOf(grid.indexOf(end) + 1), (index) => options.pins.add(index))
}

async function recovered(
  options: KeyLogOptions,
  end: Position,
  onSegment: (index: number) => void,
): Promise<LaneLog> {
  const { disk, header } = options
  const log = new LaneLog({ ...options, ...keyFiles(disk, header), end, onSegment })
  await log.recover()
  return log
}

/** An earlier life may have made it, and failed to sync its name: it is made anew. */
async function makeDirectory(disk: Disk): Promise<void> {
  if ((await disk.list('')).includes(keysDirectory)) {
    for (const name of await disk.list(keysDirectory)) await disk.unlink(`${keysDirectory}/${name}`)
    await disk.removeDirectory(keysDirectory)
  }
  await disk.makeDirectory(keysDirectory)
  await disk.syncDirectory('')
}
