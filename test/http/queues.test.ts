/** GET /v1/queues: the only queue, or those of a store. */
import { expect, test } from 'vitest'
import { WaybillError } from '../../src/errors.js'
import type { ShownQueues } from '../../src/http/figures/queues.js'
import type { StoreStatus } from '../../src/store/store-status.js'
import { httpStage, type HttpStage } from './stage.js'

const listed = async (stage: HttpStage): Promise<ShownQueues> =>
  (await (await stage.ask('read', '/v1/queues')).json()) as ShownQueues

const status: StoreStatus = {
  store: 'waybill@db/waybill',
  timeline: 2,
  standbyCount: undefined,
  unsafe: ['fsync is off'],
  queues: ['mx1', 'mx2'].map((name) => ({
    name,
    home: name === 'mx1' ? 'mx1' : undefined,
    owner: name === 'mx1' ? 'mx1' : undefined,
    address: name === 'mx1' ? '192.0.2.1' : undefined,
    epoch: 4,
    state: name === 'mx1' ? 'beats' : 'none',
    silentMsMin: 0,
    silentMsMax: name === 'mx1' ? 1500 : undefined,
    usedBytes: 4096,
    quotaBytes: 1e9,
  })),
}

test('a queue in a directory is the only one, with its counts', async () => {
  const stage = await httpStage({ place: { name: 'outbound' } })
  await stage.submit('one@example.net', { hold: true })
  const { store, queues } = await listed(stage)
  expect(store).toBeNull()
  expect(queues).toMatchObject([
    { name: 'outbound', isHere: true, owner: 'mail.example.org', epoch: null, state: 'beats' },
  ])
  expect(queues[0]?.activeCount).toBeGreaterThanOrEqual(0)
})

test('queues of a store are listed with their owners, and counts of the one that is here', async () => {
  const stage = await httpStage({ place: { name: 'mx1', status: () => Promise.resolve(status) } })
  const { store, standbyCount, unsafe, queues } = await listed(stage)
  expect({ store, standbyCount, unsafe }).toEqual({
    store: 'waybill@db/waybill',
    standbyCount: null,
    unsafe: ['fsync is off'],
  })
  expect(queues).toMatchObject([
    { name: 'mx1', isHere: true, owner: 'mx1', epoch: 4, silentMsMax: 1500, activeCount: 0 },
    { name: 'mx2', isHere: false, owner: null, silentMsMax: null, activeCount: null, waitingBytes: null },
  ])
})

test('a store that does not answer is a 503 with its code, and a token is wanted', async () => {
  const away = new WaybillError('STORE_UNREACHABLE', 'no server answers', { directory: 'db' })
  const stage = await httpStage({ place: { name: 'mx1', status: () => Promise.reject(away) } })
  const response = await stage.ask('read', '/v1/queues')
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('5')
  expect(await response.json()).toMatchObject({ code: 'STORE_UNREACHABLE' })
  expect((await fetch(`${stage.url}/v1/queues`)).status).toBe(401)
  expect((await stage.ask('submit', '/v1/queues')).status).toBe(403)
})
