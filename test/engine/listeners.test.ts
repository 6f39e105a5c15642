/** Listeners run in the engine's turn and may use the queue in it. */
import { expect, test } from 'vitest'
import type { QueueEvents } from '../../src/engine/events.js'
import { WaybillError } from '../../src/errors.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import type { NumberedOperation } from '../../src/sim/sim-disk.js'
import { codeOf, deferred, delivered, failed, mail, simulated, submission, type Stage } from './stage.js'

const large = mail('A line of a message that fills a batch.\r\n'.repeat(90))

test('mail that is submitted by who hears of a report does not come between the report and the end of its message', async () => {
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

test('who waits for a verb is told of the end at once, also when who listens to it throws', async () => {
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
    expect(() => queue.crash()).toThrow('a listener of ours')
    expect(await flushed).toBe('QUEUE_CRASHED')
    expect(stage.clock.monotonicMs() - crashedAt).toBeLessThan(100_000)
  })
})

/** Mail of every fate, and orders: all that a listener can hear of, but damage. */
async function live(stage: Stage): Promise<void> {
  stage.answer = (recipient, { attempts }) =>
    recipient.startsWith('fail')
      ? failed
      : recipient.startsWith('old') || (recipient.startsWith('later') && attempts < 1)
        ? deferred
        : delivered
  const { queue } = stage
  const submitted = ['ok@a.test', 'fail@b.test', 'later@c.test', 'held@d.test', 'old@e.test'].map(
    (recipient) => codeOf(queue.submit(submission(recipient))),
  )
  await codeOf(queue.hold({ recipient: 'held@d.test' }))
  await new Promise<void>((resolve) => stage.clock.after(300, resolve))
  await codeOf(queue.expire({ recipient: 'old@e.test' }))
  await codeOf(queue.release({ all: true }))
  await Promise.all(submitted)
}

const heard: readonly (keyof QueueEvents)[] = [
  'accepted',
  'delivered',
  'deferred',
  'failed',
  'expired',
  'requeued',
  'reported',
  'finished',
  'recovered',
]

test.each(heard)(
  'what a listener of `%s` throws ends the life, though it looks like an error of ours',
  async (event) => {
    await simulated(async (stage) => {
      const queue = await stage.open({ retry: fixedRetry([1000]) })
      const thrown = new WaybillError('LOG_CORRUPT', 'of the listener')
      let isThrown = false
      queue.on(event, () => {
        if (isThrown) return
        isThrown = true
        throw thrown
      })
      await live(stage)
      await stage.until('it is thrown', () => isThrown)
      await stage.until('the life is over', () => queue.isCrashed, 1000)
      expect(stage.crashes).toEqual([thrown])
      stage.answer = () => delivered
      await stage.open()
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(stage.crashes).toEqual([thrown])
      expect(stage.warnings).toEqual([])
    })
  },
)

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
    expect(() => queue.crash()).toThrow('a listener of ours')
    expect(queue.isCrashed).toBe(true)
    await stage.open()
    await queue.submit(submission()).catch(() => undefined)
    expect(await codeOf(stage.queue.submit(submission()))).toBe('accepted')
  })
})
