/** Finds messages that a damaged queue shows in more than one place.
 * Why: if damage took the record of a move or a start, the old envelope looks alive beside its
 * replacement. The envelopes themselves show which is newer.
 * All ids are compared, 16 bytes each; messages are kept of those that may occur twice. */
import { Messages } from './messages.js'
import type { QueueDirectory } from '../queue/queue-directory.js'
import type { QueuedMessage } from './queued-message.js'
import { SeenIds } from './seen-ids.js'
import type { Snapshot } from '../queue/snapshot.js'

/** By id, the newest first; ids in one place are left out. */
export async function copiesIn(
  directory: QueueDirectory,
  snapshot: Snapshot,
): Promise<ReadonlyMap<string, readonly QueuedMessage[]>> {
  const copies = new Map<string, QueuedMessage[]>()
  if (snapshot.findings.length === 0) return copies
  const messages = (): Messages => new Messages(directory, snapshot, { report: () => undefined })
  const seen = new SeenIds()
  await messages().each(({ envelope: { id } }) => {
    if (seen.add(id)) copies.set(id, [])
  })
  for await (const batch of messages().batches(({ envelope }) => copies.has(envelope.id)))
    for (const message of batch) copies.get(message.envelope.id)?.push(message)
  for (const [id, found] of copies)
    if (found.length < 2) copies.delete(id)
    else found.sort(newestFirst)
  return copies
}

/** A verb that moves a message makes no attempt: then the waiting one is the newer. */
function newestFirst(one: QueuedMessage, other: QueuedMessage): number {
  const { requeues, attempts } = one.envelope
  return (
    other.envelope.requeues - requeues ||
    other.envelope.attempts - attempts ||
    Number(isWaiting(other)) - Number(isWaiting(one))
  )
}

const isWaiting = ({ active, uncertain }: QueuedMessage): boolean => active === undefined && !uncertain
