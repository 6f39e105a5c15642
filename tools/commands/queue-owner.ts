/** Root acts on a queue as the user whose queue it is.
 * Invariant: no command leaves a file in a queue that its relay may not open:
 *   1. the relay, which is not root, is down  2. root's cron sends mail  3. a segment is root's: the relay cannot start any more */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { queueHeaderName } from '../../src/recovery/queue-header.js'

/** From here on, this process is the owner of the queue, if it was root; without a queue in the directory nothing changes. */
export async function actAsOwner(directory: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const owner = await stat(join(directory, queueHeaderName)).catch(() => undefined)
  if (owner === undefined || owner.uid === 0) return
  process.setegid?.(owner.gid)
  process.seteuid?.(owner.uid)
}
