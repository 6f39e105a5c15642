/** What subscribers of the diagnostics channels see of a queue. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, tracingChannel } from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryRequest, Outcome } from '../../../src/delivery/transport.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import { codeOf, deferred, delivered, simulated, submission } from '../stage.js'

type Phase = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error'

/** @returns phases, as `accept start`, with what was told in them */
function heard(): [string, Record<string, unknown>][] {
  const told: [string, Record<string, unknown>][] = []
  const listen = (name: string, as: string): void => {
    const listener = (message: unknown): void => void told.push([as, { ...(message as object) }])
    channel(name).subscribe(listener)
    onTestFinished(() => {
      channel(name).unsubscribe(listener)
    })
  }
  for (const step of ['accept', 'attempt', 'checkpoint'])
    for (const phase of ['start', 'asyncEnd', 'error'] satisfies Phase[])
      listen(`tracing:waybill:${step}:${phase}`, `${step} ${phase}`)
  for (const step of ['settle', 'sync']) listen(`waybill:${step}`, step)
  return told
}

test('a message is traced from its submission to its end, with what each step knows', async () => {
  await simulated(async (stage) => {
    stage.answer = (_, { attempts }) => (attempts === 0 ? deferred : delivered)
    const queue = await stage.open({ retry: fixedRetry([50]) })
    const told = heard()
    const { id } = await queue.submit(submission('grace@example.net'))
    await stage.until('it is delivered', () => stage.told('delivered').length === 1)
    await queue.idle()
    const mine = told.filter(([, { id: of }]) => of === id || of === undefined).map(([name]) => name)
    const first = (name: string): number => mine.indexOf(name)
    expect(first('accept start')).toBeLessThan(first('sync'))
    expect(first('sync')).toBeLessThan(first('accept asyncEnd'))
    expect(mine.filter((name) => /^(attempt|settle)/.test(name))).toEqual(
      Array.from({ length: 2 }, () => ['attempt start', 'attempt asyncEnd', 'settle']).flat(),
    )
    const of = (name: string): Record<string, unknown>[] =>
      told.filter(([one]) => one === name).map(([, fields]) => fields)
    expect(of('accept asyncEnd')).toEqual([{ sender: 'ada@example.org', recipientCount: 1, result: { id } }])
    expect(of('attempt asyncEnd')).toMatchObject([
      { id, transport: 'out', nexthop: 'example.net', attempts: 0, result: [deferred] },
      { id, attempts: 1, result: [delivered] },
    ])
    expect(of('settle')).toMatchObject([
      { id, recipientCount: 1, deliveredCount: 0, deferredCount: 1 },
      { id, recipientCount: 1, deliveredCount: 1, deferredCount: 0 },
    ])
    expect(of('checkpoint start').length).toBeGreaterThan(0)
    expect(of('sync').at(-1)!['writtenBytes']).toBe(queue.stats().journal.writtenBytes)
  })
})

test('a sync is told once for each batch, and none while a queue opens', async () => {
  await simulated(async (stage) => {
    const told = heard()
    const queue = await stage.open()
    const syncCount = (): number => told.filter(([name]) => name === 'sync').length
    for (let m = 0; m < 20; m++) {
      await queue.submit(submission('grace@example.net'))
      expect(syncCount()).toBe(queue.stats().journal.syncCount)
    }
    expect(syncCount()).toBeGreaterThan(0)
  })
})

test('a submission that is refused ends with its error', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const told = heard()
    expect(await codeOf(queue.submit(submission([])))).toBe('RECIPIENTS_EMPTY')
    expect(await codeOf(queue.submit(undefined as never))).toBe('OPTION_INVALID')
    const errors = told.filter(([name]) => name === 'accept error')
    expect(errors.map(([, { error }]) => (error as { code: string }).code)).toEqual([
      'RECIPIENTS_EMPTY',
      'OPTION_INVALID',
    ])
  })
})

test('a transport runs in the context that a tracer binds to its attempt', async () => {
  const store = new AsyncLocalStorage<string>()
  const { start } = tracingChannel('waybill:attempt')
  start.bindStore(store, (trace) => (trace as { id: string }).id)
  onTestFinished(() => {
    start.unbindStore(store)
  })
  await simulated(async (stage) => {
    const seen: (string | undefined)[] = []
    stage.answer = () => {
      seen.push(store.getStore())
      return delivered
    }
    const queue = await stage.open()
    const { id } = await queue.submit(submission())
    await queue.idle()
    expect(seen).toEqual([id])
  })
})

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test('the trace of a submission reaches each attempt, through a crash, a retry and a requeue', async () => {
  await simulated(async (stage) => {
    const requests: DeliveryRequest[] = []
    const told = heard()
    const deliver = (request: DeliveryRequest): Outcome => {
      requests.push(request)
      return requests.length < 4 ? deferred : delivered
    }
    const options = { retry: fixedRetry([50]), transports: { out: { deliver } } }
    const queue = await stage.open(options)
    const { id } = await queue.submit({ ...submission(), traceparent, tracestate: 'congo=t61rcWkgMzE' })
    await stage.until('two attempts', () => requests.length === 2)
    const next = await stage.open({ ...options, retry: fixedRetry([3_600_000]) })
    await stage.until('another', () => requests.length === 3)
    await stage.ids()
    await next.requeue({ id })
    await stage.until('it is delivered', () => requests.length === 4)
    const asked = requests.map((request) => [request.traceparent, request.tracestate])
    expect(asked).toEqual(Array.from({ length: 4 }, () => [traceparent, 'congo=t61rcWkgMzE']))
    const of = (name: string): unknown[] => told.filter(([one]) => one === name).map(([, fields]) => fields)
    expect(of('accept start')).toMatchObject([{ traceparent }])
    expect(of('attempt start')).toMatchObject(
      Array.from({ length: 4 }, () => ({ traceparent, tracestate: 'congo=t61rcWkgMzE' })),
    )
  })
})

test.each<[string, object]>([
  ['no traceparent', { traceparent: 'x' }],
  ['version ff', { traceparent: traceparent.replace(/^00/, 'ff') }],
  ['no trace', { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` }],
  ['more than version 00 has', { traceparent: `${traceparent}-1` }],
  ['a state without a trace', { tracestate: 'a=b' }],
  ['a state of two lines', { traceparent, tracestate: 'a=b\nc=d' }],
])('a trace is refused: %s', async (_, members) => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    expect(await codeOf(queue.submit({ ...submission(), ...members }))).toBe('OPTION_INVALID')
  })
})

test('a later version of a trace may say more', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const later = `${traceparent.replace(/^00/, '01')}-more`
    expect(await codeOf(queue.submit({ ...submission(), traceparent: later }))).toBe('accepted')
  })
})
