/** The only start of a queue, as an embedder sees it. */
import { openEngine } from '../engine/open.js'
import type { QueueOptions } from '../engine/options.js'
import { Queue } from './queue.js'

/** Opens the queue in a directory, which is made if it is not there. Settles as soon as mail can be submitted; deliveries
 * go on when the event `recovered` tells. There is no close: `crash()` or the end of the process ends it.
 * @throws WaybillError OPTION_INVALID, QUEUE_LOCKED, LOCK_UNAVAILABLE, NETWORK_FILE_SYSTEM, NOT_A_QUEUE, FORMAT_NEWER, LOG_CORRUPT,
 * LANES_TOO_MANY, DISK_FULL, DISK_FAILED */
export async function openQueue(directory: string, options: QueueOptions): Promise<Queue> {
  return new Queue(await openEngine(directory, options))
}
