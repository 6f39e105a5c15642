/** What a submission asks of the queue for itself: to be put on hold, and to be attempted before
 * or behind others. */
import { describe, expect, test } from 'vitest'
import type { Selector } from '../../../src/index.js'
import { delivered, mail, simulated, stages, submission, type Stage } from '../stage.js'

const wheres = async (stage: Stage): Promise<string[]> => {
  const found: string[] = []
  for await (const { where } of stage.queue.list()) found.push(where)
  return found
}

describe.each(stages)('on the %s disk', (_, run) => {
  test('a message that is submitted on hold is not attempted before it is released, whatever the lives', async () => {
    await run(async (stage) => {
      await stage.open()
      await stage.queue.submit({ ...submission('held@example.net', mail('x')), hold: true })
      await stage.queue.submit(submission('other@example.net', mail('y')))
      await stage.until('the other one is delivered', () => stage.told('delivered').length === 1)
      await stage.until('it is on hold', async () => (await wheres(stage)).includes('hold'))
      await stage.open()
      await stage.queue.idle()
      expect(stage.told('delivered')).toEqual(['other@example.net'])
      expect(await wheres(stage)).toEqual(['hold'])
      expect(await stage.queue.release({ all: true })).toMatchObject({ messageCount: 1 })
      await stage.until('it is delivered', () => stage.told('delivered').length === 2)
    })
  })
})

describe.each(stages)(
  'a message that is submitted on hold and has not come to its lane, on the %s disk',
  (_, run) => {
    const held = { ...submission('held@example.net', mail('x')), hold: true, tags: ['it'] }

    test.each<[string, (id: string) => Selector]>([
      ['its id', (id) => ({ id })],
      ['its tag', () => ({ tag: 'it' })],
      ['the lane of holds', () => ({ lane: 'hold' })],
      ['all', () => ({ all: true })],
    ])('is released by %s', async (_name, selector) => {
      await run(async (stage) => {
        const queue = await stage.open()
        const { id } = await queue.submit(held)
        expect(await queue.release(selector(id))).toMatchObject({ messageCount: 1, missedCount: 0 })
        await stage.until('it is delivered', () => stage.told('delivered').length === 1)
        await stage.until('nothing is left', () => stage.isEmpty())
      })
    })

    test('is released by a life that delivers nothing', async () => {
      await run(async (stage) => {
        const { id } = await (await stage.open({ deliver: false })).submit(held)
        await stage.open({ deliver: false })
        expect(await stage.queue.release({ id })).toMatchObject({ messageCount: 1 })
        await stage.open()
        await stage.until('it is delivered', () => stage.told('delivered').length === 1)
      })
    })

    test('is not attempted when it gets another route', async () => {
      await run(async (stage) => {
        const queue = await stage.open()
        const { id } = await queue.submit(held)
        expect(await queue.reroute({ id }, { nexthop: 'elsewhere' })).toMatchObject({ messageCount: 1 })
        await queue.idle()
        expect([stage.attempts, await wheres(stage)]).toEqual([[], ['hold']])
      })
    })

    test('is listed on hold, and other new mail is not', async () => {
      await run(async (stage) => {
        const queue = await stage.open({ deliver: false })
        const { id } = await queue.submit(held)
        await queue.submit(submission())
        const ids: string[] = []
        for await (const message of queue.list({ lane: 'hold' })) ids.push(message.id)
        expect(ids).toEqual([id])
      })
    })
  },
)

test('mail on hold is not attempted when an order for it fails', async () => {
  await simulated(async (stage) => {
    await stage.open({
      requeueRecipients: () => {
        throw new Error('the tables are away')
      },
    })
    await stage.queue.submit({ ...submission('held@example.net', mail('x')), hold: true })
    expect(await stage.queue.requeue({ all: true })).toMatchObject({ failedCount: 1 })
    await stage.queue.idle()
    expect([stage.attempts, await wheres(stage)]).toEqual([[], ['hold']])
  })
})

test('a crash before it is on hold finds it, and attempts nothing', async () => {
  await simulated(async (stage) => {
    await stage.open()
    await stage.queue.submit({ ...submission('held@example.net', mail('x')), hold: true })
    // In the step in which it is durable.
    await stage.open()
    await stage.queue.idle()
    expect([stage.attempts, await wheres(stage)]).toEqual([[], ['hold']])
  })
})

test('of those that wait for one destination a high one goes first, and a low one last', async () => {
  await simulated(async (stage) => {
    stage.answer = () => delivered
    await stage.open({ deliver: false })
    const send = (name: string, priority?: 'high' | 'low'): Promise<unknown> =>
      stage.queue.submit({ ...submission(`${name}@example.net`, mail(name)), priority })
    await send('low', 'low')
    await send('first')
    await send('second')
    await send('high', 'high')
    await stage.open({ scheduler: { defaultDestinationConcurrencyLimit: 1 } })
    await stage.until('all are delivered', () => stage.told('delivered').length === 4)
    const order = stage.told('delivered').map((recipient) => recipient.split('@')[0])
    // Those that are active when the first attempt begins are in order.
    expect(order.indexOf('high')).toBeLessThan(order.indexOf('second'))
    expect(order.at(-1)).toBe('low')
  })
})

test.each([
  ['hold', { hold: 'yes' }],
  ['priority', { priority: 'urgent' }],
])('an invalid %s is refused', async (option, member) => {
  await simulated(async (stage) => {
    await stage.open()
    const wrong = { ...submission('a@example.net', mail('x')), ...member } as never
    await expect(stage.queue.submit(wrong)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      place: { option },
    })
  })
})
