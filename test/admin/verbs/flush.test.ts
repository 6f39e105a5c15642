/** What a flush starts, when, and what it leaves alone. */
import { expect, test } from 'vitest'
import type { VerbResult } from '../../../src/admin/verbs/tally.js'
import type { SiteTrouble } from '../../../src/delivery/transport.js'
import {
  codeOf,
  deferred,
  delivered,
  gate,
  patient,
  simulated,
  submission,
  type Stage,
} from '../../engine/stage.js'

const all = { all: true } as const

/** `count` deferred messages, to r0, r1, … of example.net. */
async function deferredQueue(stage: Stage, count: number): Promise<void> {
  stage.answer = () => deferred
  const queue = await stage.open(patient)
  for (let i = 0; i < count; i++) await queue.submit(submission(`r${i}@example.net`))
  await stage.until(
    'all wait',
    async () => (await whereOfEach(stage)).filter((at) => at === 'retry').length === count,
  )
}

/** In the order of their recipients. */
async function whereOfEach(stage: Stage): Promise<string[]> {
  const places: [string, string][] = []
  for await (const { recipients, where } of stage.queue.list()) places.push([recipients[0]!, where])
  return places.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, where]) => where)
}

test.each([
  ['delivers', true, ['hold', 'active', 'active']],
  ['delivers nothing', false, ['hold', 'active', 'incoming']],
])('a life that %s flushes neither what is on hold nor what is attempted', async (_, deliver, places) => {
  await simulated(async (stage) => {
    await deferredQueue(stage, 3)
    await stage.queue.hold({ recipient: 'r0@example.net' })
    const { transports } = gate()
    await stage.open({ ...patient, transports })
    expect(await stage.queue.flush({ recipient: 'r1@example.net' })).toMatchObject({ messageCount: 1 })
    if (!deliver) await stage.open({ ...patient, deliver })
    expect(await stage.queue.flush(all)).toMatchObject({ messageCount: 1, recipientCount: 1 })
    expect(await whereOfEach(stage)).toEqual(places)
  })
})

test('a flush starts a hundred messages a second by default', async () => {
  await simulated(async (stage) => {
    await deferredQueue(stage, 41)
    const startedAt = stage.clock.monotonicMs()
    await stage.queue.flush(all)
    const tookMs = stage.clock.monotonicMs() - startedAt
    expect(tookMs).toBeGreaterThanOrEqual(395)
    expect(tookMs).toBeLessThan(2000)
  })
})

test('a flush revives the destinations that it is about, and no other', async () => {
  await simulated(async (stage) => {
    let isThere = false
    const attempted: string[] = []
    const nobody: SiteTrouble = { kind: 'site', status: '4.4.1', reason: 'nobody there' }
    const queue = await stage.open({
      ...patient,
      transports: {
        out: {
          deliver: async ({ nexthop }) => {
            attempted.push(nexthop)
            return isThere ? delivered : nobody
          },
        },
      },
      scheduler: { transports: { out: { initialDestinationConcurrency: 1 } } },
    })
    await queue.submit(submission(['a@one.test', 'b@two.test']))
    const dead = (): string[] =>
      queue
        .destinations()
        .filter(({ state }) => state.kind === 'dead')
        .map(({ nexthop }) => nexthop)
        .sort()
    await stage.until('both are dead', () => dead().join() === 'one.test,two.test')
    await stage.until('it waits', async () => (await whereOfEach(stage)).join() === 'retry')
    isThere = true
    await queue.submit(submission(['c@one.test', 'd@two.test']))
    await stage.until('it waits, too', async () => (await whereOfEach(stage)).join() === 'retry,retry')
    expect(attempted).toHaveLength(2)
    await queue.flush({ nexthop: 'ONE.test' })
    await stage.until('one is attempted', () => attempted.length > 2 && queue.stats().activeCount === 0)
    expect(new Set(attempted.slice(2))).toEqual(new Set(['one.test']))
    expect(dead()).toEqual(['two.test'])
    await queue.flush(all)
    await stage.until('nothing is left', () => stage.isEmpty())
  })
})

test('what went away before its turn came is missed, and not counted as flushed', async () => {
  await simulated(async (stage) => {
    await deferredQueue(stage, 3)
    let result: VerbResult | undefined
    const flushed = stage.queue.flush(all, { perSecond: 1 }).then((counts) => (result = counts))
    await stage.until('the first is attempted', () => stage.attempts.length === 4)
    await stage.queue.delete({ recipient: 'r2@example.net' })
    await flushed
    expect(result).toEqual({ messageCount: 2, recipientCount: 2, missedCount: 1, failedCount: 0 })
  })
})

test('what a flush has started when it is aborted is durable when it says so', async () => {
  await simulated(async (stage) => {
    await deferredQueue(stage, 4)
    const queue = await stage.open({
      ...patient,
      transports: gate().transports,
      checkpointIntervalMs: 3_600_000,
    })
    const abort = new AbortController()
    const onProgress = ({ messageCount }: VerbResult): void => {
      if (messageCount === 2) abort.abort()
    }
    const flushed = queue.flush(all, { perSecond: Infinity, signal: abort.signal, onProgress })
    expect(await codeOf(flushed)).toBe('VERB_ABORTED')
    expect(queue.stats()).toMatchObject({ activeCount: 2, journal: { stagedBytes: 0 } })
  })
})
