/** Decides whether a queue's directory is safe to use, by owner, mode and contents.
 * Invariant: no name that another user could have made is followed. A symbolic link in place of a
 * file of the queue, and any file of another user, is refused before anything is opened:
 *   1. a user makes `lock` a link to a file of the relay's user
 *   2. the relay opens it, and writes its pid over that file
 * Checking names is enough where only the owner may change them; for a directory that others may
 * change, a warning is emitted. */
import fs from 'node:fs'
import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { WaybillError } from '../errors.js'
import { errnoOf } from './failure.js'

/** The names of a queue, and their kinds. */
const kindOf: Readonly<Record<string, 'file' | 'directory' | 'socket'>> = {
  'queue.json': 'file',
  'queue.json.new': 'file',
  lock: 'file',
  incomplete: 'file',
  journal: 'directory',
  lanes: 'directory',
  spool: 'directory',
  keys: 'directory',
  outcomes: 'directory',
  maildrop: 'directory',
  taken: 'directory',
  control: 'socket',
  listening: 'socket',
  'http-token': 'file',
  'http-rates': 'file',
  'http-rates.new': 'file',
}

const othersMayWrite = 0o022
const sticky = 0o1000

/** Does nothing for a directory that is not there.
 * @returns warnings for the operator
 * @throws WaybillError NOT_A_QUEUE if something in it is refused, or another user owns it */
export async function checkQueueDirectory(directory: string): Promise<string[]> {
  const own = process.geteuid?.()
  const stats = await stat(directory).catch(() => undefined)
  if (own === undefined || stats?.isDirectory() !== true) return []
  await checkNames(directory, new Set([own, stats.uid, 0]))
  const isForeign = stats.uid !== own && stats.uid !== 0
  if (isForeign && own !== 0)
    throw new WaybillError('NOT_A_QUEUE', `the directory belongs to another user (uid ${stats.uid})`, {
      path: directory,
    })
  const warnings: string[] = []
  if (isForeign)
    warnings.push(
      `the queue's directory ${directory} belongs to another user (uid ${stats.uid}), and this process is root: what it makes there is given to that user`,
    )
  if ((stats.mode & othersMayWrite) !== 0 && (stats.mode & sticky) === 0)
    warnings.push(
      `other users may write to the queue's directory ${directory} (mode ${(stats.mode & 0o7777).toString(8)}): they can replace what is in it`,
    )
  return warnings
}

async function checkNames(directory: string, owners: ReadonlySet<number>): Promise<void> {
  for (const [name, kind] of Object.entries(kindOf)) {
    const path = join(directory, name)
    const stats = await lstat(path).catch((error: unknown) => {
      // A file that cannot be looked at cannot be opened either.
      if (errnoOf(error) === undefined) throw error
    })
    if (stats === undefined) continue
    const refused = (reason: string): WaybillError =>
      new WaybillError('NOT_A_QUEUE', `${name} ${reason}`, { path })
    if (stats.isSymbolicLink()) {
      if (kind === 'directory' && (await isOwnLink(path, stats, owners))) continue
      throw refused('is a symbolic link, which a queue does not follow')
    }
    const isRight = { file: stats.isFile(), directory: stats.isDirectory(), socket: stats.isSocket() }[kind]
    if (!isRight) throw refused(`is no ${kind}`)
    if (!owners.has(stats.uid)) throw refused(`belongs to another user (uid ${stats.uid})`)
  }
}

/** An operator may keep a directory of the queue on another disk: then the operator, or root, has
 * made both ends. */
async function isOwnLink(path: string, link: fs.Stats, owners: ReadonlySet<number>): Promise<boolean> {
  const end = await stat(path).catch(() => undefined)
  return owners.has(link.uid) && end?.isDirectory() === true && owners.has(end.uid)
}

/** For opening a name of which the last part is no link. */
export const noFollow: number = fs.constants.O_NOFOLLOW
