/** Removes files that a relay was taking up when it ended, and whose messages its queue has.
 * Invariant: it is done under the queue's lock, before a segment is recycled, by whoever opens the
 * queue. So the journal has every message that was durable, and no other process adds one:
 *   1. a relay waits for the lock (`--lock-wait`)  2. the relay before it takes a file up, and is
 *   killed before it has removed it  3. had the journal been asked before the lock was taken, it
 *   would have told that the message is not there */
import type { MessageId } from '../../base/message-id.js'
import type { Disk } from '../../disk/disk.js'
import { idOfName, takenDirectory } from './maildrop-file.js'

/** @param disk of the queue's directory
 * @param durableOf those of the ids that the journal has
 * @throws WaybillError DISK_FAILED; what `durableOf` throws */
export async function removeDurable(
  disk: Disk,
  durableOf: (ids: ReadonlySet<MessageId>) => Promise<ReadonlySet<MessageId>>,
): Promise<void> {
  const files = (await disk.list(takenDirectory)).flatMap((name) => {
    const id = idOfName(name)
    return id === undefined ? [] : [{ id, path: `${takenDirectory}/${name}` }]
  })
  if (files.length === 0) return
  const durable = await durableOf(new Set(files.map(({ id }) => id)))
  for (const { id, path } of files) if (durable.has(id)) await disk.unlink(path)
  await disk.syncDirectory(takenDirectory)
}
