/** What the API reads from the queue's files. */
import { expect, test } from 'vitest'
import { WaybillError } from '../../src/errors.js'
import { inspected } from '../../src/http/inspection/inspected.js'
import { threadedInspect } from '../../src/http/inspection/inspector.js'
import { eventsOf, httpStage, type HttpStage } from './stage.js'

async function inspectedStage(): Promise<HttpStage> {
  const stage: HttpStage = await httpStage({
    inspect: (order, onProgress) => inspected(stage.directory, order, onProgress),
  })
  for (const recipient of ['a@example.net', 'b@example.net', 'c@example.com']) await stage.submit(recipient)
  await stage.until(
    async () => (await stage.json('read', '/v1/messages?lane=deferred')).messages.length === 3,
  )
  await stage.queue.idle()
  return stage
}

const get = async (stage: HttpStage, path: string): Promise<Record<string, unknown>> =>
  (await (await stage.ask('read', path)).json()) as Record<string, unknown>

test('ages by domain are those of the messages that wait', async () => {
  const stage = await inspectedStage()
  const { heads, rows, domainCount } = await get(stage, '/v1/qshape?lane=deferred&buckets=3')
  expect(domainCount).toBe(2)
  expect(heads).toEqual(['5', '10', '10+'])
  expect(rows).toEqual([
    { domain: 'TOTAL', total: 3, buckets: [3, 0, 0] },
    { domain: 'example.net', total: 2, buckets: [2, 0, 0] },
    { domain: 'example.com', total: 1, buckets: [1, 0, 0] },
  ])
  const bySender = await get(stage, '/v1/qshape?lane=deferred&by=sender&limit=1')
  expect(bySender['domainCount']).toBe(1)
  expect(bySender['rows']).toMatchObject([{ total: 3 }, { domain: 'example.org', total: 3 }])
  expect(await get(stage, '/v1/qshape?lane=heaven')).toMatchObject({ code: 'REQUEST_INVALID' })
})

test('the segments, the soundness and the past of a queue that runs are told', async () => {
  const stage = await inspectedStage()
  const { logs, restart } = await get(stage, '/v1/log/segments')
  const [journal] = logs as { name: string; marks: { name: string }[]; segments: { state: string }[] }[]
  expect(journal).toMatchObject({ name: 'journal', segmentBytes: 1024 * 1024 })
  expect(journal!.marks.map(({ name }) => name)).toEqual(['end', 'suffix', 'runner'])
  expect(journal!.segments[0]!.state).toBe('live')
  expect(await get(stage, '/v1/log/verify')).toMatchObject({ isSound: true, messageCount: 3, findings: [] })
  const { end } = restart as { end: number }
  const past = await get(stage, `/v1/log/at?position=${end}`)
  expect((past['lanes'] as { messageCount: number }[]).map(({ messageCount }) => messageCount)).toContain(3)
  expect(await get(stage, '/v1/log/at?position=999999999999')).toMatchObject({ code: 'OPTION_INVALID' })
})

test('the figures and the files agree on what a start would read', async () => {
  const stage = await inspectedStage()
  const { restart } = (await get(stage, '/v1/log/segments')) as { restart: { suffixBytes: number } }
  const { journal } = (await get(stage, '/v1/queue')) as { journal: { suffixBytes: number } }
  expect(restart.suffixBytes).toBeGreaterThan(0)
  expect(journal.suffixBytes).toBe(restart.suffixBytes)
})

test('an error of a thread names its place once', async () => {
  const stage = await inspectedStage()
  const { detail, place } = await get(stage, '/v1/log/at?position=999999999999')
  expect(String(detail).split('(option position)')).toHaveLength(2)
  const crossed = new WaybillError('OPTION_INVALID', String(detail), place as object)
  expect(crossed.message).toBe(detail)
})

test('an inspection tells how far it has come, and its result is the last event', async () => {
  const stage = await inspectedStage()
  const response = await stage.ask('read', '/v1/log/verify', { headers: { accept: 'text/event-stream' } })
  const events: string[] = []
  for await (const { event } of eventsOf(response)) events.push(event)
  expect(events.length).toBeGreaterThan(1)
  expect(new Set(events.slice(0, -1))).toEqual(new Set(['progress']))
  expect(events.at(-1)).toBe('result')
})

test('the history of a message has its records in order of time', async () => {
  const stage = await inspectedStage()
  const { messages } = await stage.json('read', '/v1/messages?recipient=a@example.net')
  const { records } = await get(stage, `/v1/messages/${messages[0]!.id}/history`)
  const kinds = (records as { kind: string; at: number }[]).map(({ kind }) => kind)
  expect(kinds.slice(0, 3)).toEqual(['envelope', 'start', 'delivery'])
  expect(await get(stage, '/v1/messages/0000000000000000/history')).toMatchObject({ records: [] })
})

test('where the queue lies in no directory the routes say so', async () => {
  const stage = await httpStage()
  expect(await get(stage, '/v1/log/segments')).toMatchObject({ code: 'NOT_READY', status: 503 })
})

test('a client that leaves while it waits for an inspection makes its place free', async () => {
  const inspect = threadedInspect('nowhere')
  const clients = Array.from({ length: 10 }, () => new AbortController())
  const codeOf = (signal: AbortSignal): Promise<unknown> =>
    inspect({ kind: 'verify' }, () => undefined, signal).catch(({ code }: { code?: unknown }) => code)
  const codes = clients.map(({ signal }) => codeOf(signal))
  const more = new AbortController()
  expect(await codeOf(more.signal)).toBe('TOO_MANY_REQUESTS')
  for (const waiting of clients.slice(2)) waiting.abort()
  const next = codeOf(more.signal)
  for (const running of clients.slice(0, 2)) running.abort()
  expect(await Promise.all(codes)).toEqual(clients.map(() => 'NOT_READY'))
  expect(await next).not.toBe('TOO_MANY_REQUESTS')
})
