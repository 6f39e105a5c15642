/** Changes of a queue while it lives. */
import { expect, test } from 'vitest'
import type { Transport } from '../../../src/delivery/transport.js'
import { isWaybillError } from '../../../src/errors.js'
import type { Change } from '../../../src/index.js'
import type { Queue } from '../../../src/queue.js'
import { delivered, pause, simulated, submission } from '../stage.js'

function refusalOf(queue: Queue, change: Change): string | undefined {
  try {
    queue.reconfigure(change)
    return undefined
  } catch (error) {
    return isWaybillError(error) ? error.code : String(error)
  }
}

test('other limits are in force for what waits, and a further transport takes mail', async () => {
  await simulated(async (stage) => {
    let underWay = 0
    let most = 0
    const slow: Transport = {
      deliver: async () => {
        most = Math.max(most, ++underWay)
        await pause(stage, 1000)
        underWay--
        return delivered
      },
    }
    const taken: string[] = []
    const late: Transport = {
      deliver: ({ recipients }) => {
        taken.push(...recipients)
        return delivered
      },
    }
    let transport = 'slow'
    const queue = await stage.open({
      transports: { slow },
      route: () => ({ transport, nexthop: 'there' }),
      scheduler: { defaultProcessLimit: 1 },
    })
    for (let i = 0; i < 8; i++) await queue.submit(submission())
    await pause(stage, 1500)
    expect(most).toBe(1)
    queue.reconfigure({ scheduler: { defaultProcessLimit: 3 }, transports: { late } })
    await pause(stage, 1500)
    expect(most).toBe(3)
    transport = 'late'
    await queue.submit(submission('new@example.net'))
    await queue.idle()
    expect(taken).toEqual(['new@example.net'])
  })
})

test('a change that is refused changes nothing', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const taken = { out: { deliver: () => delivered } }
    for (const change of [
      { transports: taken },
      { transports: { new: {} as Transport } },
      { scheduler: { defaultRecipientLimit: 5 } },
      { scheduler: { transports: { nobody: {} } } },
      { scheduler: {}, transports: { new: taken.out }, others: {} },
    ])
      expect(refusalOf(queue, change as Change)).toBe('OPTION_INVALID')
    queue.reconfigure({ transports: { new: taken.out } })
    queue.crash()
    expect(refusalOf(queue, {})).toBe('QUEUE_CRASHED')
  })
})
