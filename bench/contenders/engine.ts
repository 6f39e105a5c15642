/** The engine through its public surface.
 * `engine`: the whole life of a message, delivered at once by a transport that answers synchronously.
 * `accept`: submissions only; the transport never answers the first message, and no second one may be active. */
import { openQueue, type Queue, type QueueOptions } from '../../src/index.js'
import type { ContenderOptions, Store } from './contender.js'
import { bodyOf, recipientsOf, sender } from './payloads.js'

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

export function accept(options: ContenderOptions): Promise<Store> {
  return engineStore(options, {
    transports: { never: { deliver: (_request) => new Promise(() => undefined) } },
    route: () => ({ transport: 'never', nexthop: 'example.net' }),
    activeCountMax: 1,
  })
}

async function engineStore(contest: ContenderOptions, options: QueueOptions): Promise<Store> {
  const queue = await openQueue(`${contest.directory}/queue`, options)
  await new Promise((resolve) => queue.once('recovered', resolve))
  await fillBacklog(queue, contest)
  const submission = {
    sender,
    recipients: recipientsOf(contest.recipientCount),
    data: bodyOf(contest.messageBytes),
  }
  return {
    submit: () => queue.submit(submission),
    drained: () => drained(queue, options.activeCountMax ?? 0),
    syncs: () => queue.stats().journal,
    close: async () => queue.crash(),
  }
}

async function fillBacklog(queue: Queue, { backlogCount, messageBytes }: ContenderOptions): Promise<void> {
  const submission = { sender: waitingSender, recipients: recipientsOf(1), data: bodyOf(messageBytes) }
  let submitted = 0
  const submit = async (): Promise<void> => {
    while (submitted < backlogCount) {
      submitted++
      await queue.submit(submission)
    }
  }
  await Promise.all(Array.from({ length: Math.min(backlogCount, backlogSubmittersMax) }, submit))
  await drained(queue, 0)
}

/** Nothing is active, nothing waits for a sync. A message may still be between the two, so it has to be seen twice. */
async function drained(queue: Queue, activeCountKept: number): Promise<void> {
  for (let idle = 0; idle < 2;) {
    const { activeCount, journal } = queue.stats()
    idle = activeCount <= activeCountKept && journal.stagedBytes === 0 ? idle + 1 : 0
    await new Promise((resolve) => setImmediate(resolve))
  }
}
