/** Recipients that a route refuses, from any sender. */
import { expect, onTestFinished, test } from 'vitest'
import { aliasesIn } from '../../../src/relay/tables/aliases.js'
import { listenSmtp, type SmtpServerOptions } from '../../../src/relay/smtp-in/smtp-in.js'
import type { RefusedRecipients } from '../../../src/relay/tables/route-verdict.js'
import { repliesTo, type RawClient } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

const gone = { status: '5.1.2', text: 'gone for good' }
const refused: RefusedRecipients = {
  lines: new Map([
    ['example.net', gone],
    ['ada@example.net', undefined],
  ]),
  delimiters: '+',
}

async function sending(options: Partial<SmtpServerOptions>): Promise<RawClient> {
  const client = await connected(await listen(memoryQueue(), { purpose: 'relay', refused, ...options }))
  await client.reply()
  await client.say('EHLO c.example')
  await client.say('MAIL FROM:<s@example.org>')
  return client
}

test('a trusted client is told at RCPT what the line says, and a narrower line takes its mail', async () => {
  const client = await sending({})
  const [bob, ada, extended] = await repliesTo(client, [
    '<bob@example.net>',
    '<Ada@Example.NET>',
    '<ada+x@example.net>',
  ])
  expect(bob).toBe('550 5.1.2 gone for good')
  expect(ada).toMatch(/^250 /)
  expect(extended).toMatch(/^250 /)
})

test('a stranger learns no more than that it may not relay', async () => {
  const client = await sending({ trust: ['192.0.2.1'], greetDelayMs: 1 })
  expect(await repliesTo(client, ['<bob@example.net>'])).toEqual(['554 5.7.1 relay access denied'])
})

test('a recipient with an alias is not refused for its old route', async () => {
  const aliases = aliasesIn('bob@example.net bob@example.org\n', 'aliases')
  const client = await sending({ aliases })
  const [bob, eve] = await repliesTo(client, ['<bob@example.net>', '<eve@example.net>'])
  expect(bob).toMatch(/^250 /)
  expect(eve).toMatch(/^550 5\.1\.2 /)
})

test('lines come and go while the server listens, in sessions that are open, too', async () => {
  const listener = await listenSmtp(memoryQueue(), {
    places: [{ host: '127.0.0.1', port: 0 }],
    purpose: 'relay',
    refused: { lines: new Map(), delimiters: '' },
  })
  onTestFinished(() => listener.close())
  const client = await connected({ ...listener.ports[0]!, close: () => listener.close() })
  await client.reply()
  await client.say('EHLO c.example')
  await client.say('MAIL FROM:<s@example.org>')
  expect(await repliesTo(client, ['<bob@example.net>'])).toEqual([expect.stringMatching(/^250 /)])
  await listener.takeUp({ refused })
  expect(await repliesTo(client, ['<bob@example.net>'])).toEqual(['550 5.1.2 gone for good'])
  await listener.takeUp({})
  expect(await repliesTo(client, ['<eve@example.net>'])).toEqual(['550 5.1.2 gone for good'])
})
