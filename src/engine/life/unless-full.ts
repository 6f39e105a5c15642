/** Waits for an event that may never come while the disk is full. */
import type { Clock, Timer } from '../../base/clock.js'
import { diskFull } from './trouble.js'

/** While a recovery or a checkpoint is waited for, the disk is looked at so often. */
const lookMs = 1000

/** Settles as the event does.
 * @param isFull the event waits for room, @param what names it
 * @throws WaybillError DISK_FULL by rejection */
export async function unlessFull(
  clock: Clock,
  event: Promise<void>,
  what: string,
  isFull: () => boolean,
): Promise<void> {
  let isOver = false
  const over = event.then(() => {
    isOver = true
  })
  over.catch(() => undefined)
  while (!isOver) {
    if (isFull()) throw diskFull(what)
    let timer: Timer | undefined
    await Promise.race([over, new Promise<void>((resolve) => (timer = clock.after(lookMs, resolve)))])
    timer?.cancel()
  }
}
