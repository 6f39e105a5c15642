/** Servers that talk without end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { deliver } from '../request.js'
import { between } from './smtp-out-fixture.js'

const longReply = `550-${'x'.repeat(1000)}\r\n`.repeat(100)

test.each([
  ['GREETING', '\r\n'.repeat(1000)],
  ['EHLO', '\n'.repeat(1000)],
  ['MAIL', '\r\n'.repeat(1000)],
  ['.', '\r\n'.repeat(1000)],
  ['GREETING', longReply],
  ['EHLO', longReply],
  ['RCPT', longReply],
  ['.', longReply],
])('a server that has too much to say at %s is left', async (stage, words) => {
  const { server, transport } = await between((line) =>
    line.startsWith(stage) ? { reply: words, does: 'hang' } : undefined,
  )
  const result = await Promise.race([deliver(transport), sleep(20_000, undefined)])
  expect(result).toMatchObject({ kind: 'site', status: stage === '.' ? '4.4.2' : '4.5.0' })
  await expect.poll(() => server.openCount()).toBe(0)
})

test('a few empty lines between replies are nothing', async () => {
  const { transport } = await between((line) =>
    line === 'GREETING' ? '\r\n\r\n220 foreign\r\n\r\n' : undefined,
  )
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
})

test('a transaction has as many replies as it has recipients', async () => {
  const { server, transport } = await between()
  const recipients = Array.from({ length: 2000 }, (_, i) => `r${i}@example.net`)
  expect(await deliver(transport, { recipients })).toMatchObject({ kind: 'delivered' })
  expect(server.taken[0]?.recipients).toHaveLength(2000)
})
