/** Listeners run in the engine's turn and may use the queue in it. */
import { expect, test } from 'vitest'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import type { NumberedOperation } from '../../src/sim/sim-disk.js'
import { codeOf, deferred, mail, simulated, submission } from './stage.js'

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
