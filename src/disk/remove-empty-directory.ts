/** Removes a directory that must be empty. */
import { isWaybillError } from '../errors.js'
import type { Disk } from './disk.js'

/** Removes an empty directory, except a mount point or a link: an operator put that there. */
export async function removeEmptyDirectory(disk: Disk, path: string): Promise<void> {
  try {
    await disk.removeDirectory(path)
  } catch (error) {
    const errno = isWaybillError(error) ? error.place.errno : undefined
    if (errno !== 'EBUSY' && errno !== 'ENOTDIR') throw error
  }
}
