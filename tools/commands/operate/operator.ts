/** Who carries out what is asked of a queue: the relay that has it open, over its control socket;
 * or, when none runs, this process under the queue's lock, delivering nothing; or who only tells
 * what there is.
 * Invariant: one process has the queue open. It is never made here, and what a verb did under the
 * lock is durable when it answers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlClient } from '../../../src/control/client.js'
import type { VerbOutcome, VerbRequest } from '../../../src/control/protocol.js'
import type { VerbOptions } from '../../../src/admin/verbs/tally.js'
import { isWaybillError } from '../../../src/errors.js'
import type { ListedMessage, Selector } from '../../../src/index.js'
import type { InspectedQueue } from './inspected-queue.js'
import { actAsOwner } from '../cli/queue-owner.js'
import type { Surroundings } from '../text/output.js'

export interface Operator {
  readonly isRelay: boolean
  /** @param options when `signal` is aborted, the outcome says how far it came */
  verb(request: VerbRequest, options: VerbOptions): Promise<VerbOutcome>
  list(selector: Selector): AsyncIterable<ListedMessage>
  close(): void
}

/** How long one who has the queue and does not listen is waited for: a relay that starts, a
 * `sendmail` that ends. */
const lockedWaitMs = 5000
const lockedLookMs = 100

/** @param path of a queue that exists
 * @throws WaybillError QUEUE_LOCKED when who has the queue cannot be asked; what `openQueue`
 * throws */
export const openOperator = (path: string, surroundings: Surroundings): Promise<Operator> =>
  whenFree(surroundings, async () => {
    await actAsOwner(path)
    const relay = await ControlClient.connect(path)
    if (relay !== undefined) return ofRelay(relay)
    // The engine is loaded by who needs it: to ask a relay takes half of the time that loading it
    // does.
    const { OwnQueue } = await import('./own-queue.js')
    return OwnQueue.open(path, surroundings)
  })

/** For who only looks. A relay is asked, which knows where mail goes and what is under way; without
 * one the files are.
 * @throws WaybillError QUEUE_LOCKED when the relay has too many clients */
export const openListing = (
  path: string,
  surroundings: Surroundings,
): Promise<ControlClient | InspectedQueue> =>
  whenFree(surroundings, async () => {
    await actAsOwner(path)
    const relay = await ControlClient.connect(path)
    if (relay !== undefined) return relay
    const { InspectedQueue: Inspected } = await import('./inspected-queue.js')
    return new Inspected(surroundings.openDisk(path), surroundings.nowMs)
  })

async function whenFree<T>(surroundings: Surroundings, open: () => Promise<T>): Promise<T> {
  for (const startedAt = performance.now(); ; await sleep(lockedLookMs)) {
    try {
      return await open()
    } catch (error) {
      const isOver = performance.now() - startedAt > lockedWaitMs || surroundings.stopped.aborted
      if (!isWaybillError(error, 'QUEUE_LOCKED') || isOver) throw error
    }
  }
}

const ofRelay = (relay: ControlClient): Operator => ({
  isRelay: true,
  verb: (request, options) => relay.verb(request, options),
  list: (selector) => relay.list(selector),
  close: () => relay.close(),
})
