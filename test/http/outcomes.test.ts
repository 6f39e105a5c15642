/** Outcomes as server-sent events. */
import { expect, test } from 'vitest'
import { eventsOf, httpStage, type HttpStage, type ServerEvent } from './stage.js'

/** Reads so many events. */
async function read(
  stage: HttpStage,
  path: string,
  count: number,
  lastEventId?: string,
): Promise<ServerEvent[]> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  const response = await stage.ask('read', path, { headers })
  const events: ServerEvent[] = []
  for await (const event of eventsOf(response)) if (events.push(event) === count) break
  return events
}

const told = (events: readonly ServerEvent[]): string[] => events.map(({ event, id }) => `${event} ${id}`)

const consumersOf = async (stage: HttpStage): Promise<unknown> =>
  ((await (await stage.ask('read', '/v1/consumers')).json()) as { consumers: unknown }).consumers

test('a consumer that comes back has what it has not acknowledged, and no more', async () => {
  const stage = await httpStage()
  const first = read(stage, '/v1/outcomes?consumer=read-shop', 2)
  await stage.until(async () => JSON.stringify(await consumersOf(stage)).includes('read-shop'))
  const id = await stage.submit('one@example.net')
  const events = await first
  expect(told(events)).toEqual(['accepted 1', 'deferred 2'])
  expect(events[1]!.data).toMatchObject({
    id,
    recipients: ['one@example.net'],
    status: '4.2.2',
    text: 'full',
  })
  // Both were written, and nobody has said that they were seen.
  expect(await consumersOf(stage)).toEqual([{ name: 'read-shop', cursor: 0, last: 2 }])
  expect(told(await read(stage, '/v1/outcomes?consumer=read-shop', 2))).toEqual(['accepted 1', 'deferred 2'])
  expect(told(await read(stage, '/v1/outcomes?consumer=read-shop', 1, '1'))).toEqual(['deferred 2'])
  expect(await consumersOf(stage)).toEqual([{ name: 'read-shop', cursor: 1, last: 2 }])
  const acknowledge = (number: number): Promise<Response> =>
    stage.post('read', '/v1/consumers/read-shop/acknowledge', { number })
  expect([(await acknowledge(2)).status, (await acknowledge(3)).status]).toEqual([200, 400])
  expect(await consumersOf(stage)).toEqual([{ name: 'read-shop', cursor: 2, last: 2 }])
})

test('a consumer that comes back takes the place of the connection that it lost', async () => {
  const stage = await httpStage()
  const lost = await stage.ask('read', '/v1/outcomes?consumer=read-shop')
  await stage.until(async () => JSON.stringify(await consumersOf(stage)).includes('read-shop'))
  const again = read(stage, '/v1/outcomes?consumer=read-shop&kinds=deferred', 1)
  const ended: unknown[] = []
  for await (const event of eventsOf(lost)) ended.push(event)
  expect(ended).toEqual([])
  await stage.submit('one@example.net')
  expect(told(await again)).toEqual(['deferred 2'])
})

test('unknown kinds and invalid numbers are refused', async () => {
  const stage = await httpStage()
  expect((await stage.json('read', '/v1/outcomes?kinds=opened')).code).toBe('REQUEST_INVALID')
  const headers = { 'last-event-id': 'x' }
  expect((await stage.json('read', '/v1/outcomes', { headers })).code).toBe('REQUEST_INVALID')
  const gone = await stage.ask('operate', '/v1/consumers/nobody', { method: 'DELETE' })
  expect(gone.status).toBe(404)
})

test('a token without operate acknowledges for its own consumers alone', async () => {
  const stage = await httpStage()
  const refused = await stage.post('read', '/v1/consumers/webhook/acknowledge', { number: 9 })
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([403, 'SCOPE_MISSING'])
  expect((await stage.ask('read', '/v1/outcomes?consumer=webhook')).status).toBe(403)
})
