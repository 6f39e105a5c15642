/** `idle`: nothing is left to do now, and what was done is durable. */
import { describe, expect, test } from 'vitest'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { Queue } from '../../../src/queue.js'
import {
  codeOf,
  deferred,
  delivered,
  failed,
  gate,
  patient,
  pause,
  simulated,
  stages,
  submission,
} from '../stage.js'

/** What happens to it is seen without waiting for it. */
function watched(queue: Queue): { isIdle: boolean } {
  const seen = { isIdle: false }
  void queue.idle().then(() => (seen.isIdle = true))
  return seen
}

describe.each(stages)('on the %s disk', (_, run) => {
  test('a queue without mail is idle', async () => {
    await run(async (stage) => {
      const queue = await stage.open()
      await queue.idle()
      await queue.idle()
      expect(queue.stats().recovering).toBe(false)
    })
  })

  test('all that was accepted has its outcome, and reports that follow from it too, more than may be active at once', async () => {
    await run(async (stage) => {
      stage.answer = (recipient) => (recipient.startsWith('nobody') ? failed : delivered)
      const queue = await stage.open({ activeCountMax: 3 })
      await Promise.all(
        Array.from({ length: 40 }, (_each, i) =>
          queue.submit(submission(`${i % 4 === 0 ? 'nobody' : 'g'}${i}@b.test`)),
        ),
      )
      await queue.idle()
      expect(stage.told('delivered').length).toBe(30 + 10)
      expect(await stage.isEmpty()).toBe(true)
    })
  })

  test('the outcomes are durable: a crash behind it repeats none', async () => {
    await run(async (stage) => {
      const queue = await stage.open()
      await Promise.all(Array.from({ length: 10 }, () => queue.submit(submission())))
      await queue.idle()
      const next = await stage.open()
      await next.idle()
      expect(stage.attempts.length).toBe(10)
    })
  })

  test('an attempt that is under way is waited for', async () => {
    await run(async (stage) => {
      const held = gate()
      const queue = await stage.open({ transports: held.transports })
      await queue.submit(submission())
      const seen = watched(queue)
      await stage.until('it is attempted', () => queue.stats().activeCount === 1)
      await pause(stage, 50)
      expect(seen.isIdle).toBe(false)
      held.open()
      await stage.until('it is idle', () => seen.isIdle)
      expect(await stage.isEmpty()).toBe(true)
    })
  })

  test('an attempt that is due later is not waited for, one that is due now is', async () => {
    await run(async (stage) => {
      stage.answer = (_recipient, { attempts }) => (attempts === 0 ? deferred : delivered)
      const queue = await stage.open(patient)
      await queue.submit(submission())
      await queue.idle()
      expect(stage.attempts.map(({ kind }) => kind)).toEqual(['deferred'])
      await queue.flush({ all: true })
      await queue.idle()
      expect(stage.attempts.map(({ kind }) => kind)).toEqual(['deferred', 'delivered'])
    })
  })

  test('what a crash left in line, and more than is read at once, has its outcome first', async () => {
    await run(async (stage) => {
      const count = 600
      const before = await stage.open({ activeCountMax: 1, transports: gate().transports })
      await Promise.all(Array.from({ length: count }, () => before.submit(submission())))
      const queue = await stage.open()
      await queue.idle()
      expect(stage.told('delivered')).toHaveLength(count)
    })
  })

  test('a crash ends the wait, and behind it there is none', async () => {
    await run(async (stage) => {
      const queue = await stage.open({ transports: gate().transports })
      await queue.submit(submission())
      const waited = codeOf(queue.idle())
      queue.crash()
      expect([await waited, await codeOf(queue.idle())]).toEqual(['QUEUE_CRASHED', 'QUEUE_CRASHED'])
    })
  })
})

test('a life that delivers nothing is idle when its recovery has ended, with mail in line and on hold', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ deliver: false })
    const { id } = await queue.submit(submission())
    await queue.submit(submission())
    await queue.hold({ id })
    await queue.idle()
    expect(await stage.ids()).toHaveLength(2)
  })
})

// Seeds that were red when what is not believed yet was not waited for.
test.each([
  ['lanes', 0],
  ['single', 15],
] as const)(
  'with layout %s, what became due while no life ran, and is yet to be read, has its outcome first',
  async (layout, seed) => {
    await simulated(
      async (stage) => {
        const count = 300
        const retry = fixedRetry([60_000])
        stage.answer = (_recipient, { attempts }) => (attempts === 0 ? deferred : delivered)
        const before = await stage.open({ retry, layout })
        await Promise.all(Array.from({ length: count }, () => before.submit(submission())))
        await before.idle()
        before.crash()
        await pause(stage, 600_000)
        const queue = await stage.open({ retry, layout })
        await queue.idle()
        expect(stage.told('delivered')).toHaveLength(count)
      },
      { seed },
    )
  },
)
