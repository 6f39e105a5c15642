/** Root acts on a queue as its owner, or as the owner of the directory that it will be made in.
 * Invariant: root touches nothing that another user could have put there, and leaves no file that
 * the queue's owner may not open. The identity changes for good, groups too, before anything in the
 * directory is opened. Root stays root only if no other user can change the directory, or one above
 * it:
 *   1. a user makes the `lock` of a queue a link to a file of root
 *   2. root runs a command on that queue
 *   3. as that user, it cannot open the file */
import type { Stats } from 'node:fs'
import { lstat, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { queueHeaderName } from '../../../src/directory/header.js'
import { WaybillError } from '../../../src/errors.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'

const othersMayWrite = 0o022
const sticky = 0o1000

/** Makes a root process the owner of the queue; without a queue, of the nearest existing directory.
 * @throws WaybillError NOT_A_QUEUE if another user could replace the directory */
export async function actAsOwner(directory: string): Promise<void> {
  // A store has its own users.
  if (process.geteuid?.() !== 0 || isStoreUrl(directory)) return
  const path = await nearest(resolve(directory))
  const owner = await ownerOf(path)
  if (owner.uid !== 0) return become(owner)
  const stranger = await strangerAbove(path)
  if (stranger !== undefined)
    throw new WaybillError(
      'NOT_A_QUEUE',
      `root must not use this directory: another user (uid ${stranger.uid}) can replace ${stranger.path}`,
      { path: directory },
    )
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

/** Of the directory, or, if that is root's, of the header in it: to be less than root
 * is always safe. */
async function ownerOf(path: string): Promise<Owner> {
  const directory = await stat(path)
  if (directory.uid !== 0) return directory
  const header = await lstat(join(path, queueHeaderName)).catch(() => undefined)
  return header?.isFile() === true ? header : directory
}

function become({ uid, gid }: Owner): void {
  process.setgroups?.([gid])
  process.setgid?.(gid)
  process.setuid?.(uid)
}

async function nearest(directory: string): Promise<string> {
  const stats = await stat(directory).catch(() => undefined)
  return stats?.isDirectory() === true ? directory : nearest(dirname(directory))
}

/** The first name on the path that another user than root could replace, as given and resolved. */
async function strangerAbove(path: string): Promise<{ path: string; uid: number } | undefined> {
  for (const way of [path, await realpath(path)])
    for (let at = way; ; at = dirname(at)) {
      const stats = await lstat(at)
      if (stats.uid !== 0 || isOpenToOthers(stats)) return { path: at, uid: stats.uid }
      if (dirname(at) === at) break
    }
  return undefined
}

const isOpenToOthers = (stats: Stats): boolean =>
  stats.isDirectory() && (stats.mode & othersMayWrite) !== 0 && (stats.mode & sticky) === 0

/** For a relay: root starts it for its ports and keys, so it cannot just become another user.
 * @throws WaybillError NOT_A_QUEUE if it is root and another user owns the queue */
export async function refuseForeignDirectory(directory: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const path = await nearest(resolve(directory))
  const { uid } = await ownerOf(path)
  if (uid !== 0)
    throw new WaybillError(
      'NOT_A_QUEUE',
      `the directory belongs to another user (uid ${uid}), and this relay would run as root: start it as that user, the owner of its mail`,
      { path },
    )
}
