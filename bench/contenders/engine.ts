/** The engine through its public surface.
 * `engine`: the whole life of a message, delivered at once by a transport that answers synchronously.
 * `accept`: submissions only; the transport never answers the first message, and no second one may be active. */
import { openQueue, type Queue, type QueueOptions, type Submission } from '../../src/index.js'
import type { ContenderOptions, Store } from './contender.js'
import { bodyOf, recipientsOf, sender } from './payloads.js'

/** Messages of this sender are deferred. */
const waitingSender = 'backlog@example.org'
const backlogSubmittersMax = 1000

/** First attempts that are still to come: a message that is durable and not yet active is seen nowhere else. */
export interface Owed {
  recipientCount: number
}

export function engine(options: ContenderOptions): Promise<Store> {
  const owed: Owed = { recipientCount: 0 }
  return engineStore(options, owed, {
    transports: {
      now: {
        deliver: ({ sender: from, attempts, recipients }) => {
          if (attempts === 0) owed.recipientCount -= recipients.length
          return from === waitingSender
            ? { kind: 'deferred', status: '4.0.0', reason: 'part of the backlog' }
            : { kind: 'delivered' }
        },
      },
    },
    route: () => ({ transport: 'now', nexthop: 'example.net' }),
  })
}

export function accept(options: ContenderOptions): Promise<Store> {
  return engineStore(options, undefined, {
    transports: { never: { deliver: (_request) => new Promise(() => undefined) } },
    route: () => ({ transport: 'never', nexthop: 'example.net' }),
    activeCountMax: 1,
  })
}

/** @param owed undefined: nothing is delivered */
async function engineStore(
  contest: ContenderOptions,
  owed: Owed | undefined,
  options: QueueOptions,
): Promise<Store> {
  const queue = await openQueue(`${contest.directory}/queue`, options)
  await new Promise((resolve) => queue.once('recovered', resolve))
  await fillBacklog(queue, owed, contest)
  return storeOf(queue, owed, {
    sender,
    recipients: recipientsOf(contest.recipientCount),
    data: bodyOf(contest.messageBytes),
  })
}

/** A queue as producers see it. @param owed counted down by its transport at each first attempt */
export function storeOf(queue: Queue, owed: Owed | undefined, submission: Submission): Store {
  return {
    submit: () => {
      if (owed !== undefined) owed.recipientCount += submission.recipients.length
      return queue.submit(submission)
    },
    drained: () => drained(queue, owed),
    syncs: () => queue.stats().journal,
    close: async () => queue.crash(),
  }
}

async function fillBacklog(
  queue: Queue,
  owed: Owed | undefined,
  { backlogCount, messageBytes }: ContenderOptions,
): Promise<void> {
  if (owed === undefined || backlogCount === 0) return
  const submission = { sender: waitingSender, recipients: recipientsOf(1), data: bodyOf(messageBytes) }
  owed.recipientCount += backlogCount
  let submitted = 0
  const submit = async (): Promise<void> => {
    while (submitted < backlogCount) {
      submitted++
      await queue.submit(submission)
    }
  }
  await Promise.all(Array.from({ length: Math.min(backlogCount, backlogSubmittersMax) }, submit))
  await drained(queue, owed)
}

/** Every attempt was made, nothing is active, nothing waits for a sync. */
async function drained(queue: Queue, owed: Owed | undefined): Promise<void> {
  for (;;) {
    const { activeCount, journal } = queue.stats()
    const isDelivered = owed === undefined || (owed.recipientCount === 0 && activeCount === 0)
    if (isDelivered && journal.stagedBytes === 0) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
