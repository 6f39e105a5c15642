/** The life of messages through deliveries, retries, reports and crashes, on both disks. */
import { describe, expect, test } from 'vitest'
import type { DeliveryRequest, Outcome } from '../../src/delivery/transport.js'
import type { QueueEvents } from '../../src/engine/life/events.js'
import {
  codeOf,
  deferred,
  delivered,
  gate,
  failed,
  mail,
  simulated,
  stages,
  submission,
  type Stage,
} from './stage.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { postfixRetry } from '../../src/policy/postfix-retry.js'
import { zmailerPolicy } from '../../src/policy/zmailer-policy.js'
import type { Route } from '../../src/engine/life/options.js'
import type { ListedMessage } from '../../src/admin/select/listing.js'
import type { Selector } from '../../src/admin/select/selector.js'

const throwing = (what: unknown): never => {
  throw what
}
const isReport = (id: string): boolean => id.includes('-')
const reportsIn = (stage: Stage): string[] => [
  ...new Set(stage.attempts.filter(({ id }) => isReport(id)).map(({ id }) => id)),
]
const ordinary = (stage: Stage): typeof stage.attempts => stage.attempts.filter(({ id }) => !isReport(id))

describe.each(stages)('on the %s disk', (_, run) => {
  test('a message that is deferred twice is delivered at its third attempt, once', async () => {
    await run(async (stage) => {
      stage.answer = (_recipient, { attempts }) => (attempts < 2 ? deferred : delivered)
      const queue = await stage.open()
      const { id } = await queue.submit(submission())
      await stage.until('it is delivered', () => stage.told('delivered').length > 0)
      expect(stage.attempts.map(({ kind, attempts }) => [kind, attempts])).toEqual([
        ['deferred', 0],
        ['deferred', 1],
        ['delivered', 2],
      ])
      expect(stage.data.get(`${id} grace@example.net`)).toBe(mail())
      await stage.until('nothing is left', () => stage.isEmpty())
    })
  })

  test('what was deferred waits for its interval, over a crash as well', async () => {
    await run(async (stage) => {
      stage.answer = () => deferred
      const retry = fixedRetry([400])
      const queue = await stage.open({ retry })
      await queue.submit(submission())
      await stage.until('it is deferred', () => stage.attempts.length === 1)
      const deferredAt = stage.clock.monotonicMs()
      // Not by a listing: where timers overtake the disk, that waits longer.
      await queue.idle()
      await stage.open({ retry })
      await stage.until('it is tried again', () => stage.attempts.length === 2)
      expect(stage.clock.monotonicMs() - deferredAt).toBeGreaterThanOrEqual(390)
      expect(stage.clock.monotonicMs() - deferredAt).toBeLessThan(2000)
    })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('a bug')
      },
    ],
    ['answers no delay', () => ({ kind: 'retry', delayMs: NaN }) as const],
    ['answers nothing', () => undefined as never],
    ['answers later, that it failed', (async () => throwing(new Error('a bug'))) as () => never],
  ])(
    'a retry policy that %s is told, and the message is kept for a life with a better one',
    async (_, decide) => {
      await run(async (stage) => {
        stage.answer = () => deferred
        const queue = await stage.open({ retry: { ...fixedRetry([50]), decide } })
        const { id } = await queue.submit(submission())
        await stage.until('the policy is told', () => stage.warnings.includes('POLICY_INVALID'))
        expect(stage.crashes).toEqual([])
        expect(await stage.ids()).toEqual([id])
        stage.answer = () => delivered
        await stage.open({ retry: fixedRetry([50]) })
        await stage.until('it is delivered', () => stage.told('delivered').length === 1)
      })
    },
  )

  test('a recipient that failed is reported to the sender, once, with the reason', async () => {
    await run(async (stage) => {
      stage.answer = (recipient) => (recipient === 'nobody@example.net' ? failed : delivered)
      const queue = await stage.open()
      const { id } = await queue.submit(submission(['grace@example.net', 'nobody@example.net']))
      await stage.until('the report is delivered', () => stage.told('delivered').includes('ada@example.org'))
      const report = stage.data.get(`${id}-1 ada@example.org`)!
      expect(report).toContain('Final-Recipient: rfc822; nobody@example.net')
      expect(report).toContain('Status: 5.1.1')
      expect(report).not.toContain('grace@example.net\r\nAction')
      // The crash may come before the delivery of the report is settled, and repeat that.
      const reportCount = (): number => stage.attempts.filter((attempt) => isReport(attempt.id)).length
      await stage.open()
      await stage.until('nothing is left', () => stage.isEmpty())
      const settledCount = reportCount()
      for (let life = 0; life < 2; life++) {
        await stage.open()
        await stage.until('nothing is left', () => stage.isEmpty())
      }
      expect(reportsIn(stage)).toEqual([`${id}-1`])
      expect(reportCount()).toBe(settledCount)
    })
  })

  test('nothing is ever reported to the null sender, nor about a report', async () => {
    await run(async (stage) => {
      stage.answer = () => failed
      const queue = await stage.open()
      await queue.submit({ ...submission(), sender: '' })
      await queue.submit(submission())
      await stage.until('nothing is left', async () => stage.attempts.length >= 3 && (await stage.isEmpty()))
      expect(reportsIn(stage)).toHaveLength(1)
      expect(stage.attempts).toHaveLength(3)
    })
  })

  test('a message that grows too old is returned, with its last reason', async () => {
    await run(async (stage) => {
      stage.answer = (recipient) => (recipient === 'ada@example.org' ? delivered : deferred)
      const queue = await stage.open({ retry: fixedRetry([50, 100], 200) })
      const { id } = await queue.submit(submission())
      await stage.until('the report is delivered', () => stage.told('delivered').length === 1)
      const [report] = reportsIn(stage)
      expect(report).toMatch(new RegExp(`^${id}-[2-9]$`))
      const text = stage.data.get(`${report} ada@example.org`)!
      expect(text).toContain('Status: 5.4.7')
      expect(text).toContain('full')
      await stage.until('nothing is left', () => stage.isEmpty())
    })
  })

  test('what a route says beside its transport and its nexthop changes nothing', async () => {
    await run(async (stage) => {
      stage.answer = (_recipient, { attempts }) => (attempts === 0 ? deferred : delivered)
      const beside = { message: 'by the table', nowMs: NaN }
      const queue = await stage.open({ route: () => ({ transport: 'out', nexthop: 'x', ...beside }) })
      await queue.submit(submission())
      await stage.until('it is delivered', () => stage.told('delivered').length === 1)
      expect(stage.crashes).toEqual([])
    })
  })

  test.each([
    ['nothing', ['ROUTE_DEFECT'], () => undefined],
    ['a promise', ['ROUTE_DEFECT'], async () => ({ transport: 'out', nexthop: 'x' })],
    ['a promise that rejects', ['ROUTE_DEFECT'], async () => throwing(new Error('the database is down'))],
    ['a list of one name', ['ROUTE_DEFECT'], () => ({ transport: ['out'], nexthop: 'x' })],
    ['of no transport', ['ROUTE_DEFECT'], () => ({ transport: 'uot', nexthop: 'x' })],
    ['no nexthop', ['ROUTE_DEFECT'], () => ({ transport: 'out' })],
    ['an error that cannot be read', [], () => throwing(Object.create(null))],
    [
      'an error whose message is no text',
      [],
      () => throwing(Object.assign(new Error(), { message: Symbol('m') })),
    ],
  ])(
    'a recipient whose route is %s waits, by the policy',
    async (_name, warnings: string[], answered: () => unknown) => {
      await run(async (stage) => {
        let answer = answered
        const route = (): Route => answer() as Route
        const retry = zmailerPolicy('*/* interval=1s retries="1"')
        const queue = await stage.open({ route, retry })
        const texts: string[] = []
        queue.on('deferred', ({ text }) => texts.push(text))
        await queue.submit(submission())
        await stage.until('it waits', () => texts.length === 1)
        expect(texts[0]).toMatch(/^no route: /)
        answer = () => ({ transport: 'out', nexthop: 'x' })
        await stage.until('it is delivered', () => stage.told('delivered').length === 1)
        expect([stage.crashes, stage.warnings]).toEqual([[], warnings])
      })
    },
  )

  test('the sender is told once that a message is late, and it is still delivered', async () => {
    await run(async (stage) => {
      const retry = postfixRetry({
        minimalBackoffTimeMs: 250,
        maximalBackoffTimeMs: 250,
        delayWarningTimeMs: 1000,
        jitter: 0,
      })
      stage.answer = (recipient, { attempts }) =>
        recipient === 'ada@example.org' || attempts > 5 ? delivered : deferred
      const queue = await stage.open({ retry })
      const actions: string[] = []
      queue.on('reported', ({ action }) => actions.push(action))
      const { id } = await queue.submit(submission())
      await stage.until('both are delivered', () => stage.told('delivered').length === 2)
      expect(reportsIn(stage)).toHaveLength(1)
      expect(actions).toEqual(['delayed'])
      // Not at the first deferral: it was young then.
      expect(reportsIn(stage)[0]).toMatch(/-[2-9]$/)
      expect(stage.data.get(`${reportsIn(stage)[0]} ada@example.org`)).toContain('Action: delayed')
      expect(stage.data.get(`${id} grace@example.net`)).toBe(mail())
    })
  })

  test('a message of 2500 recipients with mixed outcomes gives each exactly one, over several lives', async () => {
    await run(
      async (stage) => {
        const recipients = Array.from({ length: 2500 }, (_recipient, i) => `r${i}@d${i % 7}.example.net`)
        const numberOf = (recipient: string): number => Number(/^r([0-9]+)@/.exec(recipient)?.[1])
        stage.answer = (recipient, { attempts }) => {
          const i = numberOf(recipient)
          if (recipient === 'ada@example.org' || i % 3 === 0) return delivered
          if (i % 3 === 1)
            return attempts < 2 + (i % 2) ? { ...deferred, reason: `full ${i % 5}` } : delivered
          return i % 2 === 0 ? failed : attempts < 1 ? deferred : failed
        }
        await (await stage.open()).submit(submission(recipients, mail('z'.repeat(500))))
        for (let life = 0; life < 4; life++) {
          const before = stage.attempts.length
          await stage.until('some attempts are made', () => stage.attempts.length > before + 300)
          await stage.open()
        }
        await stage.until('nothing is left', () => stage.isEmpty(), 60_000)
        const final = new Map<string, number>()
        for (const { recipient, kind, id } of stage.attempts)
          if (!isReport(id) && kind !== 'deferred') final.set(recipient, (final.get(recipient) ?? 0) + 1)
        expect(final.size).toBe(2500)
        // A crash repeats only outcomes that were not durable: few, and never lost.
        const repeated = [...final.values()].filter((count) => count > 1).length
        expect(repeated).toBeLessThan(2500)
        const reported = reportsIn(stage).map((id) => stage.data.get(`${id} ada@example.org`)!)
        const named = reported.flatMap((text) =>
          [...text.matchAll(/^Final-Recipient: rfc822; (\S+)/gm)].map(([, name]) => name!),
        )
        const failures = [...final.keys()].filter((recipient) => numberOf(recipient) % 3 === 2)
        expect(new Set(named).size).toBe(named.length)
        // A report names at most a thousand; failures here are fewer in each.
        expect(named.toSorted()).toEqual(failures.toSorted())
      },
      { queue: { segmentBytes: 64 * 4096, laneSegmentBytes: 64 * 4096 } },
    )
  }, 120_000)

  test('events tell the story of a message in order', async () => {
    await run(async (stage) => {
      stage.answer = (recipient, { attempts }) =>
        recipient === 'nobody@example.net'
          ? failed
          : attempts < 1 && recipient !== 'ada@example.org'
            ? deferred
            : delivered
      const queue = await stage.open()
      const told: string[] = []
      const names = [
        'accepted',
        'delivered',
        'deferred',
        'failed',
        'requeued',
        'reported',
        'finished',
      ] as const
      for (const name of names)
        queue.on(name, (event: QueueEvents[typeof name][0]) =>
          told.push(`${name}${isReport(event.id) ? ' report' : ''}`),
        )
      await queue.submit(submission(['grace@example.net', 'nobody@example.net']))
      await stage.until(
        'both are finished',
        () => told.filter((name) => name.startsWith('finished')).length === 2,
      )
      expect(told.filter((name) => !name.endsWith('report'))).toEqual(
        expect.arrayContaining([
          'accepted',
          'deferred',
          'failed',
          'reported',
          'requeued',
          'delivered',
          'finished',
        ]),
      )
      expect(told[0]).toBe('accepted')
      expect(told.indexOf('requeued')).toBeGreaterThan(told.indexOf('deferred'))
      expect(told.lastIndexOf('finished')).toBeGreaterThan(told.indexOf('delivered'))
    })
  })

  test('a queue that has crashed refuses everything with QUEUE_CRASHED, and crashing twice is once', async () => {
    await run(async (stage) => {
      const queue = await stage.open()
      const pending = codeOf(queue.submit(submission()))
      queue.crash()
      queue.crash()
      expect(await pending).toBe('QUEUE_CRASHED')
      expect(await codeOf(queue.submit(submission()))).toBe('QUEUE_CRASHED')
      expect(await codeOf(queue.list()[Symbol.asyncIterator]().next())).toBe('QUEUE_CRASHED')
      expect(stage.crashes).toEqual([undefined])
    })
  })

  test('disposing of a queue is a crash, and what was accepted is there afterwards', async () => {
    await run(async (stage) => {
      const { transports } = gate()
      let id = ''
      {
        const queue = await stage.open({ transports })
        id = (await queue.submit(submission())).id
        await queue[Symbol.asyncDispose]()
      }
      expect(await codeOf(stage.queue.submit(submission()))).toBe('QUEUE_CRASHED')
      await stage.open({ transports })
      expect(await stage.ids()).toEqual([id])
    })
  })

  test('what was settled is there after a crash at once, with every recipient and byte', async () => {
    await run(async (stage) => {
      const { transports } = gate()
      await stage.open({ transports })
      const ids: string[] = []
      for (let i = 0; i < 30; i++) {
        const recipients = [`a${i}@example.net`, `b${i}@example.org`]
        ids.push((await stage.queue.submit(submission(recipients, mail(`${i}`)))).id)
        if (i % 10 === 9) await stage.open({ transports })
      }
      expect(await stage.ids()).toEqual(ids.toSorted())
      await stage.open()
      await stage.until('all are delivered', () => stage.told('delivered').length >= 60)
      for (const [i, id] of ids.entries())
        expect(stage.data.get(`${id} a${i}@example.net`)).toBe(mail(`${i}`))
      await stage.until('nothing is left', () => stage.isEmpty())
    })
  })

  test('messages with large data keep it through retries and crashes, and their file goes when they do', async () => {
    await run(async (stage) => {
      const text = mail('w'.repeat(70).concat('\r\n').repeat(1000))
      stage.answer = (_recipient, { attempts }) => (attempts < 2 ? deferred : delivered)
      await stage.open()
      const { id } = await stage.queue.submit(submission('grace@example.net', text))
      await stage.until('it was deferred', () => stage.attempts.length > 0)
      expect(await stage.spoolFiles()).toHaveLength(1)
      await stage.open()
      await stage.until('it is delivered', () => stage.told('delivered').length > 0)
      expect(stage.data.get(`${id} grace@example.net`)).toBe(text)
      await stage.until('its file is gone', async () => (await stage.spoolFiles()).length === 0)
      await stage.until('nothing is left', () => stage.isEmpty())
      await stage.open()
      await stage.until('nothing is left', () => stage.isEmpty())
    })
  })

  test('a transport that takes the recipients out of its request takes none out of the message', async () => {
    await run(async (stage) => {
      const taken: string[] = []
      const deliver = (request: DeliveryRequest): Outcome => {
        taken.push((request.recipients as string[]).pop()!)
        return taken.length === 1 ? deferred : delivered
      }
      await stage.open({ transports: { out: { deliver } } })
      await stage.queue.submit(submission())
      await stage.until('it was tried again', () => taken.length === 2)
      expect(taken).toEqual(['grace@example.net', 'grace@example.net'])
      expect(stage.crashes).toEqual([])
    })
  })

  test('large data is streamed to a transport in pieces, and the report on it has its header', async () => {
    await run(async (stage) => {
      const text = mail('w'.repeat(70).concat('\r\n').repeat(10_000))
      const lengths: number[] = []
      let streamed = ''
      let reported = ''
      const read = async (request: DeliveryRequest): Promise<Outcome> => {
        if (request.sender === '') {
          for await (const piece of request.stream() as AsyncIterable<Buffer>) reported += piece.toString()
          return delivered
        }
        for await (const piece of request.stream() as AsyncIterable<Buffer>) {
          lengths.push(piece.length)
          streamed += piece.toString('latin1')
        }
        return failed
      }
      await stage.open({ transports: { out: { deliver: (request) => read(request) } } })
      await stage.queue.submit(submission('grace@example.net', text))
      await stage.until('it is reported', () => reported !== '')
      expect(streamed).toBe(text)
      expect(Math.max(...lengths)).toBe(256 * 1024)
      expect(reported).toContain('Subject: test')
    })
  })

  test('a failure is reported once although its replacement is not believed after the crash', async () => {
    await run(
      async (stage) => {
        stage.answer = (recipient) =>
          recipient === 'nobody@example.net' ? failed : recipient === 'ada@example.org' ? delivered : deferred
        // The replacement is not trusted before the crash.
        const slow = { checkpointIntervalMs: 3_600_000, retry: fixedRetry([3_600_000]) }
        const queue = await stage.open(slow)
        const { id } = await queue.submit(submission(['grace@example.net', 'nobody@example.net']))
        await stage.until('the report is delivered', () => stage.told('delivered').length === 1)
        await stage.until('what happened is durable', () => queue.stats().journal.stagedBytes === 0)
        await stage.open()
        await stage.until(
          'the message waits again',
          async () => (await listed(stage, { id }))[0]?.where === 'retry',
        )
        await new Promise<void>((resolve) => stage.clock.after(150, resolve))
        // A second report would have the same id, and arrive twice.
        expect(stage.told('delivered')).toEqual(['ada@example.org'])
        expect(stage.told('failed')).toEqual(['nobody@example.net'])
        // A seed in which no timer overtakes the recovery: an hour would pass.
      },
      { seed: 3 },
    )
  })
})

async function listed(stage: Stage, selector?: Selector): Promise<ListedMessage[]> {
  const messages: ListedMessage[] = []
  for await (const message of stage.queue.list(selector)) messages.push(message)
  return messages
}

test('messages that are deferred together are tried again in the order in which they were accepted', async () => {
  // Reads come back in order here; on a disk that answers as it likes, messages whose data is read
  // at the same time overtake each other.
  await simulated(async (stage) => {
    stage.answer = (_recipient, { attempts }) => (attempts < 2 ? deferred : delivered)
    const queue = await stage.open()
    const tickets = await Promise.all(Array.from({ length: 60 }, () => queue.submit(submission())))
    await stage.until('all are delivered', () => stage.told('delivered').length === tickets.length)
    const triedAt = (round: number): string[] =>
      stage.attempts.filter(({ attempts }) => attempts === round).map(({ id }) => id)
    const accepted = tickets.map(({ id }) => id)
    expect([triedAt(0), triedAt(1), triedAt(2)]).toEqual([accepted, accepted, accepted])
  })
})

test('a listing finds messages by id, sender, recipient, nexthop, lane, age and last status', async () => {
  await simulated(
    async (stage) => {
      stage.answer = (recipient) =>
        recipient.startsWith('slow') ? { ...deferred, status: '4.4.1' } : deferred
      const retry = fixedRetry([86_400_000])
      const queue = await stage.open({ retry })
      const old = await queue.submit(submission('slow@example.net'))
      await new Promise<void>((resolve) => stage.clock.after(10_000_000, resolve))
      const young = await queue.submit({
        ...submission(['full@example.org', 'too@example.net']),
        sender: 'eve@example.org',
      })
      await stage.until('both wait', async () => (await listed(stage, { lane: 'deferred' })).length === 2)
      const found = async (selector: Selector): Promise<string[]> =>
        (await listed(stage, selector)).map(({ id }) => id).sort()
      const both = [old.id, young.id].sort()
      expect(await found({})).toEqual(both)
      expect(await found({ id: old.id })).toEqual([old.id])
      expect(await found({ sender: 'eve@example.org' })).toEqual([young.id])
      expect(await found({ recipient: 'too@example.net' })).toEqual([young.id])
      expect(await found({ domain: 'Example.ORG.' })).toEqual([young.id])
      expect(await found({ domain: 'example.net', recipient: 'too@example.net' })).toEqual([young.id])
      expect(await found({ domain: 'ample.net' })).toEqual([])
      expect(await found({ nexthop: 'example.org' })).toEqual([young.id])
      expect(await found({ nexthop: 'example.net' })).toEqual(both)
      expect(await found({ lane: 2 })).toEqual(both)
      expect(await found({ lane: 'incoming' })).toEqual([])
      expect(await found({ lane: 'active' })).toEqual([])
      expect(await found({ lane: 'hold' })).toEqual([])
      expect(await found({ olderThan: 5_000_000 })).toEqual([old.id])
      expect(await found({ lastStatus: '4.4' })).toEqual([old.id])
      expect(await found({ lastStatus: '4.2.2', recipient: 'full@example.org' })).toEqual([young.id])
      await expect(found({ receiver: 'x' } as Selector)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        place: { option: 'selector.receiver' },
      })
      const [message] = await listed(stage, { id: old.id })
      expect(message).toMatchObject({
        where: 'retry',
        lane: 2,
        attempts: 1,
        recipientCount: 1,
        sender: 'ada@example.org',
      })
      expect(message!.dueAt).toBeGreaterThan(stage.clock.wallMs())
      // A seed in which no timer overtakes the second submission: a day would pass before it is
      // durable.
    },
    { seed: 1 },
  )
})

test('a listing during recovery misses nothing', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    const { id } = await (await stage.open()).submit(submission())
    await stage.until('it is active', () => stage.attempts.length > 0)
    await stage.open()
    expect((await listed(stage)).map((message) => message.id)).toEqual([id])
  })
})

test('a message that recoveries find again and again without progress is put on hold', async () => {
  await simulated(
    async (stage) => {
      stage.answer = () => delivered
      const never = {
        transports: { out: { deliver: () => new Promise<never>(() => undefined) } },
        fruitlessRecoveriesMax: 3,
      }
      const queue = await stage.open(never)
      const { id } = await queue.submit(submission())
      await stage.until('it is active', async () => (await listed(stage, { lane: 'active' })).length === 1)
      const places: string[] = []
      for (let life = 0; life < 9 && places.at(-1) !== 'hold'; life++) {
        await stage.open(never)
        await stage.until('recovery ends', () => !stage.queue.stats().recovering)
        // The second recovery in a row makes it wait for its turn.
        await new Promise<void>((resolve) => stage.clock.after(2500, resolve))
        places.push((await listed(stage)).map(({ where }) => where).join())
      }
      expect(places.slice(0, 3)).toEqual(['active', 'active', 'active'])
      expect(places.at(-1)).toBe('hold')
      // The first start may be lost with its life, which does not count then.
      expect(places.length).toBeLessThanOrEqual(5)
      const [held] = await listed(stage)
      expect(held).toMatchObject({ id, where: 'hold', dueAt: Infinity })
      await stage.open()
      await new Promise<void>((resolve) => stage.clock.after(5000, resolve))
      expect((await listed(stage)).map(({ where }) => where)).toEqual(['hold'])
      expect(stage.attempts).toEqual([])
    },
    { seed: 1 },
  )
})

test('100 001 recipients are too many, 100 000 are one message', async () => {
  await simulated(
    async (stage) => {
      const queue = await stage.open({
        transports: { out: { deliver: () => ({ kind: 'delivered' }) } },
        segmentBytes: 16 * 1024 * 1024,
        laneSegmentBytes: 8 * 1024 * 1024,
      })
      const recipients = Array.from({ length: 100_001 }, (_, i) => `r${i}@example.net`)
      expect(await codeOf(queue.submit(submission(recipients)))).toBe('RECIPIENTS_TOO_MANY')
      let count = 0
      queue.on('delivered', (event) => (count += event.recipients.length))
      await queue.submit(submission(recipients.slice(1)))
      await stage.until('all are delivered', () => count === 100_000, 600_000)
      await stage.until('nothing is left', () => stage.isEmpty())
    },
    { queue: {} },
  )
}, 120_000)

test('no order of events is heard twice: every attempt of one life has its own outcome', async () => {
  await simulated(async (stage) => {
    stage.answer = (_recipient, { attempts }) => (attempts < 1 ? deferred : delivered)
    const queue = await stage.open()
    for (let i = 0; i < 40; i++) await queue.submit(submission(`r${i}@d${i % 3}.example.net`))
    await stage.until('all are delivered', () => stage.told('delivered').length === 40)
    expect(new Set(ordinary(stage).map(({ id, attempts }) => `${id} ${attempts}`)).size).toBe(80)
    expect(ordinary(stage)).toHaveLength(80)
  })
})
