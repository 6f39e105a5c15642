/** Many submitters at once: how many hear in one turn of the event loop, and who comes first. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Inflow } from '../../../src/engine/accept/inflow.js'
import { openQueue, type Queue } from '../../../src/index.js'
import type { Outcome } from '../../../src/delivery/transport.js'

const idle = { answeredCount: 0, endedCount: 0, activeCount: 0 }
const busy = { answeredCount: 0, endedCount: 0, activeCount: 1000 }

test.each([
  ['nothing was answered, as where deliveries wait for others', busy, 100],
  ['few messages are active', { answeredCount: 500, endedCount: 3, activeCount: 800 }, 100],
  ['a few attempts were answered', { ...busy, answeredCount: 7 }, 93],
  ['all that may be under way was answered', { ...busy, answeredCount: 100, endedCount: 10 }, 10],
  ['and no message ended', { ...busy, answeredCount: 100 }, 1],
  ['more messages ended than attempts take', { ...busy, answeredCount: 400, endedCount: 400 }, 400],
])('when %s', (_, progress, count) => {
  expect(new Inflow(800).next(progress)).toBe(count)
})

test('what counts is what came since the last turn', () => {
  const inflow = new Inflow(800)
  expect(inflow.next(idle)).toBe(100)
  expect(inflow.next({ answeredCount: 90, endedCount: 20, activeCount: 1000 })).toBe(20)
  expect(inflow.next({ answeredCount: 95, endedCount: 20, activeCount: 1000 })).toBe(95)
  expect(inflow.next({ answeredCount: 95, endedCount: 20, activeCount: 1000 })).toBe(100)
})

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

const activeCountMax = 2000

/** A queue with a transport that answers. @param recipientCount each in another domain */
async function loaded(
  answers: 'at once' | 'a turn later',
  recipientCount: number,
  use: (load: Load) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-inflow-'))
  const heard = new Set<string>()
  const early: string[] = []
  let endedCount = 0
  let most = 0
  const queue = await openQueue(directory, {
    activeCountMax,
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

test.each([
  [1, 1000, 10],
  [10, 300, 10],
])(
  'with %d recipients each, submitters get no further ahead of deliveries than they are many',
  async (recipientCount, submitterCount, each) => {
    await loaded('a turn later', recipientCount, async ({ queue, submit, mostWaiting }) => {
      const submitAll = async (): Promise<void> => {
        for (let i = 0; i < each; i++) await submit()
      }
      await Promise.all(Array.from({ length: submitterCount }, submitAll))
      await queue.idle()
      expect(mostWaiting()).toBeLessThan(submitterCount + 1000)
    })
  },
)

test('a queue that ends tells those who wait for their turn that their mail is durable', async () => {
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
    const directory = await mkdtemp(join(tmpdir(), 'waybill-inflow-'))
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
