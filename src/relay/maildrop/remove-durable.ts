/** Removes files that a relay was taking up when it ended, and whose messages its queue has.
 * Invariant: each start of a queue does it under the lock, when the journal's last batch is durable
 * for certain (engine/recover/open-journal.ts), and before a segment is recycled. Earlier, a
 * message could be submitted twice, or lost:
 *    1. a relay waits for the lock
 *    2. the relay before it takes a file up, and is killed before it has removed it
 *    3. a journal that was asked before the lock was taken does not have the message
 *    1. a relay is killed in the sync of a batch
 *    2. the next start reads the batch from memory, and removes the file
 *    3. power loss: neither the batch nor the file is there */
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
