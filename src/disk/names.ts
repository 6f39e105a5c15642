/** Makes and removes names that may be there already, or be gone already. */
import { chmod, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isWaybillError } from '../errors.js'
import type { Disk } from './disk.js'
import { errnoOf } from './failure.js'

/** Creates a directory and those above it. A name that exists already is left as it is. Node's
 * `recursive` says ENOENT for a read-only file system, and never ends below /proc.
 * @param mode of all directories made, whatever the umask is
 * @throws the system's error */
export async function madeDirectory(path: string, mode: number = 0o755): Promise<void> {
  try {
    await make(path, mode)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'EEXIST') return
    if (errno !== 'ENOENT' || dirname(path) === path) throw error
    await madeDirectory(dirname(path), mode)
    await make(path, mode).catch((second: unknown) => {
      if (errnoOf(second) !== 'EEXIST') throw second
    })
  }
}

async function make(path: string, mode: number): Promise<void> {
  await mkdir(path, mode)
  await chmod(path, mode)
}

/** Removes an empty directory, except a mount point or a link: an operator put that there. */
export async function removeEmptyDirectory(disk: Disk, path: string): Promise<void> {
  try {
    await disk.removeDirectory(path)
  } catch (error) {
    const errno = isWaybillError(error) ? error.place.errno : undefined
    if (errno !== 'EBUSY' && errno !== 'ENOTDIR') throw error
  }
}

/** Removes a name that may be missing: a failed call may have had its effect, and a file may be
 * gone already. @throws WaybillError DISK_FULL, DISK_FAILED */
export async function unlinkIfThere(disk: Pick<Disk, 'unlink'>, path: string): Promise<void> {
  try {
    await disk.unlink(path)
  } catch (error) {
    if (!isWaybillError(error) || error.place.errno !== 'ENOENT') throw error
  }
}
