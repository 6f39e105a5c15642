/** Gives a new directory or file its final name.
 * Invariant: it is durable, and nothing that had the name is replaced. */
import { randomBytes } from 'node:crypto'
import { link, lstat, realpath, rename, rm, statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { errnoOf, diskFailure } from '../disk/failure.js'
import { syncDirectory } from '../disk/sync-directory.js'
import { WaybillError } from '../errors.js'

/** Beside the place, so that it gets its name by a rename. */
export const partOf = (to: string): string => `${resolve(to)}.${randomBytes(4).toString('hex')}.part`

/** @param queue that the place may not lie in
 * @throws WaybillError OPTION_INVALID when something is there; DISK_FAILED */
export async function checkPlace(to: unknown, queue: string | undefined): Promise<void> {
  if (typeof to !== 'string' || to === '' || to.includes('\0'))
    throw new WaybillError('OPTION_INVALID', 'a place is a path', { option: 'to' })
  if (await isThere(to))
    throw new WaybillError('OPTION_INVALID', `${to} is there already, and is not overwritten`, {
      option: 'to',
    })
  if (queue === undefined) return
  const above = await realpath(dirname(resolve(to))).catch((error: unknown) => {
    throw diskFailure('open', dirname(resolve(to)), errnoOf(error), error)
  })
  if (`${join(above, basename(to))}/`.startsWith(`${await realpath(queue)}/`))
    throw new WaybillError('OPTION_INVALID', `${to} is inside the queue`, { option: 'to' })
}

/** @throws WaybillError DISK_FULL */
export async function checkRoom(to: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(resolve(to)))
  if (bavail * bsize >= bytes + roomLeftBytes) return
  throw new WaybillError(
    'DISK_FULL',
    `the copy takes ${bytes} bytes, and ${roomLeftBytes} more should stay free: there are ${bavail * bsize}`,
    { path: to },
  )
}

/** A queue on the same disk refuses mail below a floor of this. */
const roomLeftBytes = 64 * 1024 * 1024

/** @throws WaybillError OPTION_INVALID when something else has the name by now; DISK_FAILED */
export async function giveName(part: string, to: string, isFile: boolean): Promise<void> {
  try {
    if (!isFile || !(await linked(part, to))) await renamed(part, to)
    await syncDirectory(dirname(resolve(to)))
  } catch (error) {
    if (error instanceof WaybillError) throw error
    if (errnoOf(error) === 'EEXIST' || errnoOf(error) === 'ENOTEMPTY') throw taken(to)
    throw diskFailure('rename', to, errnoOf(error), error)
  }
}

/** A link never replaces. @returns false where the file system has none */
async function linked(part: string, to: string): Promise<boolean> {
  try {
    await link(part, to)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw error
    return false
  }
  await rm(part)
  return true
}

async function renamed(part: string, to: string): Promise<void> {
  if (await isThere(to)) throw taken(to)
  await rename(part, to)
}

const taken = (to: string): WaybillError =>
  new WaybillError('OPTION_INVALID', `${to} has come to be meanwhile, and is not overwritten`, {
    option: 'to',
  })

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw diskFailure('open', path, errnoOf(error), error)
  }
}
