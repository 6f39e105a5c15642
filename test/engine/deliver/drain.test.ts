/** `drain`: no attempt begins, and those under way end, durably. */
import { describe, expect, test } from 'vitest'
import { codeOf, delivered, gate, pause, simulated, stages, submission } from '../stage.js'

describe.each(stages)('on the %s disk', (_, run) => {
  test('a queue is drained when its attempts have ended; what was not begun is for the next life', async () => {
    await run(async (stage) => {
      const { open, opened, transports } = gate()
      const one = { scheduler: { defaultDestinationConcurrencyLimit: 1 } }
      const queue = await stage.open({ transports, ...one })
      await Promise.all([1, 2, 3].map(() => queue.submit(submission())))
      await stage.until('one is attempted', () => queue.destinations().some(({ busy }) => busy === 1))
      let isDrained = false
      const drained = queue.drain().then((result) => {
        isDrained = true
        return result
      })
      await queue.submit(submission('later@example.net'))
      expect(isDrained).toBe(false)
      open()
      await opened
      expect(await drained).toEqual({ isDrained: true, underWayCount: 0 })
      await queue.idle()
      await stage.open()
      await stage.queue.idle()
      expect(stage.told('delivered').sort()).toEqual([
        'grace@example.net',
        'grace@example.net',
        'later@example.net',
      ])
    })
  })
})

test('a drain whose signal is aborted settles with what is under way', async () => {
  await simulated(async (stage) => {
    const { transports } = gate()
    const queue = await stage.open({ transports })
    await Promise.all([1, 2].map(() => queue.submit(submission())))
    await stage.until('both are attempted', () => queue.destinations().some(({ busy }) => busy === 2))
    const abort = new AbortController()
    const drained = queue.drain({ signal: abort.signal })
    abort.abort()
    expect(await drained).toEqual({ isDrained: false, underWayCount: 2 })
    expect(await queue.drain({ signal: AbortSignal.abort() })).toEqual({
      isDrained: false,
      underWayCount: 2,
    })
  })
})

test('a queue whose disk hangs is not drained, though its attempts have ended', async () => {
  await simulated(async (stage) => {
    const { open, opened, transports } = gate()
    const queue = await stage.open({ transports })
    await queue.submit(submission())
    await stage.until('it is attempted', () => queue.destinations().some(({ busy }) => busy === 1))
    stage.disk!.hang(10_000)
    open()
    await opened
    const abort = new AbortController()
    const drained = queue.drain({ signal: abort.signal })
    await pause(stage, 5000)
    abort.abort()
    expect(await drained).toEqual({ isDrained: false, underWayCount: 0 })
    expect(await queue.drain()).toEqual({ isDrained: true, underWayCount: 0 })
  })
})

test('a drain ends with the life, and refuses an invalid signal', async () => {
  await simulated(async (stage) => {
    stage.answer = () => delivered
    const { transports } = gate()
    const queue = await stage.open({ transports })
    await queue.submit(submission())
    await stage.until('it is attempted', () => queue.destinations().some(({ busy }) => busy === 1))
    expect(await codeOf(queue.drain({ signal: 5 as unknown as AbortSignal }))).toBe('OPTION_INVALID')
    const drained = codeOf(queue.drain())
    queue.crash()
    expect(await drained).toBe('QUEUE_CRASHED')
    expect(await codeOf(queue.drain())).toBe('QUEUE_CRASHED')
  })
})
