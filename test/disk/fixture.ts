/** Verbs for tests of the disk. */
import type { Disk } from '../../src/disk/disk.js'
import { isWaybillError } from '../../src/errors.js'

/** A new file with these bytes, neither it nor its name synced. */
export async function write(disk: Disk, path: string, bytes: Buffer): Promise<void> {
  const file = await disk.open(path, 'create')
  await file.write(bytes, 0)
  await file.close()
}

export async function contentOf(disk: Disk, path: string): Promise<Buffer> {
  const file = await disk.open(path, 'read')
  const into = Buffer.alloc(await file.size())
  const count = await file.read(into, 0)
  await file.close()
  return into.subarray(0, count)
}

/** What a call rejects with: `DISK_FAILED EIO`, `QUEUE_LOCKED`. */
export const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: unknown) => {
      if (!isWaybillError(error)) return String(error)
      return error.place.errno === undefined ? error.code : `${error.code} ${error.place.errno}`
    },
  )
