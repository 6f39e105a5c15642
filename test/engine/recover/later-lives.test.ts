/** What changes between lives: the policy's intervals, the layout, limits. Lanes that nobody names
 * are drained and go. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/base/clock.js'
import type { ListedMessage } from '../../../src/admin/select/listing.js'
import type { QueueStatistics } from '../../../src/admin/select/statistics.js'
import type { Layout } from '../../../src/lane/lane-plan.js'
import type { OpenOptions } from '../../../src/queue.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import {
  deferred,
  delivered,
  gate,
  mail,
  patient,
  real,
  simulated,
  stages,
  submission,
  type Stage,
} from '../stage.js'

async function waiting(stage: Stage): Promise<ListedMessage[]> {
  await stage.until('recovery ends', () => !stage.queue.stats().recovering)
  const messages: ListedMessage[] = []
  for await (const message of stage.queue.list({ lane: 'deferred' })) messages.push(message)
  return messages
}

const intervalsOf = (stage: Stage): number[] =>
  stage.queue
    .stats()
    .lanes.filter(({ kind }) => kind === 'retry')
    .map(({ intervalMs }) => intervalMs)
    .sort((a, b) => a - b)

describe.each(stages)('on the %s disk', (_, run) => {
  test('a policy whose intervals change drains the old lanes, which then leave the table', async () => {
    await run(async (stage) => {
      stage.answer = () => deferred
      await stage.open({ retry: fixedRetry([300, 350]) })
      for (let i = 0; i < 10; i++) await stage.queue.submit(submission(`r${i}@example.net`, mail(`${i}`)))
      await stage.until('all wait', async () => (await waiting(stage)).length === 10)
      const other = { retry: fixedRetry([80]) }
      stage.answer = (_recipient, { attempts }) => (attempts < 3 ? deferred : delivered)
      await stage.open(other)
      expect(intervalsOf(stage)).toEqual([80, 300, 350])
      await stage.until('all are delivered', () => stage.told('delivered').length === 10)
      await stage.until('nothing is left', () => stage.isEmpty())
      // A lane that is empty leaves with a checkpoint, and checkpoints are taken while something
      // happens.
      await stage.until('the old lanes are gone', async () => {
        await stage.queue.submit(submission('more@example.net'))
        return intervalsOf(stage).join() === '80'
      })
      await stage.open(other)
      expect(intervalsOf(stage)).toEqual([80])
    })
  })

  test.each<readonly [Layout, Layout]>([
    ['lanes', 'single'],
    ['single', 'lanes'],
  ])(
    'a queue that changes from %s to %s keeps every message, with its data and its due time',
    async (one, other) => {
      await run(async (stage) => {
        stage.answer = () => deferred
        const retry = fixedRetry([250])
        await stage.open({ layout: one, retry })
        const ids: string[] = []
        for (let i = 0; i < 20; i++)
          ids.push((await stage.queue.submit(submission(`r${i}@example.net`, mail(`${i}`)))).id)
        await stage.until('all are deferred', () => stage.told('deferred').length >= 20)
        await stage.open({ layout: other, retry })
        expect(await stage.ids()).toEqual(ids.toSorted())
        await stage.until('all are deferred again', () => stage.told('deferred').length >= 40)
        await stage.open({ layout: one, retry })
        expect(await stage.ids()).toEqual(ids.toSorted())
        stage.answer = () => delivered
        await stage.until('all are delivered', () => stage.told('delivered').length >= 20)
        await stage.until('nothing is left', () => stage.isEmpty())
        for (const [i, id] of ids.entries())
          expect(stage.data.get(`${id} r${i}@example.net`)).toBe(mail(`${i}`))
        expect(new Set(stage.told('delivered')).size).toBe(20)
      })
    },
  )

  test('a lane of the journal that nobody names stays in the table as long as a recovered message is from it', async () => {
    await run(async (stage) => {
      stage.answer = () => deferred
      await stage.open({ layout: 'single', retry: fixedRetry([100]) })
      const { id } = await stage.queue.submit(submission())
      await stage.until('it waits', async () => (await waiting(stage)).length === 1)
      const hanging = gate()
      await stage.open({ layout: 'single', retry: fixedRetry([100]), transports: hanging.transports })
      await stage.until('it is active', () => stage.queue.stats().activeCount === 1)
      await stage.queue.submit(submission('next@example.net'))
      const other = { layout: 'lanes', retry: fixedRetry([100]) } as const
      await stage.open({ ...other, transports: hanging.transports })
      await stage.until('it is active again', () => stage.queue.stats().activeCount === 2)
      for (let i = 0; i < 20; i++) await stage.queue.hold({ id: 'nobody' })
      stage.answer = () => delivered
      await stage.open(other)
      await stage.until('it is delivered', () => stage.told('delivered').includes('grace@example.net'))
      expect(stage.data.get(`${id} grace@example.net`)).toBe(mail())
    })
  })

  test('in the single layout messages wait, are retried and survive crashes like in lanes', async () => {
    await run(
      async (stage) => {
        stage.answer = (_recipient, { attempts }) => (attempts < 3 ? deferred : delivered)
        await stage.open()
        const ids: string[] = []
        for (let i = 0; i < 40; i++) {
          ids.push(
            (await stage.queue.submit(submission(`r${i}@example.net`, mail(`${i} ${'u'.repeat(800)}`)))).id,
          )
          if (i % 13 === 12) await stage.open()
        }
        await stage.until('all are delivered', () => new Set(stage.told('delivered')).size === 40)
        await stage.until('nothing is left', () => stage.isEmpty())
        for (const [i, id] of ids.entries())
          expect(stage.data.get(`${id} r${i}@example.net`)).toBe(mail(`${i} ${'u'.repeat(800)}`))
      },
      { queue: { layout: 'single' } },
    )
  })
})

test('lives that end before their next checkpoint do not keep the journal of all of them', async () => {
  const segmentCounts: number[] = []
  await simulated(
    async (stage) => {
      for (let life = 0; life < 12; life++) {
        await stage.open({ retry: fixedRetry([1000]), checkpointIntervalMs: 600_000 })
        await stage.queue.submit(submission())
        await stage.queue.idle()
        const journal = (): QueueStatistics['journal'] => stage.queue.stats().journal
        await stage.until('runners have caught up', () => life === 0 || journal().checkpointCount > 1)
        segmentCounts.push(journal().segmentCount)
      }
    },
    { queue: { layout: 'single' } },
  )
  expect(Math.max(...segmentCounts)).toBeLessThanOrEqual(4)
})

test.each<readonly [Layout, string, Partial<OpenOptions>]>([
  ['single', 'no history', {}],
  ['lanes', 'a history', { history: {} }],
  ['single', 'a history', { history: {} }],
])(
  'with the layout %s and %s lives that end when they are idle keep the journal of few',
  async (layout, _, options) => {
    const segmentCounts: number[] = []
    await simulated(
      async (stage) => {
        for (let life = 0; life < 12; life++) {
          await stage.open({ retry: fixedRetry([1000]), checkpointIntervalMs: 600_000, layout, ...options })
          await stage.queue.submit(submission())
          await stage.queue.idle()
          segmentCounts.push(stage.queue.stats().journal.segmentCount)
        }
      },
      { overtakeMsMax: 1 },
    )
    expect(Math.max(...segmentCounts)).toBeLessThanOrEqual(4)
  },
)

test('a consumer of lives that end before their next checkpoint gets again what the last one had', async () => {
  const counts: number[] = []
  await simulated(async (stage) => {
    for (let life = 0; life < 12; life++) {
      await stage.open({ checkpointIntervalMs: 600_000 })
      const outcomes = stage.queue.outcomes({ consumer: 'shop' })
      let next = outcomes.next()
      await stage.until('it is known', () => stage.queue.consumers().length === 1)
      const { id } = await stage.queue.submit(submission())
      const isLast = ({ value }: Awaited<typeof next>): boolean =>
        value?.kind === 'finished' && value.id === id
      let count = 1
      for (; !isLast(await next); count++) next = outcomes.next()
      await stage.queue.idle()
      counts.push(count)
    }
  })
  expect(Math.max(...counts)).toBeLessThanOrEqual(2 * counts[0]!)
})

test('the directory of a lane that has left the table is gone', async () => {
  await real(async (stage) => {
    stage.answer = () => deferred
    await stage.open({ retry: fixedRetry([200]) })
    await stage.queue.submit(submission())
    await stage.until('it waits', async () => (await waiting(stage)).length === 1)
    stage.answer = () => delivered
    await stage.open({ retry: fixedRetry([100]) })
    await stage.until('it is delivered', () => stage.told('delivered').length === 1)
    const lanes = join(stage.directory, 'lanes')
    await stage.until('its directory is gone', async () => {
      await stage.queue.submit(submission('more@example.net'))
      return !(await readdir(lanes)).includes('2')
    })
    expect((await readdir(lanes)).sort()).toEqual(['1', '3'])
    await stage.open({ retry: fixedRetry([200]) })
    expect((await readdir(lanes)).sort()).toEqual(['1', '3', '4'])
  })
})

test('segments are used again: a journal through which much mail went has no more of them than it needs', async () => {
  await simulated(
    async (stage) => {
      await stage.open({ segmentBytes: 32 * 1024 })
      for (let round = 0; round < 40; round++) {
        await Promise.all(
          Array.from({ length: 64 }, (_, i) =>
            stage.queue.submit(submission(`r${i}@example.net`, mail('t'.repeat(900)))),
          ),
        )
        if (round % 10 === 9) await stage.open()
      }
      await stage.until('nothing is left', () => stage.isEmpty())
      // What the listing held goes with the next checkpoint.
      await stage.queue.submit(submission())
      await stage.until('garbage went', () => stage.queue.stats().journal.segmentCount <= 2)
      const files = (): string[] => stage.disk!.image.files().filter((path) => path.startsWith('journal/'))
      await stage.until('what is more than spares went', () => files().length <= 2 + 1 + 18)
      expect(stage.disk!.image.files().filter((path) => path.startsWith('spool/'))).toEqual([])
      // A seed in which no timer overtakes what the count rests on.
    },
    { seed: 1 },
  )
})

test('the working suffix stays below its bound while a delivery never ends', async () => {
  await simulated(async (stage) => {
    const stuck = 'stuck@example.net'
    let release: (() => void) | undefined
    const transports = {
      out: {
        deliver: async (request: { readonly recipients: readonly string[] }) => {
          if (request.recipients.includes(stuck)) await new Promise<void>((resolve) => (release = resolve))
          return { kind: 'delivered' } as const
        },
      },
    }
    const suffixBytesMax = 4 * 65_536
    const queue = await stage.open({ transports, suffixBytesMax })
    await queue.submit(submission(stuck))
    let most = 0
    for (let round = 0; round < 60; round++) {
      await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          queue.submit(submission(`r${i}@d${i}.example.org`, mail('s'.repeat(900)))),
        ),
      )
      await new Promise<void>((resolve) => stage.clock.after(60, resolve))
      most = Math.max(most, queue.stats().journal.suffixBytes)
    }
    expect(release).toBeDefined()
    // The bound is looked at by checkpoints, so a little more than it may be seen between them.
    expect(most).toBeLessThan(2 * suffixBytesMax)
    expect(queue.stats().activeCount).toBeGreaterThanOrEqual(1)
  })
})

test.each([
  ['stands before 1970', -5.5],
  ['says no number', Number.NaN],
  ['is further ahead than a frame can say', 2 ** 50],
])('mail that was accepted by a clock that %s is there in later lives', async (_name, wallMs) => {
  await simulated(async (stage) => {
    const { clock } = stage
    const odd: Clock = {
      wallMs: () => wallMs,
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, callback) => clock.after(delayMs, callback),
      soon: (callback) => clock.soon(callback),
    }
    stage.answer = () => deferred
    await stage.open({ ...patient, clock: odd })
    const { id } = await stage.queue.submit(submission())
    await stage.open({ ...patient, clock: odd })
    expect(await stage.ids()).toEqual([id])
    await stage.open({ ...patient, deliver: false })
    expect(await stage.ids()).toEqual([id])
    for await (const { acceptedAt } of stage.queue.list())
      expect(acceptedAt).toBe(wallMs > 0 ? 2 ** 48 - 1 : 0)
    stage.answer = () => delivered
    await stage.open(patient)
    await stage.queue.flush({ all: true })
    await stage.until('it is delivered', () => stage.told('delivered').length === 1)
  })
})
