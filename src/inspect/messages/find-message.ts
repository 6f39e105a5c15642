/** The message with an id, wherever it waits. */
import type { Report } from '../damage/finding.js'
import { Messages } from './messages.js'
import type { QueueDirectory } from '../queue/queue-directory.js'
import type { MetMessage, QueuedMessage } from './queued-message.js'
import type { Snapshot } from '../queue/snapshot.js'

export async function findMessage(
  directory: QueueDirectory,
  snapshot: Snapshot,
  id: string,
  report: Report,
  onProgress?: (doneBytes: number, allBytes: number) => void,
): Promise<QueuedMessage | undefined> {
  const messages = new Messages(directory, snapshot, { report, ...(onProgress && { onProgress }) })
  const isWanted = ({ envelope }: MetMessage): boolean => envelope.id === id
  for await (const [found] of messages.batches(isWanted)) if (found !== undefined) return found
  return undefined
}
