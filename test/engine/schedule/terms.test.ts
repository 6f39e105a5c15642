/** Tags and times of a submission, through the lives of a queue. */
import { describe, expect, test } from 'vitest'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { ListedMessage } from '../../../src/admin/select/listing.js'
import {
  deferred,
  delivered,
  gate,
  mail,
  patient,
  pause,
  simulated as onSlowDisk,
  submission,
  type Stage,
  type StageRun,
} from '../stage.js'

/** A disk whose calls take tenths of a second at the most, as checkpoints of seconds need. */
const simulated: StageRun = (body, options) => onSlowDisk(body, { overtakeMsMax: 50, ...options })

const second = 1000
const day = 86_400 * second

const listed = async (stage: Stage): Promise<ListedMessage[]> => {
  const all: ListedMessage[] = []
  for await (const message of stage.queue.list()) all.push(message)
  return all
}

/** When each recipient was first attempted, after `from`. */
const attemptTimes = (stage: Stage): Map<string, number> => {
  const times = new Map<string, number>()
  const { answer } = stage
  stage.answer = (recipient, request) => {
    if (!times.has(recipient)) times.set(recipient, stage.clock.wallMs())
    return answer(recipient, request)
  }
  return times
}

describe('notBefore', () => {
  test.each([1, 900, 4 * second, 5 * second, 61 * second, 3600 * second, 13 * day + 3])(
    'a message due in %i ms is attempted within a second of its time, and not before',
    async (aheadMs) => {
      await simulated(async (stage) => {
        await stage.open({ checkpointIntervalMs: 2000 })
        const times = attemptTimes(stage)
        const at = stage.clock.wallMs() + aheadMs
        await stage.queue.submit({ ...submission('a@example.net', mail('x')), notBefore: at })
        await stage.queue.submit(submission('now@example.net', mail('y')))
        await pause(stage, aheadMs + 2 * second)
        expect(times.get('now@example.net')).toBeLessThanOrEqual(at)
        const lateMs = times.get('a@example.net')! - at
        expect([lateMs >= 0, lateMs < second]).toEqual([true, true])
      })
    },
  )

  test('it is attempted at its time by a later life, and at once when that has passed', async () => {
    await simulated(async (stage) => {
      await stage.open()
      const times = attemptTimes(stage)
      const begin = stage.clock.wallMs()
      for (const [name, aheadMs] of [
        ['soon', 30 * second],
        ['later', 300 * second],
      ] as const)
        await stage.queue.submit({
          ...submission(`${name}@example.net`, mail(name)),
          notBefore: begin + aheadMs,
        })
      for (let n = 0; n < 7; n++) {
        await pause(stage, 1700)
        await stage.open()
      }
      stage.queue.crash()
      await pause(stage, 60 * second)
      await stage.open()
      const opened = stage.clock.wallMs()
      await pause(stage, 400 * second)
      expect(times.get('soon@example.net')! - opened).toBeLessThan(second)
      const lateMs = times.get('later@example.net')! - (begin + 300 * second)
      expect([lateMs >= 0, lateMs < second]).toEqual([true, true])
    })
  })

  test('it waits without being listed as attempted, and a flush leaves it alone', async () => {
    await simulated(async (stage) => {
      await stage.open()
      const notBefore = stage.clock.wallMs() + day
      await stage.queue.submit({ ...submission('a@example.net', mail('x')), notBefore, tags: ['t'] })
      await pause(stage, 10 * second)
      expect(await stage.queue.flush({ all: true })).toMatchObject({ messageCount: 0, missedCount: 0 })
      expect(await listed(stage)).toMatchObject([{ attempts: 0, notBefore, dueAt: notBefore, tags: ['t'] }])
      expect(await stage.queue.requeue({ tag: 't' })).toMatchObject({ messageCount: 1 })
      await stage.until('it is delivered', () => stage.told('delivered').length === 1)
    })
  })

  test('held as well, it waits for its time once it is released', async () => {
    await simulated(async (stage) => {
      await stage.open()
      const times = attemptTimes(stage)
      const notBefore = stage.clock.wallMs() + 100 * second
      await stage.queue.submit({ ...submission('a@example.net', mail('x')), notBefore, hold: true })
      await pause(stage, 50 * second)
      expect(await stage.queue.release({ all: true })).toMatchObject({ messageCount: 1 })
      await pause(stage, 60 * second)
      const lateMs = times.get('a@example.net')! - notBefore
      expect([lateMs >= 0, lateMs < second]).toEqual([true, true])
    })
  })

  test('its lifetime counts from its time on', async () => {
    await simulated(async (stage) => {
      stage.answer = () => deferred
      await stage.open({ retry: fixedRetry([10 * second], 60 * second) })
      const notBefore = stage.clock.wallMs() + 300 * second
      await stage.queue.submit({ ...submission('a@example.net', mail('x')), sender: '', notBefore })
      await pause(stage, 340 * second)
      expect(await listed(stage)).toHaveLength(1)
      await pause(stage, 40 * second)
      expect(await listed(stage)).toHaveLength(0)
    })
  })

  test('a clock that is set forward makes it due', async () => {
    await simulated(async (stage) => {
      let aheadMs = 0
      const { clock } = stage
      await stage.open({
        clock: {
          wallMs: () => clock.wallMs() + aheadMs,
          monotonicMs: () => clock.monotonicMs(),
          after: (delayMs, callback) => clock.after(delayMs, callback),
          soon: (callback) => clock.soon(callback),
        },
      })
      const times = attemptTimes(stage)
      const notBefore = clock.wallMs() + day
      await stage.queue.submit({ ...submission('a@example.net', mail('x')), notBefore })
      await pause(stage, 60 * second)
      expect(times.size).toBe(0)
      aheadMs = 2 * day
      await pause(stage, 31 * second)
      expect(times.has('a@example.net')).toBe(true)
    })
  })
})

describe('expiresAt', () => {
  const retry = fixedRetry([10 * second, 40 * second], 30 * second)

  test('what is not delivered by its time is reported within a second of it', async () => {
    await simulated(async (stage) => {
      stage.answer = (recipient) => (recipient.startsWith('ada') ? delivered : deferred)
      await stage.open({ retry })
      const expiresAt = stage.clock.wallMs() + 20 * second
      const expired: number[] = []
      stage.queue.on('expired', () => expired.push(stage.clock.wallMs()))
      await stage.queue.submit({ ...submission('a@example.net', mail('x')), expiresAt, tags: ['t'] })
      await stage.queue.submit(submission('b@example.net', mail('y')))
      await pause(stage, 25 * second)
      expect(expired).toHaveLength(1)
      const lateMs = expired[0]! - expiresAt
      expect([lateMs >= 0, lateMs < second]).toEqual([true, true])
      expect(stage.told('deferred').filter((to) => to.startsWith('a@'))).toHaveLength(2)
      expect(stage.told('delivered')).toEqual(['ada@example.org'])
      const report = [...stage.data.values()].find((text) => text.includes('delivery time expired'))
      expect(report).toContain('a@example.net')
    })
  })

  test('it is tried beyond the lifetime of the policy', async () => {
    await simulated(async (stage) => {
      stage.answer = (_, { attempts }) => (attempts < 4 ? deferred : delivered)
      await stage.open({ retry })
      const expiresAt = stage.clock.wallMs() + 300 * second
      await stage.queue.submit({ ...submission('a@example.net', mail('x')), expiresAt })
      await pause(stage, 200 * second)
      expect(stage.told('delivered')).toEqual(['a@example.net'])
    })
  })

  test('a later life does not attempt what has expired meanwhile, and reports it', async () => {
    await simulated(async (stage) => {
      stage.answer = (recipient) => (recipient.startsWith('ada') ? delivered : deferred)
      await stage.open({ retry })
      const expiresAt = stage.clock.wallMs() + 20 * second
      await stage.queue.submit({ ...submission('a@example.net', mail('x')), expiresAt })
      const notBefore = stage.clock.wallMs() + 15 * second
      await stage.queue.submit({ ...submission('b@example.net', mail('x')), notBefore, expiresAt })
      await pause(stage, 12 * second)
      stage.queue.crash()
      await pause(stage, 30 * second)
      await stage.open()
      await stage.until('both are reported', () => stage.told('delivered').length === 2)
      expect(stage.told('deferred')).toEqual(['a@example.net', 'a@example.net'])
      expect(await listed(stage)).toEqual([])
    })
  })

  test('what the scheduler keeps waiting expires as well, and an attempt under way goes on', async () => {
    await simulated(async (stage) => {
      const { open, transports } = gate()
      await stage.open({ transports, scheduler: { defaultDestinationConcurrencyLimit: 1 } })
      const expiresAt = stage.clock.wallMs() + 20 * second
      for (const name of ['under way', 'waits'])
        await stage.queue.submit({ ...submission('a@example.net', mail(name)), expiresAt, sender: '' })
      const told: string[] = []
      stage.queue.on('expired', () => told.push('expired'))
      stage.queue.on('delivered', () => told.push('delivered'))
      await pause(stage, 21 * second)
      expect(told).toEqual(['expired'])
      open()
      await stage.until('the other one is delivered', () => told.length === 2)
      expect(told).toEqual(['expired', 'delivered'])
    })
  })

  test('warnAt tells the sender once that it is late', async () => {
    await simulated(async (stage) => {
      stage.answer = (recipient) => (recipient.startsWith('ada') ? delivered : deferred)
      await stage.open({ retry: fixedRetry([10 * second], 3600 * second) })
      const warnAt = stage.clock.wallMs() + 15 * second
      await stage.queue.submit({ ...submission('a@example.net', mail('x')), warnAt })
      await pause(stage, 15 * second)
      expect(stage.told('delivered')).toEqual([])
      await pause(stage, 60 * second)
      expect(stage.told('delivered')).toEqual(['ada@example.org'])
    })
  })
})

describe('tags', () => {
  test('events, listings, verbs and outcomes know them, whatever the lives', async () => {
    await simulated(async (stage) => {
      stage.answer = (recipient) => (recipient.startsWith('later') ? deferred : delivered)
      await stage.open({ ...patient, deliver: false })
      await stage.queue.submit({ ...submission('now@example.net', mail('x')), tags: ['one', 'both', 'one'] })
      await stage.queue.submit({ ...submission('later@example.net', mail('x')), tags: ['two', 'both'] })
      await stage.queue.submit({ ...submission('later@example.net', mail('y')) })
      await stage.open(patient)
      const told: unknown[] = []
      for (const event of ['delivered', 'deferred', 'deleted', 'finished'] as const)
        stage.queue.on(event, ({ tags }: { readonly tags?: readonly string[] }) => told.push([event, tags]))
      const abort = new AbortController()
      const outcomes: unknown[] = []
      const consuming = (async () => {
        for await (const outcome of stage.queue.outcomes({ signal: abort.signal }))
          if (outcome.kind !== 'gap' && outcome.tags?.includes('three') === true)
            outcomes.push([outcome.kind, outcome.tags, outcome.nexthop])
      })()
      await stage.until('it is delivered', () => told.length === 4)
      expect(told).toContainEqual(['delivered', ['one', 'both']])
      expect(told).toContainEqual(['deferred', ['two', 'both']])
      expect(told).toContainEqual(['deferred', undefined])
      await stage.queue.submit({ ...submission('late@example.net', mail('x')), tags: ['three'] })
      await stage.until('the consumer knows', () => outcomes.length === 3)
      expect(outcomes).toEqual([
        ['accepted', ['three'], undefined],
        ['delivered', ['three'], 'example.net'],
        ['finished', ['three'], undefined],
      ])
      const found = async (tag: string): Promise<number> => {
        let count = 0
        for await (const _ of stage.queue.list({ tag })) count++
        return count
      }
      expect([await found('two'), await found('both'), await found('one')]).toEqual([1, 1, 0])
      expect(await stage.queue.delete({ tag: 'both' })).toMatchObject({ messageCount: 1, missedCount: 0 })
      expect(told.slice(-2)).toEqual([
        ['deleted', ['two', 'both']],
        ['finished', ['two', 'both']],
      ])
      abort.abort()
      await consuming
      expect(await listed(stage)).toHaveLength(1)
    })
  })

  test('a campaign of scheduled mail is cancelled by its tag, wherever its messages are, with exact counts', async () => {
    await simulated(async (stage) => {
      await stage.open({ activeCountMax: 20 })
      const begin = stage.clock.wallMs()
      for (let n = 0; n < 200; n++)
        await stage.queue.submit({
          ...submission(`r${n}@example.net`, mail(`${n}`)),
          notBefore: begin + (60 + n) * second,
          tags: [n % 4 === 0 ? 'other' : 'campaign'],
        })
      const sent = (): number =>
        stage.told('delivered').filter((to) => Number(/\d+/.exec(to)![0]) % 4 !== 0).length
      await pause(stage, 100 * second)
      const { messageCount, recipientCount, ...others } = await stage.queue.delete({ tag: 'campaign' })
      const count = sent()
      expect([messageCount + count, messageCount]).toEqual([150, recipientCount])
      expect(others).toEqual({ missedCount: 0, failedCount: 0 })
      expect(count).toBeGreaterThan(10)
      await pause(stage, 210 * second)
      expect([sent(), stage.told('delivered').length]).toEqual([count, 50 + count])
      expect(await listed(stage)).toEqual([])
    })
  })
})

test.each([
  ['tags', { tags: 'one' }],
  ['tags', { tags: [''] }],
  ['tags', { tags: ['a\nb'] }],
  ['tags', { tags: ['x'.repeat(65)] }],
  ['tags', { tags: Array.from({ length: 17 }, (_, n) => `${n}`) }],
  ['notBefore', { notBefore: 1_800_000_000 }],
  ['notBefore', { notBefore: 'tomorrow' }],
  ['notBefore', { notBefore: new Date(NaN) }],
  ['notBefore', { notBefore: 8e15 }],
  ['expiresAt', { expiresAt: 1_000_000_000_000 }],
  ['expiresAt', { notBefore: 2_000_000_000_001, expiresAt: 2_000_000_000_000 }],
  ['warnAt', { warnAt: 0 }],
])('an invalid %s is refused: %j', async (option, member) => {
  await simulated(async (stage) => {
    await stage.open()
    const wrong = { ...submission('a@example.net', mail('x')), ...member } as never
    await expect(stage.queue.submit(wrong)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      place: { option },
    })
  })
})
