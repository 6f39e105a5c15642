/** Everything that can be read of a queue, as text: each message with its place, its waiting
 * recipients and the sum of its data. */
import { crc32 } from '../../src/base/checksum.js'
import { isDamage } from '../../src/inspect/damage/finding.js'
import { Messages } from '../../src/inspect/messages/messages.js'
import { snapshotAt } from '../../src/inspect/records/past-snapshot.js'
import { QueueDirectory } from '../../src/inspect/queue/queue-directory.js'
import { takeSnapshot, type Snapshot } from '../../src/inspect/queue/snapshot.js'
import { position } from '../../src/base/position.js'
import { waitingAddresses } from '../../src/inspect/messages/waiting-recipients.js'
import { MemoryDisk } from './memory-disk.js'
import type { Fixture } from './fixture-queue.js'

export interface State {
  readonly text: string
  /** Where the journal ends. */
  readonly end: number
}

/** @param at as it was at this position of the journal; default now */
export async function stateOf(
  { files, directories }: Omit<Fixture, 'nowMs'>,
  at?: number,
): Promise<State | undefined> {
  const directory = await QueueDirectory.open(new MemoryDisk(files, directories), () => undefined)
  if (directory === undefined) return undefined
  let snapshot: Snapshot = await takeSnapshot(directory)
  if (at !== undefined) {
    const past = await snapshotAt(directory, snapshot, position(at))
    if (past.kind === 'gone') return undefined
    snapshot = past.snapshot
  }
  const messages = new Messages(directory, snapshot, { report: () => undefined })
  const lines: string[] = []
  for await (const batch of messages.batches())
    for (const message of batch) {
      const { envelope, where, lane, dueAt, uncertain } = message
      let content: string
      try {
        const data = await messages.content.data(message)
        const addresses = await waitingAddresses(message, messages.content)
        content = `${data?.length} ${crc32(data ?? Buffer.alloc(0))} ${addresses.join(' ')}`
      } catch (error) {
        if (!isDamage(error)) throw error
        content = 'unreadable'
      }
      lines.push(`${where} ${lane} ${dueAt} ${uncertain} ${envelope.id} <${envelope.sender}> ${content}`)
    }
  return { text: lines.join('\n'), end: snapshot.end }
}
