/** Verbs on a message whose attempt hangs: those after which nobody wants the delivery end it. */
import { describe, expect, test } from 'vitest'
import type { DeliveryResult, Transport } from '../../../src/delivery/transport.js'
import type { Queue } from '../../../src/index.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import { delivered, gate, patient, stages, submission, type Stage } from '../../engine/stage.js'

/** Answers when its signal aborts, and not before. */
function hanging(answer: DeliveryResult): { transport: Transport; begun: string[]; aborted: string[] } {
  const begun: string[] = []
  const aborted: string[] = []
  const deliver: Transport['deliver'] = ({ sender }, signal) => {
    begun.push(sender)
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        aborted.push(sender)
        resolve(answer)
      }),
    )
  }
  return { transport: { deliver }, begun, aborted }
}

const abandoned = { kind: 'site', status: '4.4.0', reason: 'the attempt was abandoned' } as const

async function hungQueue(stage: Stage, answer: DeliveryResult = abandoned) {
  const { transport, begun, aborted } = hanging(answer)
  const queue = await stage.open({ ...patient, transports: { out: transport, elsewhere: transport } })
  for (const name of ['a', 'b']) await queue.submit({ ...submission(), sender: `${name}@example.org` })
  await stage.until('both are attempted', () => begun.length === 2)
  return { queue, aborted, begun }
}

const selector = { sender: 'a@example.org' }
const verbs: readonly [string, (queue: Queue) => Promise<{ messageCount: number }>][] = [
  ['delete', (queue) => queue.delete(selector)],
  ['expire', (queue) => queue.expire(selector)],
  ['hold', (queue) => queue.hold(selector)],
  ['reroute', (queue) => queue.reroute(selector, { transport: 'elsewhere', nexthop: 'other.test' })],
]

describe.each(stages)('on the %s disk', (_, run) => {
  test.each(verbs)('%s ends the attempt of its message and of no other', async (_name, verb) => {
    await run(async (stage) => {
      const { queue, aborted } = await hungQueue(stage)
      expect(await verb(queue)).toMatchObject({ messageCount: 1 })
      expect(aborted).toEqual(['a@example.org'])
      const [destination] = queue.destinations()
      expect(destination).toMatchObject({ state: { kind: 'ready' } })
      expect(stage.warnings).toEqual([])
    })
  })

  test('what an attempt has delivered before it could stop is not deleted mail', async () => {
    await run(async (stage) => {
      const { queue } = await hungQueue(stage, delivered)
      const told: string[] = []
      queue.on('delivered', ({ sender }) => told.push(`delivered ${sender}`))
      queue.on('deleted', ({ sender, recipientCount }) => told.push(`deleted ${sender} ${recipientCount}`))
      await queue.delete(selector)
      expect(told).toEqual(['delivered a@example.org'])
    })
  })

  test('a flush and a requeue want a delivery, so attempts go on', async () => {
    await run(async (stage) => {
      const { open, transports } = gate()
      const queue = await stage.open({ ...patient, transports })
      await queue.submit(submission())
      await stage.until('it is attempted', () => queue.stats().activeCount === 1)
      const requeued = queue.requeue({ all: true })
      open()
      expect(await requeued).toMatchObject({ messageCount: 0 })
      await stage.until('it is delivered', () => stage.isEmpty())
    })
  })

  test('an attempt that begins behind the verb, because it waited for the journal, ends too', async () => {
    await run(async (stage) => {
      const { transport, begun, aborted } = hanging(abandoned)
      const first = await stage.open({ ...patient, retry: fixedRetry([1]), transports: { out: transport } })
      await first.submit({ ...submission(), sender: 'a@example.org' })
      await stage.until('it is attempted', () => begun.length === 1)
      const queue = await stage.open({ ...patient, transports: { out: transport } })
      await stage.until('it is active again', () => queue.stats().activeCount === 1)
      expect(await queue.delete(selector)).toMatchObject({ messageCount: 1 })
      await stage.until('nothing is left', () => stage.isEmpty())
      // The first life was crashed, which aborts as well.
      expect(aborted.length).toBe(begun.length)
    })
  })

  test('what is deleted has an event of its own, where it waits and where it is attempted', async () => {
    await run(async (stage) => {
      const { queue } = await hungQueue(stage)
      const told: string[] = []
      queue.on('deleted', ({ sender, recipientCount }) => told.push(`deleted ${sender} ${recipientCount}`))
      queue.on('finished', () => told.push('finished'))
      await queue.hold({ sender: 'b@example.org' })
      await queue.delete({ all: true })
      expect(told.filter((event) => event !== 'finished').sort()).toEqual([
        'deleted a@example.org 1',
        'deleted b@example.org 1',
      ])
      expect(told.filter((event) => event === 'finished')).toHaveLength(2)
      expect(told[0]).not.toBe('finished')
    })
  })
})
