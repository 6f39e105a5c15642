/** An operator on a queue that no relay has open, under its lock.
 * Invariant: nothing is delivered, and effects of a verb are durable when it answers. */
import { hostname as machineName } from 'node:os'
import type { VerbOutcome, VerbRequest } from '../../../src/control/protocol.js'
import { carriedOut } from '../../../src/control/controlled-queue.js'
import type { VerbOptions, VerbResult } from '../../../src/admin/verbs/tally.js'
import { isWaybillError } from '../../../src/errors.js'
import type {
  DestinationSnapshot,
  ListedMessage,
  Queue,
  Selector,
  SuspendOptions,
  SuspensionTarget,
} from '../../../src/index.js'
import { openQueue } from '../../../src/queue.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { lineOf } from '../cli/command.js'
import { openQueueDisk } from '../cli/queue-disk.js'
import { routeWithoutRelay } from './inspected-queue.js'
import type { Operator, OperatorSubmission } from './operator.js'
import type { Surroundings } from '../text/output.js'

const nothingDone: VerbResult = { messageCount: 0, recipientCount: 0, missedCount: 0, failedCount: 0 }

export class OwnQueue implements Operator {
  readonly isRelay = false
  readonly #queue: Queue

  private constructor(queue: Queue) {
    this.#queue = queue
  }

  static async open(path: string, { complain }: Surroundings): Promise<OwnQueue> {
    const queue = await openQueue(path, {
      // Not as the queue's home: an owner that is about to resume is not fenced by a command.
      ...(isStoreUrl(path) ? { disk: openQueueDisk(path) } : undefined),
      deliver: false,
      transports: {},
      route: routeWithoutRelay,
      reportingMta: machineName(),
    })
    queue.on('warning', ({ message, id }) =>
      complain(`warning: ${id === undefined ? '' : `${id}: `}${message}\n`),
    )
    queue.on('crashed', ({ error }) => {
      if (error !== undefined) complain(`waybill: the queue has crashed: ${lineOf(error)}\n`)
    })
    return new OwnQueue(queue)
  }

  async verb(request: VerbRequest, { signal, onProgress }: VerbOptions): Promise<VerbOutcome> {
    let soFar = nothingDone
    const told = (counts: VerbResult): void => {
      soFar = counts
      onProgress?.(counts)
    }
    const options = { onProgress: told, ...(signal === undefined ? undefined : { signal }) }
    try {
      return { ...(await carriedOut(this.#queue, request, options)), stopped: false }
    } catch (error) {
      if (!isWaybillError(error, 'VERB_ABORTED')) throw error
      return { ...soFar, stopped: true }
    }
  }

  list(selector: Selector): AsyncIterable<ListedMessage> {
    return this.#queue.list(selector)
  }

  submit(submission: OperatorSubmission): Promise<{ readonly isDuplicate?: boolean }> {
    return this.#queue.submit(submission)
  }

  async *destinations(): AsyncGenerator<DestinationSnapshot> {
    yield* this.#queue.destinations()
  }

  async resume(transport: string, name: string): Promise<boolean> {
    return this.#queue.resume(transport, name)
  }

  suspend(target: SuspensionTarget, options: SuspendOptions): Promise<void> {
    return this.#queue.suspend(target, options)
  }

  unsuspend(target: SuspensionTarget): Promise<boolean> {
    return this.#queue.unsuspend(target)
  }

  close(): void {
    this.#queue.crash()
  }
}
