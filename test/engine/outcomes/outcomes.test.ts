/** What consumers of outcomes get. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { LaneLog } from '../../../src/log/lane-log.js'
import { Outcomes } from '../../../src/engine/outcomes/outcomes.js'
import type { OutcomeGap, OutcomesRequest } from '../../../src/engine/outcomes/consume.js'
import type { QueueOutcome } from '../../../src/record/outcome.js'
import {
  codeOf,
  deferred,
  delivered,
  failed,
  mail,
  pause,
  simulated,
  stages,
  submission,
  type Stage,
} from '../stage.js'

type Item = QueueOutcome | OutcomeGap

const many = Array.from({ length: 5 }, (_, i) => `someone-with-a-long-name-${i}@example.net`)

/** Consumes until the condition holds of what came, in the background. */
function consuming(stage: Stage, request: OutcomesRequest = { consumer: 'it' }) {
  const items: Item[] = []
  const abort = new AbortController()
  const ended = (async () => {
    for await (const item of stage.queue.outcomes({ ...request, signal: abort.signal })) items.push(item)
  })()
  ended.catch(() => undefined)
  return {
    items,
    until: (count: number) => stage.until(`${count} outcomes came`, () => items.length >= count),
    end: async () => {
      abort.abort()
      await ended
    },
    ended,
  }
}

/** Waits until the queue keeps outcomes for so many consumers. */
const known = (stage: Stage, count = 1): Promise<void> =>
  stage.until(`${count} consumers are known`, () => stage.queue.consumers().length === count)

/** A life with one consumer, which is known. */
async function opened(stage: Stage) {
  await stage.open()
  const consumer = consuming(stage)
  await known(stage)
  return consumer
}

const shown = (items: readonly Item[]): string[] =>
  items.map((item) => (item.kind === 'gap' ? `gap ${item.from}-${item.to}` : `${item.number} ${item.kind}`))

test.each(stages)('%s: a consumer gets all that becomes of a message, in order', async (_, run) => {
  await run(async (stage) => {
    const answers: Record<string, typeof delivered> = { a: delivered, b: deferred, c: failed }
    stage.answer = (recipient, { attempts }) => (attempts > 0 ? delivered : answers[recipient[0]!]!)
    const consumer = await opened(stage)
    const { id } = await stage.queue.submit(submission(['a@example.net', 'b@example.net', 'c@example.net']))
    // Two are of the report.
    await consumer.until(9)
    const outcomes = consumer.items.filter((item) => item.kind !== 'gap')
    expect(outcomes.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    const own = outcomes.filter((outcome) => outcome.id === id)
    expect(own.map(({ kind }) => kind)).toEqual([
      'accepted',
      'delivered',
      'deferred',
      'failed',
      'reported',
      'delivered',
      'finished',
    ])
    expect(own[0]).toMatchObject({ sender: 'ada@example.org', recipientCount: 3, attempt: 0 })
    expect(own[0]!.recipients).toEqual(['a@example.net', 'b@example.net', 'c@example.net'])
    expect(own[2]).toMatchObject({ recipients: ['b@example.net'], status: '4.2.2', text: 'full', attempt: 1 })
    expect(own[3]).toMatchObject({ recipients: ['c@example.net'], status: '5.1.1', text: 'nobody' })
    expect(own[5]).toMatchObject({ recipients: ['b@example.net'], attempt: 2 })
    await consumer.end()
  })
})

test.each(stages)('%s: what a consumer has seen it may name in the next life at once', async (_, run) => {
  await run(
    async (stage) => {
      await stage.open()
      const before = consuming(stage, { consumer: 'it', acknowledges: true })
      await known(stage)
      for (let i = 0; i < 20; i++) await stage.queue.submit(submission())
      await before.until(60)
      const seen = shown(before.items.slice(40))
      await stage.open()
      expect(await stage.queue.acknowledge('it', 40)).toBe(true)
      const after = consuming(stage, { consumer: 'it', acknowledges: true, from: 41 })
      await after.until(20)
      expect(shown(after.items)).toEqual(seen)
      expect(stage.queue.consumers()).toEqual([{ name: 'it', cursor: 40, last: 60 }])
      await after.end()
    },
    // So the next life copies all of them from the journal.
    { queue: { checkpointIntervalMs: 3_600_000 } },
  )
})

test('numbers that no outcome has had are refused: nothing would come for long', async () => {
  await simulated(async (stage) => {
    const consumer = await opened(stage)
    await stage.queue.submit(submission())
    await consumer.until(3)
    expect(await codeOf(stage.queue.acknowledge('it', 4))).toBe('OPTION_INVALID')
    for (const request of [{ from: 5 }, { consumer: 'other', from: 5 }])
      expect(await codeOf(stage.queue.outcomes(request).next())).toBe('OPTION_INVALID')
    // The one that was refused may come again.
    const next = consuming(stage, { consumer: 'other', from: 4 })
    await known(stage, 2)
    await stage.queue.submit(submission())
    await next.until(3)
    expect(shown(next.items)[0]).toBe('4 accepted')
    await next.end()
    await consumer.end()
  })
})

describe('a consumer has what happens from the step of its first call on', () => {
  const withoutAny = async (): Promise<void> => undefined
  const forgotten = async (stage: Stage): Promise<void> => {
    const consumer = consuming(stage, { consumer: 'other' })
    await known(stage)
    await consumer.end()
    await stage.queue.forgetConsumer('other')
  }
  test.each([
    ['in a new queue', undefined],
    ['in a later life', withoutAny],
    ['in a later life, where another was forgotten', forgotten],
  ])('%s', async (_, earlier) => {
    await simulated(async (stage) => {
      await stage.open()
      if (earlier !== undefined) {
        await stage.queue.submit(submission())
        await stage.queue.idle()
        await earlier(stage)
        await stage.open()
      }
      const consumer = consuming(stage)
      const { id } = await stage.queue.submit(submission())
      await consumer.until(3)
      const own = consumer.items.filter((item) => item.kind !== 'gap' && item.id === id)
      expect(own.map(({ kind }) => kind)).toEqual(['accepted', 'delivered', 'finished'])
      await consumer.end()
    })
  })
})

test('a consumer goes on behind what it is done with, in the same life and in later ones', async () => {
  await simulated(async (stage) => {
    await stage.open()
    const first = consuming(stage)
    await known(stage)
    await stage.queue.submit(submission())
    await first.until(3)
    await first.end()
    await stage.queue.submit(submission())
    await stage.queue.idle()
    const second = consuming(stage)
    await second.until(3)
    expect(shown(second.items)).toEqual(['4 accepted', '5 delivered', '6 finished'])
    // A checkpoint has to say so, whose calls take a second each.
    await pause(stage, 10_000)
    await stage.open()
    await stage.queue.submit(submission())
    await stage.queue.idle()
    const third = consuming(stage)
    await third.until(3)
    expect(shown(third.items)).toEqual(['7 accepted', '8 delivered', '9 finished'])
  })
})

test('an outcome that was given and not done with is given again after a crash', async () => {
  await simulated(async (stage) => {
    await stage.open()
    const iterator = stage.queue.outcomes({ consumer: 'it' })
    const first = iterator.next()
    await known(stage)
    await stage.queue.submit(submission())
    expect((await first).value).toMatchObject({ number: 1, kind: 'accepted' })
    await pause(stage, 500)
    await stage.open()
    const again = consuming(stage)
    await again.until(3)
    expect(shown(again.items)).toEqual(['1 accepted', '2 delivered', '3 finished'])
  })
})

test('a consumer that asks seldom gets all there is', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const batches = queue.outcomeBatches({ consumer: 'it', max: 1000 })
    const begun = batches.next()
    await known(stage)
    let isBusy = true
    const load = (async () => {
      while (isBusy) {
        await queue.submit(submission())
        await pause(stage, 5)
      }
    })()
    await begun
    for (let round = 0; round < 10; round++) {
      await pause(stage, 1000)
      const [status] = queue.consumers()
      const batch = (await batches.next()).value as QueueOutcome[]
      expect(batch.at(-1)!.number).toBeGreaterThanOrEqual(status!.last)
    }
    isBusy = false
    await load
  })
})

test('a consumer may begin at any outcome that is kept', async () => {
  await simulated(async (stage) => {
    const consumer = await opened(stage)
    for (let i = 0; i < 4; i++) await stage.queue.submit(submission())
    await consumer.until(12)
    const other = consuming(stage, { from: 5 })
    await other.until(8)
    expect(shown(other.items)).toEqual(shown(consumer.items.slice(4)))
    await other.end()
    expect(stage.queue.consumers()).toEqual([{ name: 'it', cursor: expect.any(Number), last: 12 }])
  })
})

test('mail does not wait for a consumer that does not come, which learns what it has missed', async () => {
  await simulated(async (stage) => {
    const options = { outcomeBytesMax: 3 * 32 * 1024 }
    await stage.open(options)
    const abandoned = stage.queue.outcomes({ consumer: 'it' })
    const first = abandoned.next()
    await known(stage)
    for (let i = 0; i < 300; i++) await stage.queue.submit(submission(many))
    await first
    await stage.queue.idle()
    await pause(stage, 1000)
    const segments = (): string[] => stage.disk!.image.files().filter((path) => path.startsWith('outcomes/'))
    expect(segments().length).toBeLessThanOrEqual(4)
    await stage.open(options)
    const consumer = consuming(stage)
    await stage.until('it has all', () => {
      const last = consumer.items.at(-1)
      return last !== undefined && last.kind !== 'gap' && last.number === stage.queue.consumers()[0]!.last
    })
    const [gap, next] = consumer.items
    expect(gap).toMatchObject({ kind: 'gap', from: 1 })
    expect(next).toMatchObject({ number: (gap as OutcomeGap).to + 1 })
    const numbers = consumer.items.slice(1).map((item) => (item as QueueOutcome).number)
    expect(numbers).toEqual(numbers.map((_, i) => numbers[0]! + i))
  })
})

test('what one consumer is done with is kept for another that is not', async () => {
  await simulated(async (stage) => {
    await stage.open()
    const eager = consuming(stage, { consumer: 'eager' })
    const late = stage.queue.outcomes({ consumer: 'late' }).next()
    await known(stage, 2)
    for (let i = 0; i < 100; i++) await stage.queue.submit(submission(many))
    await eager.until(300)
    await late
    await pause(stage, 5000)
    await stage.open()
    const consumer = consuming(stage, { consumer: 'late' })
    await consumer.until(300)
    expect(shown(consumer.items.slice(0, 2))).toEqual(['1 accepted', expect.stringMatching(/^2 /)])
  })
})

test('no segment of the journal is recycled before its outcomes are copied', async () => {
  await simulated(async (stage) => {
    const consumer = await opened(stage)
    await pause(stage, 1000)
    // Copying stands still.
    const copy = vi.spyOn(Outcomes.prototype, 'copy').mockReturnValue()
    onTestFinished(() => copy.mockRestore())
    for (let i = 0; i < 60; i++)
      await stage.queue.submit(submission('a@example.net', mail('x\r\n'.repeat(1500))))
    await stage.queue.idle()
    await pause(stage, 5000)
    expect(consumer.items).toEqual([])
    copy.mockRestore()
    await stage.open()
    const again = consuming(stage)
    await again.until(180)
    expect(again.items.filter(({ kind }) => kind === 'gap')).toEqual([])
    expect(stage.warnings).toEqual([])
  })
})

test('rot costs what stands behind it in its segment, and the consumer learns how much', async () => {
  await simulated(async (stage) => {
    await stage.open()
    const late = stage.queue.outcomes({ consumer: 'it' }).next()
    await known(stage)
    for (let i = 0; i < 100; i++) await stage.queue.submit(submission(many))
    await stage.queue.idle()
    await late
    await pause(stage, 5000)
    stage.queue.crash()
    stage.disk!.image.flipBit('outcomes/000000000000.log', 4096 + 8000, 0)
    await stage.open()
    const consumer = consuming(stage)
    await pause(stage, 5000)
    const { last } = stage.queue.consumers()[0]!
    await stage.until('it has the last', () => shown(consumer.items).at(-1)?.startsWith(`${last} `) === true)
    const gaps = consumer.items.filter(({ kind }) => kind === 'gap') as OutcomeGap[]
    expect(gaps).toHaveLength(1)
    expect(consumer.items.length - 1 + gaps[0]!.to - gaps[0]!.from + 1).toBe(last)
  })
})

test('a consumer that comes when the last one has just gone gets what happens from then on', async () => {
  await simulated(async (stage) => {
    await stage.open()
    for (let round = 0; round < 4; round++) {
      const first = consuming(stage, {})
      const submitted = Promise.all(Array.from({ length: 20 }, () => stage.queue.submit(submission())))
      await pause(stage, 3 * round)
      await first.end()
      const before = stage.queue.consumers().length
      const second = consuming(stage, { consumer: `it-${round}` })
      await stage.until('it is known', () => stage.queue.consumers().length > before)
      await submitted
      const { id } = await stage.queue.submit(submission())
      await stage.until('it has heard', () =>
        second.items.some((item) => item.kind === 'finished' && item.id === id),
      )
      expect(second.items.filter(({ kind }) => kind === 'gap')).toEqual([])
      await second.end()
      await stage.queue.forgetConsumer(`it-${round}`)
    }
  })
})

test('a checkpoint between two outcomes of one batch counts the first as copied', async () => {
  await simulated(async (stage) => {
    await stage.open()
    consuming(stage)
    await known(stage)
    const hasRoom = Reflect.get(LaneLog.prototype, 'hasRoom') as (this: LaneLog, bytes: number) => boolean
    let roomCount = 2
    const spy = vi.spyOn(LaneLog.prototype, 'hasRoom').mockImplementation(function (this: LaneLog, bytes) {
      if (this.files.name !== 'outcomes') return hasRoom.call(this, bytes)
      // Each outcome that finds room asks twice.
      const has = roomCount > 0 && hasRoom.call(this, bytes)
      if (has) roomCount--
      return has
    })
    onTestFinished(() => spy.mockRestore())
    await Promise.all([1, 2, 3].map(() => stage.queue.submit(submission())))
    await stage.queue.idle()
    await pause(stage, 5000)
    expect(stage.queue.consumers()).toMatchObject([{ last: 1 }])
    spy.mockRestore()
    await stage.open()
    const again = consuming(stage, { consumer: 'it', from: 1 })
    await again.until(9)
    await pause(stage, 1000)
    const accepted = again.items.filter(({ kind }) => kind === 'accepted')
    expect(new Set(accepted.map((item) => (item as QueueOutcome).id)).size).toBe(3)
    expect(shown(again.items)).toHaveLength(9)
  })
})

test('a consumer that is done with all keeps no segments', async () => {
  await simulated(async (stage) => {
    const consumer = await opened(stage)
    for (let i = 0; i < 300; i++) await stage.queue.submit(submission())
    await consumer.until(900)
    await pause(stage, 1000)
    const segments = stage.disk!.image.files().filter((path) => path.startsWith('outcomes/'))
    expect(segments.length).toBeLessThanOrEqual(2)
    await consumer.end()
    expect(await stage.queue.forgetConsumer('it')).toBe(true)
    expect(await stage.queue.forgetConsumer('it')).toBe(false)
    await stage.open()
    expect(stage.queue.consumers()).toEqual([])
    await stage.queue.submit(submission())
    await stage.queue.idle()
  })
})

test('outcomes of expired and deleted mail have its number of recipients', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    const consumer = await opened(stage)
    const one = await stage.queue.submit(submission(['a@example.net', 'b@example.net']))
    const two = await stage.queue.submit(submission())
    await stage.until('both wait', () => stage.told('deferred').length >= 3)
    await stage.queue.delete({ id: one.id })
    await stage.queue.expire({ id: two.id })
    const has = (kind: string, id: string): Item | undefined =>
      consumer.items.find((item) => item.kind !== 'gap' && item.kind === kind && item.id === id)
    await stage.until('both have ended', () =>
      has('finished', one.id) && has('finished', two.id) ? true : false,
    )
    expect(has('deleted', one.id)).toMatchObject({ recipientCount: 2 })
    expect(has('expired', two.id)).toMatchObject({ recipientCount: 1 })
  })
})

test('mail that is released, requeued or retried is accepted once', async () => {
  await simulated(async (stage) => {
    const consumer = await opened(stage)
    const { id } = await stage.queue.submit({ ...submission(), hold: true })
    await stage.until('it is on hold', async () => {
      for await (const { where } of stage.queue.list()) return where === 'hold'
      return false
    })
    await stage.queue.release({ id })
    await stage.until('it is finished', () => consumer.items.some(({ kind }) => kind === 'finished'))
    expect(consumer.items.filter(({ kind }) => kind === 'accepted')).toHaveLength(1)
  })
})

test('the iteration fails when the life ends, and ends with its signal', async () => {
  await simulated(async (stage) => {
    await stage.open()
    const one = consuming(stage, { consumer: 'one' })
    const two = consuming(stage, { consumer: 'two' })
    await known(stage, 2)
    await two.end()
    stage.queue.crash()
    expect(await codeOf(one.ended)).toBe('QUEUE_CRASHED')
  })
})

test.each(['outcomes', 'outcomeBatches'] as const)(
  'an iteration of %s that is ended while it waits is over, and its name is free',
  async (way) => {
    await simulated(async (stage) => {
      const queue = await stage.open()
      const waiting = queue[way]({ consumer: 'it' })
      const next = waiting.next()
      await known(stage)
      const over: string[] = []
      void waiting.return().then(({ done }) => over.push(`returned ${String(done)}`))
      void next.then(({ done }) => over.push(`next ${String(done)}`))
      await stage.until('it has returned', () => over.length === 2)
      expect(over).toEqual(['next true', 'returned true'])
      const again = consuming(stage)
      await queue.submit(submission())
      await again.until(1)
      expect(shown(again.items)[0]).toBe('1 accepted')
    })
  },
)

test.each([
  [{ consumer: '' }, 'OPTION_INVALID'],
  [{ consumer: 'x'.repeat(65) }, 'OPTION_INVALID'],
  [{ from: 0 }, 'OPTION_INVALID'],
  [{ signal: {} }, 'OPTION_INVALID'],
  [{ name: 'webhooks' }, 'OPTION_INVALID'],
  [{ consumer: 'it', max: 5 }, 'OPTION_INVALID'],
  [null, 'OPTION_INVALID'],
])('the request %j is %s', async (request, code) => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    expect(await codeOf(queue.outcomes(request as OutcomesRequest).next())).toBe(code)
  })
})

test('two readers of one name would share a cursor: the second is refused', async () => {
  await simulated(async (stage) => {
    await stage.open()
    consuming(stage)
    await known(stage)
    expect(await codeOf(stage.queue.outcomes({ consumer: 'it' }).next())).toBe('OPTION_INVALID')
  })
})

test('a queue whose outcomes nobody consumes has no log of them, and its records say no more', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    await queue.submit(submission('grace@example.net', mail()))
    await queue.idle()
    expect(stage.disk!.image.files().filter((path) => path.startsWith('outcomes'))).toEqual([])
    expect(queue.consumers()).toEqual([])
  })
})

test('of two that begin under one name while what another one left is copied, one reads', async () => {
  await simulated(async (stage) => {
    await stage.open()
    const other = consuming(stage, {})
    await stage.queue.submit(submission('first@example.net', mail('x')))
    await other.until(1)
    await Promise.all(many.map((recipient) => stage.queue.submit(submission(recipient, mail('x')))))
    await other.end()
    const two = [consuming(stage), consuming(stage)]
    const codes = Promise.all(two.map(({ ended }) => Promise.race([codeOf(ended), pause(stage, 1000)])))
    await known(stage)
    expect(await codes).toEqual([undefined, 'OPTION_INVALID'])
    expect(stage.queue.consumers()).toHaveLength(1)
  })
})
