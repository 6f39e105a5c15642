/** Many submitters at once: how many hear in one turn of the event loop, and who comes first. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SettlingPace } from '../../../src/engine/accept/settling-pace.js'
import { openQueue, type Queue } from '../../../src/index.js'
import type { Outcome } from '../../../src/delivery/transport.js'

/** A turn of a life. */
interface Turn {
  readonly answered: number
  readonly ended: number
  readonly waiting: number
}

/** Turns of a life whose submitters always have more: what settles in each, after a while.
 * @param costs recipients of a submission: it settles with all of them */
function settled(turn: Turn, costs = 1): number[] {
  const pace = new SettlingPace()
  let [answeredCount, endedCount, settledCount] = [0, 0, 0]
  const counts = Array.from({ length: 2100 }, () => {
    answeredCount += turn.answered
    endedCount += turn.ended
    const may = pace.next({ answeredCount, endedCount, waitingCount: turn.waiting, settledCount })
    const count = Math.ceil(may / costs)
    settledCount += count * costs
    return count
  })
  return counts.slice(100)
}

const mean = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count) / counts.length

test.each([
  ['deliveries wait for others', { answered: 0, ended: 0, waiting: 20_000 }, 100],
  ['little waits', { answered: 100, ended: 100, waiting: 200 }, 100],
  ['a few attempts are answered', { answered: 15, ended: 15, waiting: 20_000 }, 80],
  ['more end than attempts take', { answered: 400, ended: 400, waiting: 20_000 }, 379],
  ['an attempt has many recipients', { answered: 10, ended: 500, waiting: 20_000 }, 473],
  ['a mailing goes on for long', { answered: 100, ended: 0, waiting: 20_000 }, 4],
])('when %s, so many recipients settle in a turn', (_, turn, count) => {
  expect(Math.round(mean(settled(turn)))).toBe(count)
})

test.each([[1], [10], [100], [1000]])(
  'where as much is answered as a turn has room for, submissions with %d recipients take no more than ends',
  (costs) => {
    const counts = settled({ answered: 100, ended: 100, waiting: 20_000 }, costs)
    const recipients = mean(counts) * costs
    expect(recipients).toBeLessThan(100)
    expect(recipients).toBeGreaterThan(80)
  },
)

test('a submission with very many recipients keeps others waiting for a dozen turns', () => {
  const counts = settled({ answered: 100, ended: 100, waiting: 20_000 }, 50_000)
  expect(mean(counts)).toBeCloseTo(1 / 12)
})

test.each([[100], [5000]])(
  'when nothing is answered any more, after %d in each turn, submissions settle again in a few turns',
  (answered) => {
    const pace = new SettlingPace()
    const waitingCount = 20_000
    for (let turn = 1; turn <= 100; turn++) {
      const count = answered * turn
      pace.next({ answeredCount: count, endedCount: count, waitingCount, settledCount: 100 * count })
    }
    const last = 100 * answered
    const over = { answeredCount: last, endedCount: last, waitingCount, settledCount: 100 * last }
    const counts = Array.from({ length: 20 }, () => pace.next(over))
    expect(counts[0]).toBe(4)
    expect(counts.findIndex((count) => count > 4)).toBeLessThan(18)
  },
)

interface Load {
  readonly queue: Queue
  /** Ids whose submitter has heard. */
  readonly heard: Set<string>
  readonly submit: () => Promise<void>
  /** Attempts for mail whose submitter has not heard of it. */
  readonly early: string[]
  /** Messages that submitters had heard of and that had not been delivered, at the most. */
  readonly mostWaiting: () => number
}

/** A queue with a transport that answers. @param recipientCount each in another domain */
async function loaded(
  answers: 'at once' | 'a turn later',
  recipientCount: number,
  use: (load: Load) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-pace-'))
  const heard = new Set<string>()
  const early: string[] = []
  let endedCount = 0
  let most = 0
  const queue = await openQueue(directory, {
    inlineBytesMax: 4096,
    transports: {
      later: {
        deliver: ({ id }) => {
          if (!heard.has(id)) early.push(id)
          const outcome: Outcome = { kind: 'delivered' }
          return answers === 'at once' ? outcome : new Promise((answer) => setImmediate(answer, outcome))
        },
      },
    },
    route: (recipient) => ({ transport: 'later', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
  })
  queue.on('finished', () => endedCount++)
  let number = 0
  const submit = async (): Promise<void> => {
    const recipients = Array.from({ length: recipientCount }, () => `grace@d${number++ % 500}.example.net`)
    const { id } = await queue.submit({ sender: 'ada@example.org', recipients, data: 'x\r\n'.repeat(300) })
    heard.add(id)
    most = Math.max(most, heard.size - endedCount)
  }
  try {
    await use({ queue, heard, submit, early, mostWaiting: () => most })
  } finally {
    queue.crash()
    await rm(directory, { recursive: true })
  }
}

/** Recipients: 600 on a quiet machine, 8000 and 28 000 where nothing is paced. What has ended
 * during a long sync is replaced at once, and 100 settle in each turn in which nothing is
 * answered. */
const aheadMax = 3500

test.each([
  [1, 1000],
  [10, 300],
])(
  'with %d recipients each, %d submitters are not far ahead of deliveries',
  async (recipientCount, submitterCount) => {
    await loaded('a turn later', recipientCount, async ({ queue, submit, mostWaiting }) => {
      const submitTen = async (): Promise<void> => {
        for (let i = 0; i < 10; i++) await submit()
      }
      await Promise.all(Array.from({ length: submitterCount }, submitTen))
      await queue.idle()
      expect(mostWaiting() * recipientCount).toBeLessThanOrEqual(aheadMax)
    })
  },
)

test('a queue that ends tells submitters that wait for their turn that their mail is durable', async () => {
  await loaded('a turn later', 1, async ({ queue, heard, submit }) => {
    let acceptedCount = 0
    queue.on('accepted', () => acceptedCount++)
    let isUnderWay: (() => void) | undefined
    const underWay = new Promise<void>((resolve) => (isUnderWay = resolve))
    const all = Array.from({ length: 1000 }, () => submit().then(() => heard.size > 1 && isUnderWay!()))
    // The first one's sync is not shared.
    await underWay
    const before = heard.size
    expect(before).toBeLessThan(1000)
    queue.crash()
    const results = await Promise.allSettled(all)
    const heardCount = results.filter(({ status }) => status === 'fulfilled').length
    expect(heardCount).toBeGreaterThan(before)
    expect(acceptedCount).toBe(heardCount)
  })
})

test('mail large and small: when a queue ends, all have heard that stands before mail that was heard of', async () => {
  for (let round = 0; round < 8; round++) {
    const directory = await mkdtemp(join(tmpdir(), 'waybill-pace-'))
    const open = (): Promise<Queue> =>
      openQueue(directory, {
        deliver: false,
        inlineBytesMax: 1024,
        transports: { none: { deliver: () => ({ kind: 'delivered' }) } },
        route: () => ({ transport: 'none', nexthop: 'example.net' }),
      })
    const heard = new Set<string>()
    const queue = await open()
    const submitOn = async (data: string): Promise<void> => {
      for (;;) {
        const { id } = await queue.submit({
          sender: 'ada@example.org',
          recipients: ['grace@example.net'],
          data,
        })
        heard.add(id)
      }
    }
    const loads = Array.from({ length: 430 }, (_, i) => submitOn(i < 400 ? 'x\r\n' : 'x\r\n'.repeat(1000)))
    while (heard.size < 400 + 100 * round) await new Promise((resolve) => setTimeout(resolve, 1))
    queue.crash()
    await Promise.allSettled(loads)
    const next = await open()
    const ids: string[] = []
    for await (const { id } of next.list()) ids.push(id)
    next.crash()
    await rm(directory, { recursive: true })
    const lastHeard = ids.findLastIndex((id) => heard.has(id))
    expect(lastHeard).toBeGreaterThan(0)
    expect(ids.slice(0, lastHeard).filter((id) => !heard.has(id))).toEqual([])
  }
})

test.each(['drain', 'written', 'idle'] as const)(
  'when `%s` settles, all have heard whose mail is durable',
  async (call) => {
    await loaded('a turn later', 1, async ({ queue, heard, submit }) => {
      await submit()
      const all = Array.from({ length: 2000 }, submit)
      await queue[call]()
      // Their promises settle before; what they do then takes a turn.
      await new Promise((turn) => setImmediate(turn))
      expect(heard.size).toBe(2001)
      await Promise.all(all)
    })
  },
)

test('mail is attempted when its submitter has heard of it', async () => {
  await loaded('at once', 1, async ({ queue, submit, heard, early }) => {
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 1000 }, submit))
      await queue.idle()
    }
    expect([heard.size, early]).toEqual([5000, []])
  })
})
