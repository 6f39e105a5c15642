/** Listeners run in the engine's turn and may use the queue in it. */
import { on, once, type EventEmitter } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { QueueEmitter, type QueueEvents } from '../../../src/engine/life/events.js'
import type { Outcome, SiteTrouble } from '../../../src/delivery/transport.js'
import { WaybillError } from '../../../src/errors.js'
import type { Queue } from '../../../src/queue.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { NumberedOperation } from '../../../src/sim/disk/sim-disk.js'
import { codeOf, deferred, delivered, failed, mail, simulated, submission, type Stage } from '../stage.js'

const large = mail('A line of a message that fills a batch.\r\n'.repeat(90))

test('mail that a listener submits at a report does not come between the report and the end of its message', async () => {
  let reportedCount = 0
  for (let at = 1; at <= 12; at++) {
    let look = (): void => undefined
    const after = ({ operation }: NumberedOperation): void => {
      if (operation.kind === 'writeSynced') look()
    }
    await simulated(
      async (stage) => {
        const queue = await stage.open({ deliver: false })
        const { id } = await queue.submit(submission())
        const submitted: Promise<string>[] = []
        queue.on('reported', () => {
          for (let i = 0; i < 8; i++) submitted.push(codeOf(queue.submit(submission('b@example.net', large))))
        })
        let writeCount = 0
        look = () => void (++writeCount === at && queue.crash())
        await codeOf(queue.expire({ all: true }))
        await Promise.all(submitted)
        await stage.open({ deliver: false })
        const ids = await stage.ids()
        const isReported = ids.includes(`${id}-1`)
        if (isReported) reportedCount++
        expect([at, ids.includes(id)]).toEqual([at, !isReported])
        expect(stage.crashes.filter((error) => error !== undefined)).toEqual([])
      },
      { disk: { observer: { after } } },
    )
  }
  expect(reportedCount).toBeGreaterThan(0)
})

test('a verb that waits is rejected at once at the end, also when a listener of the end throws', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    const queue = await stage.open({ retry: fixedRetry([1_000_000_000]) })
    for (let i = 0; i < 2; i++) await queue.submit(submission())
    await stage.until('they wait', () => queue.stats().activeCount === 0 && stage.attempts.length === 2)
    const flushed = codeOf(queue.flush({ all: true }, { perSecond: 0.001 }))
    await stage.until('one is attempted', () => stage.attempts.length === 3)
    queue.on('crashed', () => {
      throw new Error('a listener of ours')
    })
    const crashedAt = stage.clock.monotonicMs()
    queue.crash()
    expect(await flushed).toBe('QUEUE_CRASHED')
    expect(stage.clock.monotonicMs() - crashedAt).toBeLessThan(100_000)
  })
})

/** Mail of every fate, and orders: all that a listener can hear of, but damage. */
async function live(stage: Stage): Promise<void> {
  stage.answer = (recipient, { attempts }) =>
    recipient.startsWith('fail')
      ? failed
      : /^(?:old|unwanted)/.test(recipient) || (recipient.startsWith('later') && attempts < 1)
        ? deferred
        : delivered
  const { queue } = stage
  const submitted = [
    'ok@a.test',
    'fail@b.test',
    'later@c.test',
    'held@d.test',
    'old@e.test',
    'unwanted@f.test',
  ].map((recipient) => codeOf(queue.submit(submission(recipient))))
  await codeOf(queue.hold({ recipient: 'held@d.test' }))
  await new Promise<void>((resolve) => stage.clock.after(300, resolve))
  await codeOf(queue.expire({ recipient: 'old@e.test' }))
  await codeOf(queue.delete({ recipient: 'unwanted@f.test' }))
  await codeOf(queue.release({ all: true }))
  await Promise.all(submitted)
}

const heard: readonly (keyof QueueEvents)[] = [
  'accepted',
  'delivered',
  'deferred',
  'failed',
  'expired',
  'deleted',
  'requeued',
  'reported',
  'finished',
  'recovered',
]

test.each(heard)(
  'what a listener of `%s` throws or rejects with is told of, and changes nothing',
  async (event) => {
    await simulated(async (stage) => {
      const queue = await stage.open({ retry: fixedRetry([1000]) })
      let thrownCount = 0
      queue.on(event, () => {
        thrownCount++
        throw new WaybillError('LOG_CORRUPT', 'of the listener')
      })
      queue.on(event, () => Promise.reject(new Error('of the other one')))
      await live(stage)
      await stage.until('it is thrown', () => thrownCount > 0)
      stage.answer = () => delivered
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(stage.crashes).toEqual([])
      expect(new Set(stage.warnings)).toEqual(new Set(['LISTENER_DEFECT']))
      await stage.until('both are told of', () => stage.warnings.length === 2 * thrownCount)
    })
  },
)

test('once and on of node:events work, and fail when the queue crashes with an error', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const emitter = queue as unknown as EventEmitter
    const accepted = once(emitter, 'accepted')
    const { id } = await queue.submit(submission())
    expect(await accepted).toEqual([expect.objectContaining({ id }) as unknown])
    const all = on(emitter, 'accepted')
    const next = all.next()
    const second = await queue.submit(submission())
    expect((await next).value).toEqual([expect.objectContaining({ id: second.id }) as unknown])
    await all.return?.()
    expect(() => queue.on('acepted' as never, () => undefined)).toThrow('no such event; there are accepted')
    expect(() => queue.once('accepted', undefined as never)).toThrow('a listener is a function')
  })
})

test('a listener who throws while the life ends keeps neither the lock nor a timer of it', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({
      transports: {
        out: {
          deliver: async () => delivered,
          close: () => {
            throw new Error('a transport of ours')
          },
        },
      },
    })
    queue.on('warning', () => {
      throw new Error('a listener of ours')
    })
    queue.crash()
    expect(queue.isCrashed).toBe(true)
    await stage.open()
    await queue.submit(submission()).catch(() => undefined)
    expect(await codeOf(stage.queue.submit(submission()))).toBe('accepted')
  })
})

test('a destination that a listener resumes while recipients are given to it stays one destination', async () => {
  await simulated(async (stage) => {
    let underWay = 0
    let mostUnderWay = 0
    const slow = async (): Promise<Outcome> => {
      mostUnderWay = Math.max(mostUnderWay, ++underWay)
      await new Promise<void>((resolve) => stage.clock.after(1000, resolve))
      underWay--
      return delivered
    }
    const dead = async (): Promise<SiteTrouble> => ({ kind: 'site', status: '4.4.1', reason: 'nobody there' })
    const queue = await stage.open({
      retry: fixedRetry([3_600_000]),
      transports: { slow: { deliver: slow }, dead: { deliver: dead } },
      scheduler: {
        transports: { slow: { destinationRateDelay: 3000 }, dead: { initialDestinationConcurrency: 1 } },
      },
      route: (recipient) => ({ transport: recipient.split('@')[1]!.split('.')[0]!, nexthop: 'x.test' }),
    })
    const told = { delivered: 0, deferred: 0 }
    queue.on('delivered', () => told.delivered++)
    queue.on('deferred', () => told.deferred++)
    await queue.submit(submission('a@slow.test'))
    await queue.submit(submission('b@dead.test'))
    await stage.until('one rests and one is dead', () => told.delivered === 1 && told.deferred === 1)
    queue.on('deferred', () => queue.resume('slow', 'x.test'))
    await queue.submit(submission(['c@slow.test', 'd@dead.test']))
    await stage.until('it is resumed', () => underWay === 1)
    await queue.submit(submission('e@slow.test'))
    await stage.until('both were delivered', () => told.delivered === 3, 10_000_000)
    expect(mostUnderWay).toBe(1)
    expect(stage.crashes).toEqual([])
  })
})

/** Everything that a queue can be asked for, now. */
function askAll(queue: Queue, submitted: Promise<string>[]): void {
  queue.stats()
  for (const { transport, name } of queue.destinations()) queue.resume(transport, name)
  expect([typeof queue.isCrashed, typeof queue.limits]).toEqual(['boolean', 'object'])
  const nothing = { id: 'none' }
  submitted.push(
    codeOf(queue.submit(submission('more@f.test'))),
    codeOf(queue.room()),
    codeOf(queue.hold({ recipient: 'more@f.test' })),
    codeOf(queue.release({ all: true })),
    codeOf(queue.requeue(nothing)),
    codeOf(queue.delete(nothing)),
    codeOf(queue.expire(nothing)),
    codeOf(queue.reroute(nothing, { nexthop: 'other.test' })),
    codeOf(queue.flush({ all: true })),
    codeOf(queue.list()[Symbol.asyncIterator]().next()),
  )
}

test.each([1, 2, 3, 4])(
  'a listener that asks for everything in every event does no harm: seed %d',
  async (seed) => {
    await simulated(
      async (stage) => {
        const queue = await stage.open({
          retry: fixedRetry([1000]),
          scheduler: {
            destinationConcurrencyFeedbackDebug: true,
            transports: { out: { destinationRateDelay: 0.1 } },
          },
        })
        const asked: Promise<string>[] = []
        const left = new Map<string, number>()
        for (const event of [...heard, 'feedback', 'warning'] as const)
          queue.on(event, () => {
            const count = left.get(event) ?? 3
            left.set(event, count - 1)
            if (count > 0) askAll(queue, asked)
          })
        await live(stage)
        stage.answer = () => delivered
        await stage.until('all answers are there', () => asked.length >= 10 * heard.length)
        await Promise.all(asked)
        await queue.release({ all: true })
        await stage.until('nothing is left', () => stage.isEmpty(), 1_000_000)
        expect(new Set(await Promise.all(asked))).toEqual(new Set(['accepted']))
        // Simulated calls may take longer than a disk that does not hang.
        const held = new Set<string>(['DELIVERIES_HELD', 'DELIVERIES_RESUMED'])
        expect([stage.crashes, stage.warnings.filter((code) => !held.has(code))]).toEqual([[], []])
        const times = stage.attempts
          .filter(({ kind }) => kind === 'delivered')
          .map(({ id, recipient }) => id + recipient)
        expect(times).toHaveLength(new Set(times).size)
      },
      { seed },
    )
  },
)

test.each(heard)(
  'a listener that crashes the queue in `%s` loses nothing, and hears of nothing afterwards',
  async (event) => {
    await simulated(async (stage) => {
      const queue = await stage.open({ retry: fixedRetry([1000]) })
      const told: string[] = []
      for (const other of [...heard, 'warning', 'crashed'] as const) queue.on(other, () => told.push(other))
      queue.once(event, () => queue.crash())
      await live(stage)
      await stage.until('the life is over', () => queue.isCrashed, 1000)
      expect(stage.crashes).toEqual([undefined])
      expect(told.at(-1)).toBe('crashed')
      stage.answer = () => delivered
      await stage.open()
      await stage.until('nothing is left', () => stage.isEmpty())
      expect([stage.crashes, stage.warnings]).toEqual([[undefined], []])
    })
  },
)

test('an event that there is not is refused, and those that there are are named', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    for (const listen of ['on', 'once', 'off'] as const)
      expect(() => queue[listen]('typo' as 'warning', () => undefined)).toThrow(
        expect.objectContaining({
          code: 'OPTION_INVALID',
          place: { option: 'typo' },
          message: expect.stringContaining('accepted, delivered, deferred'),
        }),
      )
    expect(queue.isCrashed).toBe(false)
  })
})

test('what is no promise of ours and rejects is told of, too, and changes nothing', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    queue.on('delivered', () => runInNewContext('Promise.reject(new Error("of another realm"))') as unknown)
    await queue.submit(submission())
    await queue.idle()
    expect(stage.crashes).toEqual([])
    expect(stage.warnings).toEqual(['LISTENER_DEFECT'])
  })
})

test('a mistake of a transport is told of on standard error, where nobody listens', async () => {
  const heard: Error[] = []
  const hear = (warning: Error): void => void heard.push(warning)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  const events = new QueueEmitter()
  const mistake = { code: 'TRANSPORT_DEFECT', message: 'it forgets its answer' } as const
  events.tellMistake(mistake)
  await pause(0)
  expect(heard).toMatchObject([mistake])
  const told: unknown[] = []
  events.on('warning', (warning) => told.push(warning))
  events.tellMistake(mistake)
  await pause(0)
  expect(told).toEqual([mistake])
  expect(heard).toHaveLength(1)
})
