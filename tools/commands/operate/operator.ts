/** An operator carries out requests: the relay, over its control socket, or this process under the
 * lock.
 * This process delivers nothing. A third kind only lists.
 * Invariant: one process has the queue open. It is never made here, and effects of a verb are
 * durable when it answers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlClient } from '../../../src/control/client.js'
import type { VerbOutcome, VerbRequest } from '../../../src/control/protocol.js'
import type { VerbOptions } from '../../../src/admin/verbs/tally.js'
import { isWaybillError } from '../../../src/errors.js'
import type {
  DestinationSnapshot,
  ListedMessage,
  Selector,
  SuspendOptions,
  SuspensionTarget,
} from '../../../src/index.js'
import type { InspectedQueue } from './inspected-queue.js'
import { actAsOwner } from '../cli/queue-owner.js'
import type { Surroundings } from '../text/output.js'

/** Options of `submit` stand beside these. */
export interface OperatorSubmission {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
}

export interface Operator {
  readonly isRelay: boolean
  /** @param options when `signal` is aborted, the outcome has the counts so far */
  verb(request: VerbRequest, options: VerbOptions): Promise<VerbOutcome>
  list(selector: Selector): AsyncIterable<ListedMessage>
  /** Settles when the message is durable. */
  submit(submission: OperatorSubmission): Promise<{ readonly isDuplicate?: boolean }>
  /** Those in use, of a relay, and what is suspended. */
  destinations(): AsyncIterable<DestinationSnapshot>
  /** @returns false if there was nothing to resume */
  resume(transport: string, name: string): Promise<boolean>
  /** Settles when it is durable. */
  suspend(target: SuspensionTarget, options: SuspendOptions): Promise<void>
  /** @returns false if it was not suspended */
  unsuspend(target: SuspensionTarget): Promise<boolean>
  close(): void
}

/** How long to wait for a process that has the queue and does not answer: a relay that starts, a
 * `sendmail` that ends. */
const lockedWaitMs = 5000
const lockedLookMs = 100

/** @param path of a queue that exists
 * @throws WaybillError QUEUE_LOCKED if the process that has the queue cannot be asked; errors
 * of `openQueue` */
export const openOperator = (path: string, surroundings: Surroundings): Promise<Operator> =>
  whenFree(surroundings, async () => {
    await actAsOwner(path)
    const relay = await ControlClient.connect(path)
    if (relay !== undefined) return ofRelay(relay)
    // The engine is loaded only when needed: asking a relay takes half as long as loading it.
    const { OwnQueue } = await import('./own-queue.js')
    return OwnQueue.open(path, surroundings)
  })

/** For listings. A relay is asked, which knows routes and attempts; without one the files are read.
 * @throws WaybillError QUEUE_LOCKED if the relay has too many clients */
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

export async function whenFree<T>(surroundings: Surroundings, open: () => Promise<T>): Promise<T> {
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
  submit: (submission) => relay.submit(submission),
  destinations: () => relay.destinations(),
  resume: (transport, name) => relay.resume(transport, name),
  suspend: (target, options) => relay.suspend(target, options),
  unsuspend: (target) => relay.unsuspend(target),
  close: () => relay.close(),
})
