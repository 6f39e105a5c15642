/** FUTURERELEASE, DELIVERBY and MT-PRIORITY, for clients that may relay. */
import { expect, test } from 'vitest'
import type { RawClient } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

const nowMs = Date.parse('2026-11-26T12:00:00Z')
const clock = {
  wallMs: () => nowMs,
  monotonicMs: () => 0,
  after: () => ({ cancel: () => undefined }),
  soon: () => undefined,
}
const mail = 'MAIL FROM:<s@example.org>'

async function session(queue = memoryQueue(), options: object = {}): Promise<[RawClient, string]> {
  const client = await connected(await listen(queue, { clock, ...options }))
  await client.reply()
  return [client, await client.say('EHLO c')]
}

test('they are offered to a trusted client, and to no stranger', async () => {
  const [, offered] = await session()
  expect(offered).toMatch(/^250[- ]FUTURERELEASE 31536000 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\r?$/m)
  expect(offered).toMatch(/^250[- ]DELIVERBY\r?$/m)
  expect(offered).toMatch(/^250[- ]MT-PRIORITY\r?$/m)
  const [stranger, others] = await session(memoryQueue(), { trust: ['192.0.2.1'], greetDelayMs: 0 })
  expect(others).not.toMatch(/FUTURERELEASE|DELIVERBY|MT-PRIORITY/)
  for (const parameter of ['HOLDFOR=60', 'HOLDUNTIL=2026-11-26T12:00:00Z', 'BY=60;R', 'MT-PRIORITY=3'])
    expect(await stranger.say(`${mail} ${parameter}`)).toMatch(/^555 5\.5\.4 unsupported parameter/)
})

test.each([
  ['HOLDFOR=60', { notBefore: nowMs + 60_000 }],
  ['holdfor=0', { notBefore: nowMs }],
  ['HOLDUNTIL=2026-11-27T00:00:00Z', { notBefore: nowMs + 43_200_000 }],
  ['HOLDUNTIL=2026-11-26t12:00:00.25z', { notBefore: nowMs + 250 }],
  ['HOLDUNTIL=2026-11-25T00:00:00Z', { notBefore: nowMs }],
  ['BY=120;R', { expiresAt: nowMs + 120_000 }],
  ['BY=120;rt', { expiresAt: nowMs + 120_000 }],
  ['BY=120;N', { warnAt: nowMs + 120_000 }],
  ['BY=-5;N', { warnAt: nowMs }],
  ['MT-PRIORITY=3', { priority: 'high' }],
  ['MT-PRIORITY=0', { priority: 'normal' }],
  ['MT-PRIORITY=-9', { priority: 'low' }],
  ['HOLDFOR=60 BY=120;R MT-PRIORITY=9 RET=HDRS', { notBefore: nowMs + 60_000, expiresAt: nowMs + 120_000 }],
])('MAIL with %s goes to the queue as that', async (parameters, asked) => {
  const queue = memoryQueue()
  const [client] = await session(queue)
  expect(await client.say(`${mail} ${parameters}`)).toMatch(/^250 /)
  await client.say('RCPT TO:<a@example.net>')
  await client.say('DATA')
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
  expect(queue.kept).toMatchObject([asked])
})

test.each([
  'HOLDFOR=',
  'HOLDFOR=-1',
  'HOLDFOR=1.5',
  'HOLDFOR=31536001',
  'HOLDFOR=60 HOLDUNTIL=2026-11-27T00:00:00Z',
  'HOLDFOR=60 HOLDFOR=60',
  'HOLDUNTIL=tomorrow',
  'HOLDUNTIL=2026-11-27T00:00:00',
  'HOLDUNTIL=2026-13-27T00:00:00Z',
  'HOLDUNTIL=2028-11-27T00:00:00Z',
  'BY',
  'BY=60',
  'BY=0;R',
  'BY=-60;R',
  'BY=60;X',
  'HOLDFOR=60 BY=60;R',
  'MT-PRIORITY=10',
  'MT-PRIORITY=-0',
  'MT-PRIORITY=high',
])('MAIL with %s is refused, and nothing of it stays', async (parameters) => {
  const queue = memoryQueue()
  const [client] = await session(queue)
  expect(await client.say(`${mail} ${parameters}`)).toMatch(/^50[13] /)
  expect(await client.say(mail)).toMatch(/^250 /)
})
