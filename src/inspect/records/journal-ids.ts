/** Finds which of some messages stand in the journal, finished or not. */
import type { MessageId } from '../../base/message-id.js'
import type { Disk } from '../../disk/disk.js'
import { decodeEnvelope } from '../../record/envelope.js'
import { QueueDirectory } from '../queue/queue-directory.js'
import { takeSnapshot } from '../queue/snapshot.js'
import { readLog } from './log-reader.js'

/** Reads the whole journal. Damaged parts are skipped.
 * @throws WaybillError DISK_FAILED, LOG_CORRUPT, FORMAT_NEWER, NOT_A_QUEUE */
export async function idsInJournal(
  disk: Disk,
  wanted: ReadonlySet<MessageId>,
): Promise<ReadonlySet<MessageId>> {
  const found = new Set<MessageId>()
  const directory = await QueueDirectory.open(disk, () => undefined)
  if (directory === undefined) return found
  const snapshot = await takeSnapshot(directory)
  for await (const batch of readLog(directory, snapshot, { name: 'journal' }, () => undefined))
    for (const { kind, payload } of batch) {
      const id = kind === 'envelope' ? decodeEnvelope(payload).id : undefined
      if (id !== undefined && wanted.has(id)) found.add(id)
    }
  return found
}
