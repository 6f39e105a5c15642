import { expect, test } from 'vitest'
import { Attempts } from '../../src/delivery/attempt.js'
import type { Report } from '../../src/delivery/outcome.js'
import type { DeliveryRequest, DeliveryResult, Transport } from '../../src/delivery/transport.js'
import { heldClock } from '../held-clock.js'

const request = (recipients = ['a@example.net'], dataBytes = 0): DeliveryRequest => ({
  id: 'q1',
  attempts: 0,
  sender: 's@example.net',
  recipients,
  nexthop: 'example.net',
  acceptedAt: 0,
  dataBytes,
  smtputf8: false,
  data: () => Promise.resolve(Buffer.alloc(0)),
  stream: () => {
    throw new Error('not streamed')
  },
})

function bench(deliver: Transport['deliver'], close?: () => void, releasesSignal = false) {
  const clock = heldClock()
  const reports: [string, Report][] = []
  const transport: Transport = { deliver, releasesSignal, ...(close && { close }) }
  const attempts = new Attempts<string>(transport, clock, (tag, report) => reports.push([tag, report]), {
    deadlineMs: 1000,
  })
  return { clock, reports, attempts }
}

const later = (): { promise: Promise<DeliveryResult>; resolve: (result: DeliveryResult) => void } => {
  let resolve!: (result: DeliveryResult) => void
  const promise = new Promise<DeliveryResult>((settle) => (resolve = settle))
  return { promise, resolve }
}

test('a transport that answers at once settles before begin returns, without a timer', () => {
  const { clock, reports, attempts } = bench(() => ({ kind: 'delivered' }))
  attempts.begin('one', request())
  expect(reports).toEqual([
    ['one', { outcomes: [{ kind: 'delivered' }], site: undefined, defect: undefined }],
  ])
  expect(clock.timerCount).toBe(0)
})

test('a thousand attempts that wait share one timer', () => {
  const { clock, attempts } = bench(() => new Promise<DeliveryResult>(() => {}))
  for (let i = 0; i < 1000; i++) attempts.begin(`${i}`, request())
  expect(attempts.count).toBe(1000)
  expect(clock.timerCount).toBe(1)
})

test('an attempt without an answer is site trouble after its deadline, and its signal aborts', () => {
  let signal: AbortSignal | undefined
  const { clock, reports, attempts } = bench((_request, given) => {
    signal = given
    return new Promise<DeliveryResult>(() => {})
  })
  attempts.begin('slow', request(['a@example.net', 'b@example.net']))
  clock.advance(999)
  expect(reports).toEqual([])
  expect(signal?.aborted).toBe(false)
  clock.advance(101)
  expect(reports[0]?.[1].site?.status).toBe('4.4.1')
  expect(reports[0]?.[1].outcomes.map(({ kind }) => kind)).toEqual(['deferred', 'deferred'])
  expect(signal?.aborted).toBe(true)
})

test('a younger attempt is not given up with an older one', () => {
  const { clock, reports, attempts } = bench(() => new Promise<DeliveryResult>(() => {}))
  attempts.begin('old', request())
  clock.advance(600)
  attempts.begin('young', request())
  clock.advance(500)
  expect(reports.map(([tag]) => tag)).toEqual(['old'])
  clock.advance(600)
  expect(reports.map(([tag]) => tag)).toEqual(['old', 'young'])
})

test('a long message has the time of the deadline for each mebibyte, and a short one behind it is not kept waiting', () => {
  const { clock, reports, attempts } = bench(() => new Promise<DeliveryResult>(() => {}))
  const mebibyte = 1 << 20
  attempts.begin('long', request(['a@example.net'], 2 * mebibyte + 1))
  attempts.begin('short', request(['a@example.net'], mebibyte))
  clock.advance(1100)
  expect(reports.map(([tag]) => tag)).toEqual(['short'])
  clock.advance(1800)
  expect(reports).toHaveLength(1)
  clock.advance(200)
  expect(reports[1]).toMatchObject(['long', { site: { reason: expect.stringContaining('3 s') as string } }])
})

test('a signal serves the next attempt where the transport has released it, but not beside another nor after an abort', async () => {
  const signals: AbortSignal[] = []
  const answers: (() => void)[] = []
  const deliver = (_request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> => {
    signals.push(signal)
    return new Promise((resolve) => answers.push(() => resolve({ kind: 'delivered' })))
  }
  const answered = async (): Promise<void> => {
    answers.shift()!()
    await new Promise(setImmediate)
  }
  const { clock, reports, attempts } = bench(deliver, undefined, true)
  attempts.begin('first', request())
  await answered()
  attempts.begin('second', request())
  attempts.begin('beside it', request())
  expect([signals[1] === signals[0], signals[2] === signals[0]]).toEqual([true, false])
  await answered()
  clock.advance(2000)
  attempts.begin('after an abort', request())
  attempts.begin('another', request())
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, true, false, false])
  // The answer to what was given up comes late.
  await answered()
  attempts.begin('last', request())
  expect(signals[5]!.aborted).toBe(false)
  expect(reports.map(([tag]) => tag)).toEqual(['first', 'second', 'beside it'])

  const { attempts: others } = bench(deliver)
  others.begin('first', request())
  answers.splice(0, answers.length - 1)
  await answered()
  others.begin('second', request())
  expect(signals[7]).not.toBe(signals[6])
})

test('an attempt that is withdrawn is told so, and what it answers says nothing of its site', async () => {
  const signals: AbortSignal[] = []
  const deliver = (_: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> => {
    signals.push(signal)
    return new Promise((resolve) =>
      signal.addEventListener('abort', () =>
        resolve({ kind: 'site', status: '4.4.0', reason: 'the attempt was abandoned' }),
      ),
    )
  }
  const { reports, attempts } = bench(deliver, undefined, true)
  attempts.begin('gone', request())
  attempts.begin('beside it', request())
  attempts.withdraw((tag) => tag === 'gone')
  await new Promise(setImmediate)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  expect(signals[0]!.reason).toMatchObject({ code: 'ATTEMPT_WITHDRAWN' })
  const outcome = { kind: 'deferred', status: '4.4.0', reason: 'the attempt was abandoned' }
  expect(reports).toEqual([['gone', { outcomes: [outcome], site: undefined, defect: undefined }]])
  attempts.begin('next', request())
  expect(signals[2]!.aborted).toBe(false)
})

test('what was delivered before a withdrawn attempt could stop is delivered', async () => {
  const { promise, resolve } = later()
  const { reports, attempts } = bench((_request, _signal) => promise)
  attempts.begin('late', request())
  attempts.withdraw(() => true)
  resolve({ kind: 'delivered' })
  await new Promise(setImmediate)
  expect(reports).toMatchObject([['late', { outcomes: [{ kind: 'delivered' }] }]])
})

test('an answer after the deadline is ignored', async () => {
  const { promise, resolve } = later()
  const { clock, reports, attempts } = bench(() => promise)
  attempts.begin('late', request())
  clock.advance(2000)
  resolve({ kind: 'delivered' })
  await promise
  await Promise.resolve()
  expect(reports).toHaveLength(1)
  expect(reports[0]?.[1].outcomes[0]?.kind).toBe('deferred')
})

test('nothing settles after the crash, signals abort and the transport closes', async () => {
  const { promise, resolve } = later()
  let signal: AbortSignal | undefined
  let closed = 0
  const { clock, reports, attempts } = bench(
    (_request, given) => {
      signal = given
      return promise
    },
    () => closed++,
  )
  attempts.begin('lost', request())
  attempts.abandon()
  resolve({ kind: 'delivered' })
  await promise
  await Promise.resolve()
  clock.advance(5000)
  expect(reports).toEqual([])
  expect(signal?.aborted).toBe(true)
  expect(closed).toBe(1)
})

test('a crash in the middle of a sweep is the end of it, and a second one closes nothing again', () => {
  let closed = 0
  const clock = heldClock()
  const told: string[] = []
  const transport: Transport = {
    deliver: () => new Promise<DeliveryResult>(() => {}),
    close: () => void closed++,
  }
  const attempts: Attempts<string> = new Attempts<string>(
    transport,
    clock,
    (tag) => {
      told.push(tag)
      attempts.abandon()
    },
    { deadlineMs: 1000 },
  )
  attempts.begin('first', request())
  attempts.begin('second', request())
  clock.advance(5000)
  attempts.abandon()
  expect(told).toEqual(['first'])
  expect(closed).toBe(1)
})

test.each<[string, (settle: (result: DeliveryResult) => void) => void, string]>([
  [
    'calls back twice, at once',
    (settle) => {
      settle({ kind: 'delivered' })
      settle({ kind: 'failed', status: '5.0.0', reason: 'no' })
    },
    'delivered',
  ],
  [
    'throws when it is asked',
    () => {
      throw new Error('no')
    },
    'deferred',
  ],
  ['never calls back', () => {}, 'deferred'],
  [
    'calls back, and throws',
    (settle) => {
      settle({ kind: 'delivered' })
      throw new Error('no')
    },
    'delivered',
  ],
])('a promise that is not JavaScript’s and %s settles once', async (_, callBack, kind) => {
  const foreign = Object.fromEntries([['th' + 'en', callBack]]) as unknown as Promise<DeliveryResult>
  const { clock, reports, attempts } = bench(() => foreign)
  attempts.begin('foreign', request())
  await new Promise((resolve) => setImmediate(resolve))
  clock.advance(5000)
  expect(reports.map(([, { outcomes }]) => outcomes[0]?.kind)).toEqual([kind])
  expect(attempts.count).toBe(0)
})

test('a promise whose own then throws settles once', async () => {
  const promise = Object.assign(Promise.resolve<DeliveryResult>({ kind: 'delivered' }), {
    ['th' + 'en']: () => {
      throw new Error('halted')
    },
  })
  const { clock, reports, attempts } = bench((_request) => promise)
  attempts.begin('halted', request())
  await new Promise(setImmediate)
  clock.advance(5000)
  expect(reports.map(([, { outcomes }]) => outcomes[0]?.kind)).toEqual(['deferred'])
  expect(attempts.count).toBe(0)
})

test('an answer that the network has when the deadline is noticed counts', async () => {
  const { promise, resolve } = later()
  const soon: (() => void)[] = []
  const silence = new Promise<DeliveryResult>(() => {})
  const { clock, reports, attempts } = bench(({ sender }) => (sender === '' ? silence : promise))
  clock.soon = (run) => void soon.push(run)
  attempts.begin('answered', request())
  attempts.begin('silent', { ...request(), sender: '' })
  clock.advance(5000)
  expect(soon).toHaveLength(1)
  expect(reports).toEqual([])
  resolve({ kind: 'delivered' })
  await new Promise(setImmediate)
  soon[0]!()
  expect(reports.map(([tag, { outcomes }]) => [tag, outcomes[0]?.kind])).toEqual([
    ['answered', 'delivered'],
    ['silent', 'deferred'],
  ])
})

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no'))],
])('a transport whose close %s does not disturb the crash', async (_, close) => {
  const unhandled: unknown[] = []
  const listener = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', listener)
  const { attempts } = bench((_request) => ({ kind: 'delivered' }), close as () => void)
  expect(() => attempts.abandon()).not.toThrow()
  await new Promise(setImmediate)
  process.off('unhandledRejection', listener)
  expect(unhandled).toEqual([])
})

test.each<[string, Transport['deliver']]>([
  ['at once', (_request) => brokenAnswer],
  ['later', (_request) => Promise.resolve([brokenAnswer])],
])('an answer that cannot be read, %s, defers', async (_, deliver) => {
  const { reports, attempts } = bench(deliver)
  attempts.begin('broken', request())
  await new Promise((resolve) => setImmediate(resolve))
  expect(reports.map(([, { outcomes }]) => outcomes[0])).toMatchObject([
    { kind: 'deferred', status: '4.3.0' },
  ])
})

const brokenAnswer = {
  get kind(): 'delivered' {
    throw new Error('not yet')
  },
}

test('what a synchronous transport throws defers, and a typing mistake is named with its place', () => {
  const { reports, attempts } = bench(() => {
    const nothing = undefined as unknown as { kind: 'delivered' }
    return { kind: nothing.kind }
  })
  attempts.begin('bug', request())
  const report = reports[0]?.[1]
  expect(report?.outcomes[0]).toMatchObject({ kind: 'deferred', status: '4.3.0' })
  expect(report?.outcomes[0]?.kind === 'deferred' && report.outcomes[0].reason).toMatch(
    /TypeError.*attempt\.test/,
  )
  expect(report?.defect).toBeInstanceOf(TypeError)
  expect(report?.site).toBeUndefined()
})

test('a rejection that is no typing mistake is trouble of the site', async () => {
  const { reports, attempts } = bench((_request) => Promise.reject(new Error('connect ECONNREFUSED')))
  attempts.begin('down', request())
  await new Promise((resolve) => setImmediate(resolve))
  expect(reports[0]?.[1].site).toEqual({ kind: 'site', status: '4.3.0', reason: 'connect ECONNREFUSED' })
  expect(reports[0]?.[1].defect).toBeUndefined()
})

test('an error of the one who is told is not taken for the transport’s', () => {
  const attempts = new Attempts<string>({ deliver: () => ({ kind: 'delivered' }) }, heldClock(), () => {
    throw new Error('engine')
  })
  expect(() => attempts.begin('x', request())).toThrow('engine')
})

test('a deadline that is no time is refused', () => {
  const transport: Transport = { deliver: () => ({ kind: 'delivered' }) }
  const withDeadline = (deadlineMs: unknown) =>
    new Attempts(transport, heldClock(), () => {}, { deadlineMs: deadlineMs as number })
  for (const deadlineMs of [0, -1, Number.NaN, 86_400_001, '1000'])
    expect(() => withDeadline(deadlineMs)).toThrow(/deadline/)
  for (const deadlineMs of [1, 86_400_000, undefined]) expect(withDeadline(deadlineMs).count).toBe(0)
})
