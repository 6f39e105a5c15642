/** The directories of lanes with logs of their own: `lanes/<number>/envelopes` and `lanes/<number>/data`.
 * Invariant: a directory's name is durable before a log is written in it. */
import { WaybillError } from '../errors.js'
import type { Disk } from '../disk/disk.js'

export const lanesDirectory = 'lanes'
export const laneDirectory = (lane: number): string => `${lanesDirectory}/${lane}`
export const envelopesDirectory = (lane: number): string => `${laneDirectory(lane)}/envelopes`
export const dataDirectory = (lane: number): string => `${laneDirectory(lane)}/data`

/** Makes the directories of the lanes that are wanted, and removes those of lanes that no checkpoint names: they were made
 * after it, or retired by it. */
export async function arrangeLaneDirectories(disk: Disk, lanes: readonly number[]): Promise<void> {
  const there = await disk.list(lanesDirectory)
  let changed = false
  for (const name of there) {
    if (!/^[0-9]+$/.test(name))
      throw new WaybillError('NOT_A_QUEUE', 'this is no lane', { path: `${lanesDirectory}/${name}` })
    if (lanes.includes(Number(name))) continue
    changed = true
    for (const part of await disk.list(`${lanesDirectory}/${name}`)) {
      const path = `${lanesDirectory}/${name}/${part}`
      for (const file of await disk.list(path)) await disk.unlink(`${path}/${file}`)
      await disk.removeDirectory(path)
    }
    await disk.removeDirectory(`${lanesDirectory}/${name}`)
  }
  for (const lane of lanes) {
    if (!there.includes(String(lane))) {
      changed = true
      await disk.makeDirectory(laneDirectory(lane))
    }
    const parts = await disk.list(laneDirectory(lane))
    if (parts.length === 2) continue
    await disk.makeDirectory(envelopesDirectory(lane))
    await disk.makeDirectory(dataDirectory(lane))
    await disk.syncDirectory(laneDirectory(lane))
  }
  if (changed) await disk.syncDirectory(lanesDirectory)
}
