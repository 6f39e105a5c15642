/** How long a transport that was told nothing waits, and how much it holds: the numbers that
 * its options name. */
import { Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { systemClock, type Clock } from '../../../src/base/clock.js'
import { deliver } from '../request.js'
import { between } from './smtp-out-fixture.js'

/** What is asked for, and never comes. */
function waits(): { readonly clock: Clock; readonly delaysMs: Set<number> } {
  const delaysMs = new Set<number>()
  const after = (delayMs: number): ReturnType<Clock['after']> => {
    delaysMs.add(delayMs)
    return { cancel: () => {} }
  }
  return { clock: { ...systemClock, after }, delaysMs }
}

test('half a minute for a connection, five for the greeting and for what is said, ten for the answer to the message', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const silences = vi.spyOn(Socket.prototype, 'setTimeout')
  try {
    const { transport } = await between(undefined, { clock: waits().clock })
    await deliver(transport)
    // Nodemailer's, which takes off what has passed already.
    const seconds = timers.mock.calls.map(([, ms = 0]) => Math.ceil(ms / 1000))
    expect(seconds).toEqual(expect.arrayContaining([30, 300]))
    expect(silences.mock.calls.map(([ms]) => ms)).toEqual(expect.arrayContaining([300_000, 600_000]))
  } finally {
    timers.mockRestore()
    silences.mockRestore()
  }
})

test('an unused connection is kept for two seconds', async () => {
  const { clock, delaysMs } = waits()
  const { transport } = await between(undefined, { clock })
  await deliver(transport)
  expect([...delaysMs]).toContain(2000)
})

test('two hundred connections are open at once, and the next attempt waits for one', async () => {
  const { server, transport } = await between((line) =>
    line.startsWith('MAIL') ? { does: 'hang' } : undefined,
  )
  const attempts = Array.from({ length: 201 }, () => deliver(transport).catch(() => undefined))
  await expect.poll(() => server.commands.filter((line) => line.includes('MAIL')).length).toBe(200)
  expect(server.sessionCount()).toBe(200)
  transport.close?.()
  await Promise.all(attempts)
})
