/** Takes away what somebody else may have put there in our place. */
import { isWaybillError } from '../errors.js'
import type { Disk } from './disk.js'

/** Takes an empty directory away, unless it is a mount point or a link: an operator put that there, who sees to its name. */
export async function removeEmptyDirectory(disk: Disk, path: string): Promise<void> {
  try {
    await disk.removeDirectory(path)
  } catch (error) {
    const errno = isWaybillError(error) ? error.place.errno : undefined
    if (errno !== 'EBUSY' && errno !== 'ENOTDIR') throw error
  }
}
