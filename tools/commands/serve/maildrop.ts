/** What `serve` does with mail that programs have left in `maildrop/` while no relay ran. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { MessageId } from '../../../src/base/message-id.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { readLog } from '../../../src/inspect/records/log-reader.js'
import { decodeEnvelope } from '../../../src/record/envelope.js'
import {
  idOfName,
  maildropDirectory,
  makeMaildrop,
  namePattern,
} from '../../../src/relay/maildrop/maildrop-file.js'
import { Pickup, type PickupOptions } from '../../../src/relay/maildrop/pickup.js'

/** Messages that a relay was taking up when it ended, and that are in the log: before a life
 * begins, and recycles what is garbage.
 * @throws WaybillError DISK_FAILED, LOG_CORRUPT */
export async function knownOfMaildrop(queue: string): Promise<ReadonlySet<MessageId>> {
  const names = await readdir(join(queue, maildropDirectory)).catch(() => [])
  const ids = new Set(names.filter((name) => namePattern.exec(name)?.[2] === 'taking').map(idOfName))
  const known = new Set<MessageId>()
  if (ids.size === 0) return known
  const directory = await QueueDirectory.open(nodeDisk(queue), () => undefined)
  if (directory === undefined) return known
  const snapshot = await takeSnapshot(directory)
  // A file goes soon after its message is durable: what a crash has left is in the journal,
  // unless its segment was recycled meanwhile.
  for await (const batch of readLog(directory, snapshot, { name: 'journal' }, () => undefined))
    for (const { kind, payload } of batch) {
      const id = kind === 'envelope' ? decodeEnvelope(payload).id : undefined
      if (ids.has(id)) known.add(id!)
    }
  return known
}

/** Makes the directory. @returns undefined where that is impossible, and the log says why */
export async function maildropOf(
  options: Omit<PickupOptions, 'onRefusal' | 'onTrouble'>,
  log: Logger,
): Promise<Pickup | undefined> {
  try {
    await makeMaildrop(options.queue)
  } catch (error) {
    log.warn({ err: error }, 'there is no maildrop')
    return undefined
  }
  return new Pickup({
    ...options,
    onRefusal: (path, error) => log.warn({ path, err: error }, 'mail in maildrop is not taken'),
    onTrouble: (error) => log.warn({ err: error }, 'maildrop is looked at again'),
  })
}
