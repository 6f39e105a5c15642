/** Removes a name that may be missing: a failed call may have had its effect, and a file may
 * be gone already. */
import { isWaybillError } from '../errors.js'
import type { Disk } from './disk.js'

/** @throws WaybillError DISK_FULL, DISK_FAILED */
export async function unlinkIfThere(disk: Pick<Disk, 'unlink'>, path: string): Promise<void> {
  try {
    await disk.unlink(path)
  } catch (error) {
    if (!isWaybillError(error) || error.place.errno !== 'ENOENT') throw error
  }
}
