/** The directories of lanes with logs of their own: `lanes/<number>/envelopes` and `lanes/<number>/data`.
 * Invariant: a directory's name is durable before a log is written in it. */
import { WaybillError } from '../errors.js'
import type { Disk } from '../disk/disk.js'
import { dataDirectory, envelopesDirectory, laneDirectory, lanesDirectory } from '../recovery/queue-paths.js'

/** Makes directories for the lanes that are new, and removes those that no checkpoint names: they were made after it, or
 * retired by it. A new lane's directory is made again even if it is there, because an earlier life may have made it and
 * failed to sync its name.
 * @param known lanes of the checkpoint, @param added lanes that it does not have */
export async function arrangeLaneDirectories(
  disk: Disk,
  known: readonly number[],
  added: readonly number[],
): Promise<void> {
  let changed = false
  for (const name of await disk.list(lanesDirectory)) {
    if (!/^[0-9]+$/.test(name))
      throw new WaybillError('NOT_A_QUEUE', 'this is no lane', { path: `${lanesDirectory}/${name}` })
    if (known.includes(Number(name))) continue
    changed = true
    await removeLaneDirectory(disk, `${lanesDirectory}/${name}`)
  }
  for (const lane of added) {
    changed = true
    await disk.makeDirectory(laneDirectory(lane))
    await disk.makeDirectory(envelopesDirectory(lane))
    await disk.makeDirectory(dataDirectory(lane))
    await disk.syncDirectory(laneDirectory(lane))
  }
  if (changed) await disk.syncDirectory(lanesDirectory)
}

async function removeLaneDirectory(disk: Disk, path: string): Promise<void> {
  for (const part of await disk.list(path)) {
    for (const file of await disk.list(`${path}/${part}`)) await disk.unlink(`${path}/${part}/${file}`)
    await disk.removeDirectory(`${path}/${part}`)
  }
  await disk.removeDirectory(path)
}
