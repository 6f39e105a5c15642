/** Who carries out what is asked of a queue: the relay that has it open, over its control socket; or, when none runs, this process under the
 * queue's lock, delivering nothing.
 * Invariant: one process has the queue open. It is never made here, and what a verb did under the lock is durable when it answers. */
import { hostname as machineName } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlClient } from '../../src/admin/control-client.js'
import type { VerbOutcome, VerbRequest } from '../../src/admin/control-protocol.js'
import { carriedOut } from '../../src/admin/control-session.js'
import type { VerbOptions, VerbResult } from '../../src/admin/tally.js'
import { isWaybillError, openQueue, type ListedMessage, type Queue, type Selector } from '../../src/index.js'
import { domainOf } from '../../src/inspect/queued-message.js'
import { lineOf } from './command.js'
import type { Surroundings } from './output.js'
import { actAsOwner } from './queue-owner.js'

export interface Operator {
  readonly isRelay: boolean
  /** @param options when `signal` is aborted, the outcome says how far it came */
  verb(request: VerbRequest, options: VerbOptions): Promise<VerbOutcome>
  list(selector: Selector): AsyncIterable<ListedMessage>
  close(): void
}

/** How long one who has the queue and does not listen is waited for: a relay that starts, a `sendmail` that ends. */
const lockedWaitMs = 5000
const lockedLookMs = 100

/** @param path of a queue that exists
 * @throws WaybillError QUEUE_LOCKED when who has the queue cannot be asked; what `openQueue` throws */
export async function openOperator(path: string, surroundings: Surroundings): Promise<Operator> {
  for (const startedAt = performance.now(); ; await sleep(lockedLookMs)) {
    try {
      const relay = await ControlClient.connect(path)
      if (relay !== undefined) return ofRelay(relay)
      return await OwnQueue.open(path, surroundings)
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

const nothingDone: VerbResult = { messageCount: 0, recipientCount: 0, missedCount: 0, failedCount: 0 }

class OwnQueue implements Operator {
  readonly isRelay = false
  readonly #queue: Queue

  private constructor(queue: Queue) {
    this.#queue = queue
  }

  static async open(path: string, { complain }: Surroundings): Promise<OwnQueue> {
    await actAsOwner(path)
    const queue = await openQueue(path, {
      deliver: false,
      transports: {},
      // What a relay would route where, nobody can tell without it.
      route: (recipient) => ({ transport: 'none', nexthop: domainOf(recipient) }),
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

  close(): void {
    this.#queue.crash()
  }
}
