/** The recipients of a requeued message, where tables of aliases have changed. */
import { describe, expect, test } from 'vitest'
import type { DeliveryRequest } from '../../../src/delivery/transport.js'
import type { QueueOptions } from '../../../src/engine/life/options.js'
import { codeOf, deferred, delivered, patient, simulated, stages, submission, type Stage } from '../stage.js'

type Requeue = NonNullable<QueueOptions['requeueRecipients']>

const to =
  (address: string): Requeue =>
  () => [address]

/** A message for ada, who has had it, and for bob, who waits. */
async function half(
  stage: Stage,
  requeueRecipients: Requeue,
  options: Partial<QueueOptions> = patient,
): Promise<string> {
  stage.answer = (recipient) => (recipient.startsWith('ada@') ? delivered : deferred)
  const queue = await stage.open({ ...options, requeueRecipients })
  const { id } = await queue.submit(submission(['ada@example.net', 'bob@example.net']))
  await stage.until('bob waits', () => stage.told('deferred').length === 1)
  await stage.until('nothing is under way', () => queue.stats().activeCount === 0)
  stage.answer = () => delivered
  return id
}

const isGone = (stage: Stage): Promise<void> => stage.until('nothing is left', () => stage.isEmpty())

describe.each(stages)('on the %s disk', (_, run) => {
  test('a requeued message goes to the addresses that stand for its recipients now, except those that have it', async () => {
    await run(async (stage) => {
      const asked: string[][] = []
      const id = await half(stage, (recipients) => {
        asked.push(recipients.map(({ address }) => address))
        return ['bob@new.example', { address: 'dörte@example.net' }, 'bob@new.example']
      })
      expect(await stage.queue.requeue({ id })).toMatchObject({ messageCount: 1 })
      await isGone(stage)
      expect(asked).toEqual([['bob@example.net']])
      expect(stage.told('delivered').sort()).toEqual([
        'ada@example.net',
        'bob@new.example',
        'dörte@example.net',
      ])
    })
  })

  test('they are the same after a crash, and are asked for again at the next requeue alone', async () => {
    await run(async (stage) => {
      const id = await half(stage, to('bob@new.example'))
      stage.answer = () => deferred
      await stage.queue.requeue({ id })
      await stage.until('it waits again', () => stage.told('deferred').length === 2)
      await stage.queue.idle()
      stage.answer = () => delivered
      const queue = await stage.open({ ...patient, requeueRecipients: to('bob@newer.example') })
      expect(await stage.ids()).toEqual([id])
      await queue.flush({ all: true })
      await isGone(stage)
      expect(stage.told('delivered')).toEqual(['ada@example.net', 'bob@new.example'])
    })
  })

  test('thousands may stand for one', async () => {
    await run(async (stage) => {
      const many = Array.from({ length: 1500 }, (_, n) => `u${n}@example.net`)
      const large = { ...patient, segmentBytes: 2 ** 20, laneSegmentBytes: 2 ** 20 }
      const id = await half(stage, () => many, large)
      await stage.queue.requeue({ id })
      await stage.open(large)
      await isGone(stage)
      expect(new Set(stage.told('delivered')).size).toBe(1501)
    })
  })
})

test('what was asked for a recipient goes along, and may be changed', async () => {
  await simulated(async (stage) => {
    const requests: DeliveryRequest[] = []
    stage.answer = (_, request) => {
      requests.push(request)
      return requests.length === 1 ? deferred : delivered
    }
    const queue = await stage.open({
      ...patient,
      requeueRecipients: (recipients) => recipients.map((one) => ({ ...one, address: 'bob@new.example' })),
    })
    const orcpt = 'rfc822;bob@example.net'
    const { id } = await queue.submit({
      ...submission([]),
      recipients: [{ address: 'bob@example.net', notify: 'never', orcpt }],
      dsn: { id: 'QQ314159', return: 'full' },
    })
    await stage.until('bob waits', () => stage.told('deferred').length === 1)
    await queue.requeue({ id })
    await isGone(stage)
    expect(requests[1]).toMatchObject({
      recipients: ['bob@new.example'],
      dsn: { envid: 'QQ314159', ret: 'full', recipients: [{ notify: 'never', orcpt }] },
    })
  })
})

test.each<[string, Requeue]>([
  [
    'what it throws',
    () => {
      throw new Error('no table')
    },
  ],
  ['nobody', () => []],
  ['no list', (() => Promise.resolve([])) as unknown as Requeue],
  ['no list, and a rejection', (() => Promise.reject(new Error('no table'))) as unknown as Requeue],
  ['no address', to('nobody')],
  ['more than a segment holds', () => Array.from({ length: 9000 }, (_, n) => `u${n}@example.net`)],
])('a message stays as it was, with a warning, for %s', async (_, requeueRecipients) => {
  await simulated(async (stage) => {
    const id = await half(stage, requeueRecipients)
    expect(await stage.queue.requeue({ id })).toMatchObject({ messageCount: 0, failedCount: 1 })
    expect(stage.warnings).toHaveLength(1)
    expect(await stage.ids()).toEqual([id])
    expect(stage.crashes).toEqual([])
    await stage.open(patient)
    expect(await stage.ids()).toEqual([id])
    await stage.queue.requeue({ id })
    await isGone(stage)
    expect(stage.told('delivered')).toEqual(['ada@example.net', 'bob@example.net'])
  })
})

test('a message that would be too large to submit is not made by a requeue, and the largest one can be deferred', async () => {
  await simulated(async (stage) => {
    const sizes = { ...patient, segmentBytes: 16 * 4096, laneSegmentBytes: 8 * 4096 }
    const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `u${n}@example.net`)
    let wanted: string[] = []
    stage.answer = () => deferred
    const queue = await stage.open({ ...sizes, requeueRecipients: () => wanted })
    let [most, tooMany] = [1, 5000]
    while (tooMany - most > 1) {
      const count = (most + tooMany) >> 1
      const code = await codeOf(queue.submit(submission(many(count))))
      if (code === 'MESSAGE_TOO_LARGE') tooMany = count
      else most = count
    }
    const { id } = await queue.submit(submission(['bob@example.net']))
    await stage.until('all wait', () => queue.stats().activeCount === 0)
    wanted = many(tooMany)
    expect(await queue.requeue({ id })).toMatchObject({ messageCount: 0, failedCount: 1 })
    expect(stage.warnings).toEqual(['MESSAGE_TOO_LARGE'])
    wanted = many(most)
    expect(await queue.requeue({ id })).toMatchObject({ messageCount: 1 })
    await stage.until('it waits again', () => queue.stats().activeCount === 0)
    expect(stage.crashes).toEqual([])
    await stage.open(sizes)
    expect(await stage.ids()).toContain(id)
  })
})

test('it is a function', async () => {
  await simulated(async (stage) => {
    const requeueRecipients = ['ada@example.org'] as unknown as Requeue
    expect(await codeOf(stage.open({ requeueRecipients }))).toBe('OPTION_INVALID')
  })
})
