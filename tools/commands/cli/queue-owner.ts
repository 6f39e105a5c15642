/** Root acts on a queue as the user whose queue it is, or whose directory it is to be made in.
 * Invariant: no command leaves a file in a queue that its relay may not open:
 *   1. the relay, which is not root, is down, or was never started  2. root's cron sends mail  3. a segment is root's: the relay cannot
 *   start any more */
import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { queueHeaderName } from '../../../src/directory/header.js'

/** From here on, this process is the owner of the queue, if it was root; without a queue, of the nearest directory that is there. */
export async function actAsOwner(directory: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = (await found(join(directory, queueHeaderName))) ?? (await nearest(resolve(directory)))
  if (uid === 0) return
  process.setegid?.(gid)
  process.seteuid?.(uid)
}

const found = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined)

async function nearest(directory: string): Promise<Stats> {
  return (await found(directory)) ?? nearest(dirname(directory))
}
