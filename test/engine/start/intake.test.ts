/** Which messages become active first, when there is no room for all of them. */
import { expect, test } from 'vitest'
import type { RetryPolicy } from '../../../src/policy/retry-policy.js'
import { deferred, delivered, gate, simulated, submission } from '../stage.js'

/** Each domain has a separate lane. */
const laneByDomain: RetryPolicy = {
  intervalsMs: [60_000, 61_000, 62_000, 63_000],
  bounceQueueLifetimeMs: 1e9,
  delayWarningAgesMs: [],
  decide: ({ nexthop }) => ({ kind: 'retry', delayMs: 60_000 + 1000 * Number(nexthop.slice(1, 2)) }),
}

test('new mail and deferred mail become active in turn, however many lanes are due', async () => {
  await simulated(async (stage) => {
    const opened = gate()
    const order: string[] = []
    const queue = await stage.open({
      activeCountMax: 1,
      retry: laneByDomain,
      transports: {
        out: {
          deliver: async ({ recipients: [recipient], attempts }) => {
            if (recipient === 'last@d9.test') await opened.opened
            else if (recipient!.startsWith('old') && attempts === 0) return deferred
            order.push(recipient!.slice(0, 3))
            return delivered
          },
        },
      },
    })
    for (const domain of ['d0.test', 'd1.test', 'd2.test', 'd3.test'])
      for (const name of ['old1', 'old2']) await queue.submit(submission([`${name}@${domain}`]))
    await queue.idle()
    await queue.submit(submission(['last@d9.test']))
    for (let i = 0; i < 8; i++) await queue.submit(submission([`new${i}@d9.test`]))
    await new Promise<void>((resolve) => stage.clock.after(70_000, resolve))
    opened.open()
    await stage.until('all are delivered', () => order.length === 17)
    const turns = order.slice(1).join(' ')
    expect(turns.replaceAll(/new old|old new/g, 'both')).toBe(
      Array.from({ length: 8 }, () => 'both').join(' '),
    )
  })
})

test('what waits in incoming is counted, and nothing when it is empty', async () => {
  await simulated(async (stage) => {
    const opened = gate()
    const transports = { out: { deliver: () => opened.opened.then(() => delivered) } }
    const queue = await stage.open({ activeCountMax: 1, transports })
    const waitingBytes = (): number =>
      queue.stats().lanes.find(({ kind }) => kind === 'incoming')!.waitingBytes
    for (let i = 0; i < 10; i++) await queue.submit(submission())
    expect(waitingBytes()).toBeGreaterThan(9 * Buffer.byteLength(String(submission().data)))
    opened.open()
    await queue.idle()
    expect(waitingBytes()).toBe(0)
  })
})
