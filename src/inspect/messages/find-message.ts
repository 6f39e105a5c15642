/** The message with an id, wherever it waits. */
import type { Report } from '../damage/finding.js'
import { Messages } from './messages.js'
import type { QueueDirectory } from '../queue/queue-directory.js'
import type { QueuedMessage } from './queued-message.js'
import type { Snapshot } from '../queue/snapshot.js'

export async function findMessage(
  directory: QueueDirectory,
  snapshot: Snapshot,
  id: string,
  report: Report,
  onProgress?: (doneBytes: number, allBytes: number) => void,
): Promise<QueuedMessage | undefined> {
  const messages = new Messages(directory, snapshot, { report, ...(onProgress && { onProgress }) })
  for await (const batch of messages.batches())
    for (const message of batch) if (message.envelope.id === id) return message
  return undefined
}
