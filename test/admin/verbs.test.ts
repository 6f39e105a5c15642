/** The verbs on waiting, active and held mail, on both disks, over crashes. */
import { describe, expect, test } from 'vitest'
import type { FlushOptions } from '../../src/admin/verbs/flush.js'
import type { NewRoute } from '../../src/admin/verbs/reroute.js'
import type { VerbOptions } from '../../src/admin/verbs/tally.js'
import type { Selector } from '../../src/admin/select/selector.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import {
  codeOf,
  deferred,
  delivered,
  failed,
  gate,
  mail,
  patient,
  stages,
  submission,
  type Stage,
} from '../engine/stage.js'

const all: Selector = { all: true }
const none = { messageCount: 0, recipientCount: 0, missedCount: 0, failedCount: 0 }

/** A queue with `count` deferred messages, to r0, r1, … of example.net. */
async function deferredQueue(stage: Stage, count: number): Promise<string[]> {
  stage.answer = () => deferred
  const queue = await stage.open(patient)
  const submitted = Array.from({ length: count }, (_, i) =>
    queue.submit({ ...submission(`r${i}@example.net`), sender: `s${i % 2}@example.org` }),
  )
  const ids: string[] = (await Promise.all(submitted)).map(({ id }) => id)
  await stage.until('all wait', async () => {
    const places = await where(stage)
    return places.length === count && places.every((place) => place === 'retry')
  })
  return ids
}

async function where(stage: Stage, selector: Selector = {}): Promise<string[]> {
  const places: string[] = []
  for await (const message of stage.queue.list(selector)) places.push(message.where)
  return places
}

const reports = (stage: Stage): string[] =>
  stage.attempts.filter(({ id }) => id.includes('-')).map(({ id }) => id)

describe.each(stages)('on the %s disk', (_, run) => {
  test('what is deleted is gone without a bounce, in this life and in the next', async () => {
    await run(async (stage) => {
      const ids = await deferredQueue(stage, 6)
      const result = await stage.queue.delete({ sender: 's0@example.org' })
      expect(result).toEqual({ ...none, messageCount: 3, recipientCount: 3 })
      const left = ids.filter((__, i) => i % 2 === 1).sort()
      expect(await stage.ids()).toEqual(left)
      await stage.open(patient)
      expect(await stage.ids()).toEqual(left)
      await stage.open({ retry: fixedRetry([50]) })
      expect(reports(stage)).toEqual([])
    })
  })

  test('what is expired is bounced once, with the reason of its last attempt', async () => {
    await run(async (stage) => {
      const [id] = await deferredQueue(stage, 1)
      stage.answer = (recipient) => (recipient.endsWith('.org') ? delivered : deferred)
      expect(await stage.queue.expire({ id: id! })).toEqual({ ...none, messageCount: 1, recipientCount: 1 })
      await stage.until('the report has arrived', () => reports(stage).length === 1)
      const text = stage.data.get(`${reports(stage)[0]} s0@example.org`)
      expect(text).toContain('Final-Recipient: rfc822; r0@example.net')
      expect(text).toContain('full')
      await stage.until('nothing is left', () => stage.isEmpty())
      await stage.open(patient)
      expect(await stage.ids()).toEqual([])
      expect(reports(stage)).toHaveLength(1)
    })
  })

  test('what is on hold is not attempted until it is released, whatever crashes between', async () => {
    await run(async (stage) => {
      const ids = await deferredQueue(stage, 4)
      expect(await stage.queue.hold({ recipient: 'r1@example.net' })).toMatchObject({ messageCount: 1 })
      expect(await stage.queue.hold(all)).toMatchObject({ messageCount: 3 })
      expect(await stage.queue.hold(all)).toEqual(none)
      const before = stage.attempts.length
      for (let life = 0; life < 3; life++) {
        await stage.open({ retry: fixedRetry([50]) })
        expect(await where(stage)).toEqual(['hold', 'hold', 'hold', 'hold'])
        await new Promise<void>((resolve) => stage.clock.after(100, resolve))
      }
      expect(stage.attempts).toHaveLength(before)
      stage.answer = () => delivered
      expect(await stage.queue.release({ sender: 's1@example.org' })).toMatchObject({ messageCount: 2 })
      await stage.until('they are delivered', () => stage.told('delivered').length === 2)
      expect(stage.told('delivered').sort()).toEqual(['r1@example.net', 'r3@example.net'])
      expect(stage.attempts.at(-1)).toMatchObject({ attempts: 1 })
      expect(await stage.ids()).toEqual(ids.filter((__, i) => i % 2 === 0).sort())
    })
  })

  test('what is being attempted is not released, and does not keep what is waiting', async () => {
    await run(async (stage) => {
      const queue = await stage.open({ ...patient, transports: gate().transports })
      await queue.submit(submission())
      await stage.until('it is attempted', () => queue.stats().activeCount === 1)
      expect(await queue.release(all)).toEqual(none)
      expect(await where(stage)).toEqual(['active'])
    })
  })

  test('the notes of the last attempt stay with what is put on hold', async () => {
    await run(async (stage) => {
      await deferredQueue(stage, 1)
      await stage.queue.hold(all)
      for await (const { notes, attempts } of stage.queue.list()) {
        expect(notes).toEqual([{ kind: 'deferred', status: '4.2.2', text: 'full', ranges: [0, 0] }])
        expect(attempts).toBe(1)
      }
      expect(await where(stage, { lastStatus: '4.2' })).toEqual(['hold'])
    })
  })

  test('what is requeued is as new: attempted at once, counted from none, its age from now', async () => {
    await run(async (stage) => {
      const [id] = await deferredQueue(stage, 1)
      await stage.queue.hold(all)
      await new Promise<void>((resolve) => stage.clock.after(50, resolve))
      const nowMs = stage.clock.wallMs()
      expect(await stage.queue.requeue({ lane: 'hold' })).toMatchObject({ messageCount: 1 })
      await stage.until('it is attempted', () => stage.attempts.length === 2)
      expect(stage.attempts[1]).toMatchObject({ id, attempts: 0, kind: 'deferred' })
      await stage.until('it waits', async () => (await where(stage))[0] === 'retry')
      for await (const { acceptedAt } of stage.queue.list()) expect(acceptedAt).toBeGreaterThanOrEqual(nowMs)
    })
  })

  test('reports on a message that was requeued between have different ids', async () => {
    await run(async (stage) => {
      stage.answer = (recipient) =>
        recipient.startsWith('bad') ? failed : recipient.endsWith('.org') ? delivered : deferred
      const queue = await stage.open(patient)
      await queue.submit(submission(['bad1@example.net', 'late@example.net']))
      await stage.until('it waits', async () => (await where(stage))[0] === 'retry')
      await queue.requeue({ lane: 'deferred' })
      await stage.until('it is attempted again', () => stage.told('deferred').length === 2)
      await stage.until('it waits', async () => (await where(stage)).includes('retry'))
      await queue.expire({ lane: 'deferred' })
      await stage.until('both reports have arrived', () => new Set(reports(stage)).size === 2)
      expect(reports(stage)).toHaveLength(2)
    })
  })

  test('what is flushed is attempted now, and what comes behind it in its lane is not', async () => {
    await run(async (stage) => {
      await deferredQueue(stage, 5)
      stage.answer = () => delivered
      const result = await stage.queue.flush({ sender: 's1@example.org' }, { perSecond: Infinity })
      expect(result).toMatchObject({ messageCount: 2, missedCount: 0 })
      // Durably, too: what is only told is attempted again behind a crash.
      await stage.queue.idle()
      expect(stage.told('delivered').sort()).toEqual(['r1@example.net', 'r3@example.net'])
      await stage.open(patient)
      expect(await where(stage)).toEqual(['retry', 'retry', 'retry'])
      expect(stage.told('delivered')).toHaveLength(2)
    })
  })

  test('a flush keeps its pace', async () => {
    await run(async (stage) => {
      await deferredQueue(stage, 5)
      const startedAt = stage.clock.monotonicMs()
      await stage.queue.flush(all, { perSecond: 20 })
      expect(stage.clock.monotonicMs() - startedAt).toBeGreaterThanOrEqual(4 * 50 - 5)
      await stage.until('all are attempted', () => stage.attempts.length === 10)
    })
  })

  test('what is rerouted goes there now and at later attempts, until it is requeued', async () => {
    await run(async (stage) => {
      const nexthops: string[] = []
      stage.answer = (__, { nexthop }) => {
        nexthops.push(nexthop)
        return deferred
      }
      const queue = await stage.open(patient)
      const { id } = await queue.submit(submission())
      await stage.until('it waits', async () => (await where(stage))[0] === 'retry')
      await queue.reroute({ id }, { nexthop: 'relay.example' })
      await stage.until('it waits again', async () => (await where(stage))[0] === 'retry')
      expect(await queue.reroute({ id }, { nexthop: 'relay.example' })).toEqual(none)
      await stage.open(patient)
      await stage.queue.flush({ id })
      await stage.until('it waits once more', async () => (await where(stage))[0] === 'retry')
      expect(nexthops).toEqual(['example.net', 'relay.example', 'relay.example'])
      expect(await where(stage, { nexthop: 'relay.example' })).toHaveLength(1)
      const seen = nexthops.length
      await stage.queue.requeue({ id })
      await stage.until('it goes its own way', () => nexthops.slice(seen).includes('example.net'))
    })
  })

  test('a verb on a message under way waits for the outcome of the attempt, and keeps it', async () => {
    await run(async (stage) => {
      let answer = (): void => undefined
      const asked = new Promise<void>((resolve) => (answer = resolve))
      let attempts = 0
      const queue = await stage.open({
        ...patient,
        transports: {
          out: {
            deliver: async ({ recipients }) => {
              attempts++
              await asked
              return recipients.map((recipient) => (recipient.startsWith('ok') ? delivered : deferred))
            },
          },
        },
        scheduler: {
          transports: { out: { destinationRecipientLimit: 1, initialDestinationConcurrency: 2 } },
        },
      })
      await queue.submit(
        submission(['ok1@a.test', 'late1@b.test', 'late2@b.test', 'late3@b.test', 'late4@b.test']),
      )
      await stage.until('attempts are under way', () => attempts >= 3)
      let isSettled = false
      const held = queue.hold(all).then((result) => {
        isSettled = true
        return result
      })
      await new Promise<void>((resolve) => stage.clock.after(200, resolve))
      expect(isSettled).toBe(false)
      const begun = attempts
      answer()
      expect(await held).toMatchObject({ messageCount: 1, recipientCount: 4 })
      expect(attempts).toBe(begun)
      for await (const { where: place, recipients } of queue.list()) {
        expect(place).toBe('hold')
        expect([...recipients].sort()).toEqual([
          'late1@b.test',
          'late2@b.test',
          'late3@b.test',
          'late4@b.test',
        ])
      }
    })
  })

  test('large data is gone with the message that is deleted, and stays with one that is held', async () => {
    await run(
      async (stage) => {
        stage.answer = () => deferred
        const queue = await stage.open(patient)
        const large = mail('x'.repeat(70).concat('\r\n').repeat(60))
        await queue.submit({ ...submission('a@example.net', large), sender: 'one@example.org' })
        await queue.submit({ ...submission('b@example.net', large), sender: 'two@example.org' })
        await stage.until('both wait', async () => (await where(stage)).join() === 'retry,retry')
        expect(await stage.spoolFiles()).toHaveLength(2)
        await queue.delete({ sender: 'one@example.org' })
        await stage.until('its file is gone', async () => (await stage.spoolFiles()).length === 1)
        await queue.hold({ sender: 'two@example.org' })
        await stage.open(patient)
        stage.answer = () => delivered
        await stage.queue.release({ lane: 'hold' })
        await stage.until('it is delivered', () => stage.told('delivered').length === 1)
        expect([...stage.data.values()].at(-1)).toBe(large)
        await stage.until('its file is gone', async () => (await stage.spoolFiles()).length === 0)
      },
      { queue: { inlineBytesMax: 1024 } },
    )
  })

  test('a life that delivers nothing carries out verbs on what was being worked on', async () => {
    await run(async (stage) => {
      const never = { out: { deliver: () => new Promise<never>(() => undefined) } }
      const queue = await stage.open({ ...patient, transports: never })
      for (const name of ['a', 'b', 'c', 'd'])
        await queue.submit({ ...submission(), sender: `${name}@example.org` })
      await stage.until('all are active', () => queue.stats().activeCount === 4)
      const idle = await stage.open({ ...patient, deliver: false })
      expect(await idle.hold({ sender: 'a@example.org' })).toMatchObject({ messageCount: 1 })
      expect(await idle.delete({ sender: 'b@example.org' })).toMatchObject({ messageCount: 1 })
      expect(await idle.expire({ sender: 'c@example.org' })).toMatchObject({ messageCount: 1 })
      stage.answer = (recipient) => (recipient === 'a@example.org' ? failed : delivered)
      await stage.open(patient)
      await stage.until('two are delivered', () => stage.told('delivered').length === 2)
      expect(stage.told('delivered').sort()).toEqual(['c@example.org', 'grace@example.net'])
      expect(await where(stage)).toEqual(['hold'])
    })
  })

  test('what is deferred is flushed by a life that delivers nothing for the one that comes', async () => {
    await run(async (stage) => {
      await deferredQueue(stage, 3)
      stage.answer = () => delivered
      const idle = await stage.open({ ...patient, deliver: false })
      expect(await idle.flush({ sender: 's0@example.org' })).toMatchObject({ messageCount: 2 })
      await stage.open(patient)
      await stage.until('they are delivered', () => stage.told('delivered').length === 2)
      expect(await where(stage)).toEqual(['retry'])
    })
  })

  test('hundreds are held, compacted away by release and deleted, counted exactly', async () => {
    await run(async (stage) => {
      await deferredQueue(stage, 700)
      expect(await stage.queue.hold(all)).toEqual({ ...none, messageCount: 700, recipientCount: 700 })
      await stage.open(patient)
      expect(await where(stage)).toHaveLength(700)
      expect(await stage.queue.delete({ sender: 's0@example.org' })).toMatchObject({ messageCount: 350 })
      stage.answer = () => delivered
      expect(await stage.queue.release(all)).toMatchObject({ messageCount: 350, missedCount: 0 })
      await stage.until('all are delivered', () => stage.told('delivered').length === 350)
      await stage.until('nothing is left', () => stage.isEmpty())
      await stage.until('the lanes shrink', () =>
        stage.queue.stats().lanes.every(({ segmentCount }) => segmentCount <= 4),
      )
    })
  })
})

test('in one log the verbs do the same', async () => {
  const [, simulated] = stages[0]!
  await simulated(
    async (stage) => {
      await deferredQueue(stage, 6)
      expect(await stage.queue.hold({ recipient: 'r0@example.net' })).toMatchObject({ messageCount: 1 })
      expect(await stage.queue.delete({ recipient: 'r1@example.net' })).toMatchObject({ messageCount: 1 })
      stage.answer = () => delivered
      expect(await stage.queue.flush({ recipient: 'r2@example.net' })).toMatchObject({ messageCount: 1 })
      expect(await stage.queue.requeue({ recipient: 'r3@example.net' })).toMatchObject({ messageCount: 1 })
      await stage.until('they are delivered', async () => (await where(stage)).length === 3)
      await stage.open({ ...patient, layout: 'single' })
      expect((await where(stage)).sort()).toEqual(['hold', 'retry', 'retry'])
      expect(await stage.queue.release(all)).toMatchObject({ messageCount: 1 })
      await stage.until('it is delivered', () => stage.told('delivered').length === 3)
    },
    { queue: { layout: 'single' } },
  )
})

test('a verb without a selection, an unknown transport and a pace of nothing are refused', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    const queue = await stage.open()
    expect(await codeOf(queue.delete({}))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.delete({ sendr: 'x' } as Selector))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.delete({ id: undefined } as unknown as Selector))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.delete({ all: false } as unknown as Selector))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.reroute(all, { transport: 'none', nexthop: 'x' }))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.reroute(all, { nexthop: '' }))).toBe('OPTION_INVALID')
    // A restart would make another name of it.
    expect(await codeOf(queue.reroute(all, { nexthop: 'a\ud800.example' }))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.flush(all, { perSecond: 0 }))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.flush(all, { rate: 5 } as FlushOptions))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.reroute(all, { nexthop: 'x', host: 'y' } as NewRoute))).toBe('OPTION_INVALID')
    const typo = { singal: AbortSignal.abort() } as VerbOptions
    for (const verb of ['hold', 'release', 'requeue', 'delete', 'expire', 'flush'] as const)
      expect([verb, await codeOf(queue[verb](all, typo))]).toEqual([verb, 'OPTION_INVALID'])
    expect(await codeOf(queue.reroute(all, { nexthop: 'x' }, typo))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.list({}, typo)[Symbol.asyncIterator]().next())).toBe('OPTION_INVALID')
    const signal = new AbortController() as unknown as AbortSignal
    expect(await codeOf(queue.hold(all, { signal }))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.flush(all, { signal }))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.list({}, { signal })[Symbol.asyncIterator]().next())).toBe('OPTION_INVALID')
    const none = null as never
    expect(await codeOf(queue.list(none)[Symbol.asyncIterator]().next())).toBe('OPTION_INVALID')
    expect(await codeOf(queue.list({}, none)[Symbol.asyncIterator]().next())).toBe('OPTION_INVALID')
    expect(await codeOf(queue.hold(all, none))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.reroute(all, none))).toBe('OPTION_INVALID')
  })
})

test('what goes to a nexthop by one transport can be sent there by another', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    const went: string[] = []
    const deferring = (name: string) => ({
      deliver: async () => {
        went.push(name)
        return deferred
      },
    })
    const queue = await stage.open({
      ...patient,
      transports: { out: deferring('out'), other: deferring('other') },
    })
    await queue.submit(submission())
    for (const transport of ['out', 'other']) {
      const before = went.length
      expect(await queue.reroute(all, { transport, nexthop: 'relay.example' })).toMatchObject({
        messageCount: 1,
      })
      await stage.until('it is attempted', () => went.length > before)
      await stage.until('it waits', async () => (await where(stage))[0] === 'retry')
    }
    expect(went.slice(-2)).toEqual(['out', 'other'])
  })
})

test('a life that delivers nothing reroutes to transports that it does not have, for one that has', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    await deferredQueue(stage, 1)
    const idle = await stage.open({ ...patient, transports: {}, deliver: false })
    const route = { transport: 'other', nexthop: 'relay.example' }
    expect(await idle.reroute(all, route)).toMatchObject({ messageCount: 1 })
    const went: string[] = []
    const other = {
      deliver: async ({ nexthop }: { readonly nexthop: string }) => {
        went.push(nexthop)
        return delivered
      },
    }
    await stage.open({ ...patient, transports: { other } })
    await stage.until('it has gone there', () => stage.isEmpty())
    expect(went).toEqual(['relay.example'])
  })
})

test('a nexthop has 255 bytes, and a transport a name of its own', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    const queue = await stage.open()
    const none = { id: 'none' }
    expect(await codeOf(queue.reroute(none, { nexthop: 'x'.repeat(255) }))).toBe('accepted')
    expect(await codeOf(queue.reroute(none, { nexthop: 'x'.repeat(256) }))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.reroute(none, { transport: 'toString', nexthop: 'x' }))).toBe('OPTION_INVALID')
  })
})

test.each([
  { sender: undefined },
  { lane: 'deferred', recipient: undefined },
  { id: undefined },
  { olderThan: null },
  { olderThan: '0' },
  { all: false },
  { all: undefined },
])('%o means no message, and certainly not every one', async (selector) => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    await deferredQueue(stage, 3)
    const { queue } = stage
    const wrong = selector as unknown as Selector
    for (const verb of ['hold', 'release', 'requeue', 'delete', 'expire', 'flush'] as const)
      expect(await codeOf(queue[verb](wrong))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.reroute(wrong, { nexthop: 'x' }))).toBe('OPTION_INVALID')
    expect(await codeOf(queue.list(wrong)[Symbol.asyncIterator]().next())).toBe('OPTION_INVALID')
    expect(await where(stage)).toHaveLength(3)
  })
})

test('a verb that is aborted says so, and what it did stays done', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    await deferredQueue(stage, 5)
    const abort = new AbortController()
    let doneCount = 0
    const flushed = stage.queue.flush(all, {
      perSecond: 1,
      signal: abort.signal,
      onProgress: ({ messageCount }) => {
        doneCount = messageCount
        if (messageCount === 2) abort.abort()
      },
    })
    expect(await codeOf(flushed)).toBe('VERB_ABORTED')
    expect(doneCount).toBe(2)
    await stage.until('two more attempts were made', () => stage.attempts.length === 7)
  })
})

test('a verb tells how far it has come while there is more to do', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    await deferredQueue(stage, 700)
    const told: number[] = []
    await stage.queue.hold(all, { onProgress: ({ messageCount }) => told.push(messageCount) })
    expect(told.filter((count) => count > 0 && count < 700)).not.toEqual([])
    expect(told.at(-1)).toBe(700)
  })
})

test('a listener of progress that throws ends no verb', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    await deferredQueue(stage, 3)
    const onProgress = (): never => {
      throw new Error('of the listener')
    }
    expect(await stage.queue.hold(all, { onProgress })).toMatchObject({ messageCount: 3 })
  })
})

test('a verb that was aborted does nothing, and one that is aborted stops though nothing matches', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    await deferredQueue(stage, 3)
    const { queue } = stage
    const signal = AbortSignal.abort()
    expect(await codeOf(queue.hold(all, { signal }))).toBe('VERB_ABORTED')
    expect(await where(stage)).toEqual(['retry', 'retry', 'retry'])
    expect(await codeOf(queue.delete({ sender: 'nobody@example.org' }, { signal }))).toBe('VERB_ABORTED')
    expect(await codeOf(queue.flush({ sender: 'nobody@example.org' }, { signal }))).toBe('VERB_ABORTED')
    const abort = new AbortController()
    const searched = codeOf(queue.delete({ recipient: 'nobody@example.net' }, { signal: abort.signal }))
    abort.abort()
    expect(await searched).toBe('VERB_ABORTED')
  })
})

test('a flush that is aborted while it waits for its pace stops at once', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    await deferredQueue(stage, 3)
    const abort = new AbortController()
    const startedAt = stage.clock.monotonicMs()
    const flushed = codeOf(stage.queue.flush(all, { perSecond: 0.001, signal: abort.signal }))
    await stage.until('the first one was attempted', () => stage.attempts.length === 4)
    abort.abort()
    expect(await flushed).toBe('VERB_ABORTED')
    expect(stage.clock.monotonicMs() - startedAt).toBeLessThan(100_000)
  })
})

test('a verb that is aborted while it waits for an attempt stops at once, and its order is carried out', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    const { open, transports } = gate()
    const queue = await stage.open({ ...patient, transports })
    await queue.submit(submission())
    await stage.until('it is attempted', () => queue.stats().activeCount === 1)
    const abort = new AbortController()
    const held = codeOf(queue.expire(all, { signal: abort.signal }))
    await new Promise<void>((resolve) => stage.clock.after(1000, resolve))
    const abortedAt = stage.clock.monotonicMs()
    abort.abort()
    expect(await held).toBe('VERB_ABORTED')
    expect(stage.clock.monotonicMs() - abortedAt).toBeLessThan(100_000)
    open()
    await stage.until('it has ended', () => stage.isEmpty())
  })
})

test('a flush that is aborted while it waits for room stops at once, and starts nothing when there is room', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    await deferredQueue(stage, 3)
    const { open, transports } = gate()
    const queue = await stage.open({ ...patient, transports, activeCountMax: 1 })
    const abort = new AbortController()
    const flushed = codeOf(queue.flush(all, { perSecond: Infinity, signal: abort.signal }))
    await stage.until('one is attempted', () => queue.stats().activeCount === 1)
    const abortedAt = stage.clock.monotonicMs()
    abort.abort()
    expect(await flushed).toBe('VERB_ABORTED')
    expect(stage.clock.monotonicMs() - abortedAt).toBeLessThan(100_000)
    open()
    await stage.until('the one is delivered', () => queue.stats().activeCount === 0)
    await queue.idle()
    expect(await where(stage)).toEqual(['retry', 'retry'])
  })
})

test('a verb that a crash ends rejects, and nothing stays half done', async () => {
  const [, simulated] = stages[0]!
  await simulated(async (stage) => {
    const ids = await deferredQueue(stage, 3)
    const held = codeOf(stage.queue.hold(all))
    stage.queue.crash()
    expect(await held).toBe('QUEUE_CRASHED')
    await stage.open(patient)
    expect(await stage.ids()).toEqual(ids.sort())
    expect(await stage.queue.hold(all)).toMatchObject({ missedCount: 0 })
    expect(new Set(await where(stage))).toEqual(new Set(['hold']))
  })
})
