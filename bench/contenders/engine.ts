/** The engine through its public surface.
 * `engine`: the whole life of a message, delivered at once by a transport that answers
 * synchronously. `accept`: submissions only; the transport never answers the first message, and no
 * second one may be active. */
import { openQueue, type Queue, type QueueOptions, type Submission } from '../../src/index.js'
import type { ContenderOptions, Store } from './contender.js'
import { bodyOf, deliveryOf, domainOf, recipientsOf, sender, variedSubmissions } from './payloads.js'

/** Messages of this sender are deferred. */
const waitingSender = 'backlog@example.org'
const backlogSubmittersMax = 1000

export function engine(options: ContenderOptions): Promise<Store> {
  return engineStore(options, {
    transports: {
      now: {
        deliver: ({ sender: from }) =>
          from === waitingSender
            ? { kind: 'deferred', status: '4.0.0', reason: 'part of the backlog' }
            : { kind: 'delivered' },
      },
    },
    route: () => ({ transport: 'now', nexthop: 'example.net' }),
  })
}

export async function accept(options: ContenderOptions): Promise<Store> {
  const store = await engineStore(options, {
    transports: { never: { deliver: (_request) => new Promise(() => undefined) } },
    route: () => ({ transport: 'never', nexthop: 'example.net' }),
    activeCountMax: 1,
  })
  return { ...store, drained: () => Promise.resolve() }
}

/** Workload R. */
export function realEngine(options: ContenderOptions): Promise<Store> {
  const deliver = deliveryOf(options.messageBytes)
  let delivered = 0
  return engineStore(options, {
    transports: {
      reading: {
        deliver: async (request) => {
          if (request.sender === waitingSender)
            return { kind: 'deferred', status: '4.0.0', reason: 'part of the backlog' }
          const data = await request.data()
          if (!Buffer.isBuffer(data)) throw new TypeError('the data are a reference')
          await deliver(data)
          if (++delivered % options.deferredOneIn === 0)
            return { kind: 'deferred', status: '4.0.0', reason: 'one of several' }
          return { kind: 'delivered' }
        },
      },
    },
    route: (recipient) => ({ transport: 'reading', nexthop: domainOf(recipient) }),
  })
}

async function engineStore(contest: ContenderOptions, options: QueueOptions): Promise<Store> {
  const queue = await openQueue(`${contest.directory}/queue`, options)
  await new Promise((resolve) => queue.once('recovered', resolve))
  await fillBacklog(queue, contest)
  const { messageBytes, recipientCount, workload } = contest
  const plain = { sender, recipients: recipientsOf(recipientCount), data: bodyOf(messageBytes) }
  return storeOf(queue, workload === 'R' ? variedSubmissions(contest) : () => plain)
}

/** A queue as producers see it. */
export function storeOf(queue: Queue, next: () => Submission): Store {
  return {
    submit: () => queue.submit(next()),
    drained: () => queue.idle(),
    syncs: () => queue.stats().journal,
    close: async () => queue.crash(),
  }
}

async function fillBacklog(queue: Queue, { backlogCount, messageBytes }: ContenderOptions): Promise<void> {
  if (backlogCount === 0) return
  const submission = { sender: waitingSender, recipients: recipientsOf(1), data: bodyOf(messageBytes) }
  let submitted = 0
  const submit = async (): Promise<void> => {
    while (submitted < backlogCount) {
      submitted++
      await queue.submit(submission)
    }
  }
  await Promise.all(Array.from({ length: Math.min(backlogCount, backlogSubmittersMax) }, submit))
  await queue.idle()
}
