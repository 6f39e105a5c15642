/** The directories of lanes with separate logs: `lanes/<number>/envelopes` and
 * `lanes/<number>/data`.
 * Invariant: a directory's name is durable before a log is written in it. A directory that the last
 * batch retires is removed only when there is a later batch:
 *    1. a checkpoint without the lane is durable; the process is killed
 *    2. a restart removes the directory, and is killed before its first batch is durable
 *    3. the batch of the checkpoint rots
 *    4. the checkpoint before counts, and names a missing lane: no later life opens */
import type { Disk } from '../disk/disk.js'
import type { Checkpoint } from '../record/checkpoint.js'
import { dataDirectory, envelopesDirectory, laneDirectory, lanesDirectory } from './paths.js'
import type { Completion } from './incomplete.js'

/** The names in the directory of lanes when a life begins. */
export interface LaneDirectories {
  readonly names: readonly string[]
  /** Directories of lanes that a checkpoint has retired: they stay until there is a later batch. */
  readonly spared: readonly string[]
}

/** @param mayCutCheckpoint there is no batch behind that of the checkpoint */
export async function laneDirectories(
  disk: Disk,
  { lanes, laneNext }: Checkpoint,
  mayCutCheckpoint: boolean,
): Promise<LaneDirectories> {
  const names = await disk.list(lanesDirectory)
  const isRetired = (name: string): boolean =>
    Number(name) < laneNext && !lanes.some(({ lane }) => lane === Number(name))
  return { names, spared: mayCutCheckpoint ? names.filter(isRetired) : [] }
}

/** Makes directories for the lanes that are new, and removes those that no checkpoint names: they
 * were made after it, or retired by it. A new lane's directory is made again even if it is there,
 * because an earlier life may have made it and failed to sync its name.
 * @param known lanes of the checkpoint, @param added lanes that it does not have
 * @param completion of the queue, which ends */
export async function arrangeLaneDirectories(
  disk: Disk,
  known: readonly number[],
  added: readonly number[],
  { names, spared }: LaneDirectories,
  completion: Completion,
): Promise<void> {
  let changed = false
  for (const name of names) {
    if (known.includes(Number(name)) || spared.includes(name)) continue
    changed = true
    await removeLaneDirectory(disk, `${lanesDirectory}/${name}`)
  }
  const lacking: number[] = []
  for (const lane of known) if (await isLacking(disk, names, lane)) lacking.push(lane)
  if (lacking.length > 0) await completion.begin()
  for (const lane of [...added, ...lacking]) {
    changed = true
    await makeLaneDirectory(disk, lane)
  }
  if (changed) await disk.syncDirectory(lanesDirectory)
  await completion.end()
}

/** Removes the retired directories. */
export async function removeLanes(disk: Disk, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  for (const name of names) await removeLaneDirectory(disk, `${lanesDirectory}/${name}`)
  await disk.syncDirectory(lanesDirectory)
}

const partsOf = [envelopesDirectory, dataDirectory]

/** A copy of the queue may lack empty directories. */
const isLacking = async (disk: Disk, names: readonly string[], lane: number): Promise<boolean> =>
  !names.includes(String(lane)) || (await disk.list(laneDirectory(lane))).length < partsOf.length

/** Existing parts stay. */
export async function makeLaneDirectory(disk: Disk, lane: number): Promise<void> {
  await disk.makeDirectory(laneDirectory(lane))
  for (const partOf of partsOf) await disk.makeDirectory(partOf(lane))
  await disk.syncDirectory(laneDirectory(lane))
}

async function removeLaneDirectory(disk: Disk, path: string): Promise<void> {
  for (const part of await disk.list(path)) {
    for (const file of await disk.list(`${path}/${part}`)) await disk.unlink(`${path}/${part}/${file}`)
    await disk.removeDirectory(`${path}/${part}`)
  }
  await disk.removeDirectory(path)
}
