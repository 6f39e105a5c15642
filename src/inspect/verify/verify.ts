/** Checks everything about a queue on disk that can be checked without opening it.
 * 1. each needed batch and link of the journal
 * 2. each lane up to its trusted end
 * 3. each message with its recipients and data
 * 4. everything that a start insists on
 * 5. promises that need no history: no message in two places, no outcome twice
 * A torn tail is normal; corruption is not. Nothing before the positions of the newest checkpoint
 * is needed or judged. */
import { spoolDirectory, spoolNumberOf } from '../../directory/paths.js'
import { DataVerifier } from './verify-data.js'
import { damageAt, findingOf, isDamage, type Finding, type Report } from '../damage/finding.js'
import { Messages } from '../messages/messages.js'
import type { QueueDirectory } from '../queue/queue-directory.js'
import type { QueuedMessage } from '../messages/queued-message.js'
import { SeenIds } from '../messages/seen-ids.js'
import { takeSnapshot, type Snapshot } from '../queue/snapshot.js'
import { verifyJournal, type JournalCounts } from './verify-journal.js'
import { verifyLanes } from './verify-lanes.js'

export interface Verified extends JournalCounts {
  readonly snapshot: Snapshot
  readonly messageCount: number
  readonly dataBytes: number
  /** Spool files without a message: left by a crash, removed by the next start. */
  readonly leftoverCount: number
  /** Ids were compared with each other, up to `idsMax`. */
  readonly idsCompared: boolean
}

/** Ids compared to find one that is there twice. */
const idsMax = 4_000_000
/** Ids that may occur twice; they are compared in a second look. */
const suspectsMax = 1000

export async function verify(
  directory: QueueDirectory,
  report: Report,
  onProgress: (doneBytes: number, allBytes: number) => void,
): Promise<Verified> {
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const journal = await verifyJournal(directory, snapshot, report)
  await verifyLanes(directory, snapshot, report)
  const messages = await verifyMessages(directory, snapshot, report, onProgress)
  return { snapshot, ...journal, ...messages }
}

async function verifyMessages(
  directory: QueueDirectory,
  snapshot: Snapshot,
  report: Report,
  onProgress: (doneBytes: number, allBytes: number) => void,
): Promise<Pick<Verified, 'messageCount' | 'dataBytes' | 'leftoverCount' | 'idsCompared'>> {
  const messages = new Messages(directory, snapshot, { report, onProgress })
  const data = new DataVerifier(messages.content)
  const ids = new SeenIds()
  const suspects = new Set<string>()
  const spools = new Set<number>(snapshot.spoolsNamed)
  let messageCount = 0
  let dataBytes = 0
  for await (const batch of messages.batches())
    for (const message of batch) {
      const { envelope, log } = message
      messageCount++
      dataBytes += envelope.dataBytes
      if (envelope.data.kind === 'spool') spools.add(envelope.data.number)
      // An uncertain message may stand in two places without contradiction.
      const isCompared = !message.uncertain && ids.count < idsMax && suspects.size < suspectsMax
      if (isCompared && ids.add(envelope.id)) suspects.add(envelope.id)
      try {
        await messages.content.recipients(message, 0, envelope.recipientCount)
        await data.check(message)
      } catch (error) {
        if (!isDamage(error)) throw error
        const finding = findingOf(
          error,
          messages.content.log(log).placeOf(message.at),
          `message ${envelope.id} from ${envelope.sender}`,
        )
        if (await messages.presence.isThere(message.lane, message.at)) report(finding)
      }
    }
  if (suspects.size > 0)
    await reportTwice(new Messages(directory, snapshot, { report: ignore }), suspects, report)
  const leftovers = (await directory.disk.list(spoolDirectory)).filter((name) => {
    const number = spoolNumberOf(name)
    return number !== undefined && !spools.has(number)
  })
  return { messageCount, dataBytes, leftoverCount: leftovers.length, idsCompared: messageCount <= idsMax }
}

/** A second look at all messages: two ids can look alike to the first. */
async function reportTwice(messages: Messages, suspects: ReadonlySet<string>, report: Report): Promise<void> {
  const seen = new Set<string>()
  for await (const batch of messages.batches(({ envelope }) => suspects.has(envelope.id)))
    for (const message of batch) {
      const { id } = message.envelope
      if (message.uncertain) continue
      if (seen.has(id)) report(twice(messages, message))
      seen.add(id)
    }
}

const ignore = (): void => undefined

const twice = ({ content }: Messages, { envelope, log, at }: QueuedMessage): Finding =>
  damageAt(
    content.log(log),
    at,
    0,
    `message ${envelope.id} is in the queue twice`,
    'nothing, but it may be delivered twice',
  )
