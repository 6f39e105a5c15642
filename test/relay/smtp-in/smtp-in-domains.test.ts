/** Mail for the domains of a table, from any client. */
import { expect, onTestFinished, test } from 'vitest'
import { relayDomainsIn } from '../../../src/relay/tables/relay-domains.js'
import { listenSmtp, type Refusal, type SmtpServerOptions } from '../../../src/relay/smtp-in/smtp-in.js'
import { certificate } from '../certificate.js'
import { greetedClient, codesTo, type RawClient, taken, unknown, denied } from '../raw-client.js'
import { connected, encrypted, listen, memoryQueue } from './smtp-in-fixture.js'
import { base64, usersWith } from '../tables/users-fixture.js'

const relayDomains = relayDomainsIn('example.com\nada@small.example\n', 'domains')
/** Every client is a stranger. */
const strict = {
  purpose: 'relay',
  trust: ['192.0.2.1'],
  greetDelayMs: 1,
  relayDomains,
} as const satisfies Partial<SmtpServerOptions>

/** Behind EHLO and MAIL. */
async function sending(options: Partial<SmtpServerOptions>, queue = memoryQueue()): Promise<RawClient> {
  const client = await connected(await listen(queue, { ...strict, ...options }))
  await client.reply()
  await client.say('EHLO c.example')
  await client.say('MAIL FROM:<s@example.org>')
  return client
}

const guesses = (client: RawClient, count: number): Promise<string[]> =>
  codesTo(
    client,
    Array.from({ length: count }, (_, i) => `<guess${i}@small.example>`),
  )

const paths = ['<any@example.com>', '<ada@small.example>', '<eve@small.example>', '<any@example.net>']
test.each(['relay', 'local'] as const)(
  'a stranger reaches the addresses that the table names and no other: %s',
  async (purpose) => {
    const queue = memoryQueue()
    const refusals: Refusal[] = []
    const client = await sending({ purpose, onRefusal: (refusal) => void refusals.push(refusal) }, queue)
    expect(await codesTo(client, paths)).toEqual([taken, taken, unknown, denied])
    await client.say('DATA')
    expect(await client.say('x\r\n.')).toMatch(/^250 /)
    expect(queue.kept.map(({ recipients }) => recipients)).toEqual([['any@example.com', 'ada@small.example']])
    expect(refusals.map(({ recipient, reply }) => [recipient, reply])).toEqual([
      ['eve@small.example', '5.1.1 unknown user'],
      ['any@example.net', '5.7.1 relay access denied'],
    ])
  },
)

test.each(['relay', 'local'] as const)(
  'a trusted client sends everywhere, but to no user that is not there: %s',
  async (purpose) => {
    const client = await sending({ purpose, trust: ['127.0.0.1'] })
    expect(await codesTo(client, paths)).toEqual([taken, taken, unknown, taken])
  },
)

test('a user that has logged in sends everywhere, but to no user that is not there', async () => {
  const listener = await listen(memoryQueue(), {
    ...strict,
    tls: certificate,
    users: usersWith({ ada: 'secret' }),
  })
  const plain = await connected(listener)
  await plain.reply()
  await plain.say('EHLO c.example')
  await plain.say('STARTTLS')
  const client = await encrypted(plain)
  await client.say('EHLO c.example')
  expect(await client.say(`AUTH PLAIN ${base64('\0ada\0secret')}`)).toMatch(/^235 /)
  await client.say('MAIL FROM:<s@example.org>')
  expect(await codesTo(client, paths)).toEqual([taken, taken, unknown, taken])
})

test.each([
  ['the percent hack', '<user%example.net@example.com>', denied],
  ['the percent hack to where nobody asked', '<user%example.com@example.net>', denied],
  ['a bang path', '<example.net!user@example.com>', denied],
  ['a source route through us', '<@example.com:user@example.net>', denied],
  ['a source route through two of ours', '<@example.com,@small.example:user@example.net>', denied],
  ['a source route to us', '<@example.net:user@example.com>', taken],
  ['an address in quotes', '<"user@example.net"@example.com>', denied],
  ['ours in quotes', '<"user@example.com"@example.net>', denied],
  ['two addresses', '<user@example.net@example.com>', '501 5.1.3'],
  ['a domain that begins like ours', '<user@example.com.example.net>', denied],
  ['a domain that ends like ours', '<user@notexample.com>', denied],
  ['a domain below ours', '<user@a.example.com>', denied],
  ['an address literal', '<user@[127.0.0.1]>', denied],
])('a stranger reaches nobody else by %s', async (_, path, reply) => {
  expect(await codesTo(await sending({}), [path])).toEqual([reply])
})

test('what a stranger sends to a name in other letters goes to the domain that was looked for', async () => {
  const queue = memoryQueue()
  const client = await sending({}, queue)
  await client.say('RSET')
  await client.say('MAIL FROM:<s@example.org> SMTPUTF8')
  // A full width letter, an ideographic full stop, and one of them behind a name in other letters.
  const spellings = ['<a@\uff45xample.com>', '<b@example\u3002com>', '<\u00fc@\uff45xample.com>']
  expect(await codesTo(client, [...spellings, '<user@ex\u00e4mple.com>'])).toEqual([
    taken,
    taken,
    taken,
    denied,
  ])
  await client.say('DATA')
  await client.say('x\r\n.')
  expect(queue.kept[0]!.recipients).toEqual(['a@example.com', 'b@example.com', '\u00fc@example.com'])
})

test('the postmaster of a domain of the table, and ours, can be written to', async () => {
  const queue = memoryQueue()
  const client = await sending({}, queue)
  const postmasters = ['<Postmaster>', '<postmaster@small.example>', '<postmaster@example.net>']
  expect(await codesTo(client, postmasters)).toEqual([taken, taken, denied])
  await client.say('DATA')
  await client.say('x\r\n.')
  expect(queue.kept[0]!.recipients).toEqual(['Postmaster@mx.example.net', 'postmaster@small.example'])
})

test('without a table a stranger does not reach the postmaster of a relay', async () => {
  const listener = await listen(memoryQueue(), { purpose: 'relay', trust: ['192.0.2.1'], greetDelayMs: 1 })
  const client = await connected(listener)
  await client.reply()
  await client.say('EHLO c.example')
  await client.say('MAIL FROM:<s@example.org>')
  expect(await codesTo(client, ['<postmaster>'])).toEqual([denied])
})

test('the table of the moment says, in open sessions too; to a server without one none comes', async () => {
  const next = { relayDomains: relayDomainsIn('eve@small.example\n', 'domains') }
  for (const [options, after] of [
    [{ relayDomains }, [denied, unknown, taken, denied]],
    [{}, [denied, denied, denied, denied]],
  ] as const) {
    const listener = await listenSmtp(memoryQueue(), {
      places: [{ host: '127.0.0.1', port: 0 }],
      purpose: 'relay',
      trust: ['192.0.2.1'],
      greetDelayMs: 1,
      ...options,
    })
    onTestFinished(() => listener.close())
    const client = await greetedClient(listener.ports[0]!.port)
    await client.say('MAIL FROM:<s@example.org>')
    await listener.takeUp(next)
    expect(await codesTo(client, paths)).toEqual(after)
    await listener.takeUp({})
    expect(await codesTo(client, paths)).toEqual(after)
  }
})

test('a stranger that guesses addresses is turned away after twenty, whatever else it sends that is refused', async () => {
  const queue = memoryQueue()
  const client = await sending({ hopCountMax: 1 }, queue)
  expect(await guesses(client, 10)).toEqual(Array(10).fill(unknown))
  expect(await codesTo(client, ['<ada@small.example>'])).toEqual([taken])
  expect(await client.say('DATA')).toMatch(/^354 /)
  expect(await client.say('Received: a\r\nReceived: b\r\n\r\nx\r\n.')).toMatch(/^554 5\.4\.6 /)
  await client.say('MAIL FROM:<s@example.org>')
  expect(await guesses(client, 9)).toEqual(Array(9).fill(unknown))
  expect(await client.say('RCPT TO:<ada@example.net>')).toMatch(/^421 4\.7\.0 /)
  await client.closed
  expect(queue.kept).toEqual([])
})

test('a stranger whose message is taken begins anew', async () => {
  const client = await sending({})
  for (let message = 1; message <= 3; message++) {
    expect(await guesses(client, 15)).toEqual(Array(15).fill(unknown))
    await client.say('RCPT TO:<ada@small.example>')
    await client.say('DATA')
    expect(await client.say('x\r\n.')).toMatch(/^250 /)
    await client.say('MAIL FROM:<s@example.org>')
  }
})

test('a thousand guesses that wait for no answer are told no twenty times', async () => {
  const refusals: Refusal[] = []
  const client = await sending({ onRefusal: (refusal) => void refusals.push(refusal) })
  client.send(Array.from({ length: 1000 }, (_, i) => `RCPT TO:<guess${i}@small.example>\r\n`).join(''))
  await client.closed
  expect([20, 21]).toContain(refusals.length)
  expect(refusals.every(({ reply }) => reply === '5.1.1 unknown user')).toBe(true)
})
