/** Clients that log in, and those that would like to. */
import SmtpConnection from 'nodemailer/lib/smtp-connection'
import { expect, onTestFinished, test } from 'vitest'
import type { Listener } from '../../../src/relay/listening.js'
import type { Refusal, SmtpServerOptions } from '../../../src/relay/smtp-in/smtp-in.js'
import { certificate } from '../certificate.js'
import type { RawClient } from '../raw-client.js'
import { connected, encrypted, listen, memoryQueue } from './smtp-in-fixture.js'
import { base64, hashOfCost, usersWith } from '../tables/users-fixture.js'

/** Every client is a stranger. */
const relay = {
  purpose: 'relay',
  tls: certificate,
  users: usersWith({ ada: 'secret' }),
  trust: ['192.0.2.1'],
  greetDelayMs: 1,
} as const satisfies Partial<SmtpServerOptions>

const listenWith = (options: Partial<SmtpServerOptions> = {}): Promise<Listener> =>
  listen(memoryQueue(), { ...relay, ...options })

/** Behind STARTTLS and EHLO. */
async function secured(listener: Listener, greeting = 'EHLO c.example'): Promise<RawClient> {
  const plain = await connected(listener)
  await plain.reply()
  await plain.say('EHLO c.example')
  await plain.say('STARTTLS')
  const client = await encrypted(plain)
  await client.say(greeting)
  return client
}

const plainAuth = (name: string, password: string, authzid = ''): string =>
  `AUTH PLAIN ${base64(`${authzid}\0${name}\0${password}`)}`
const right = plainAuth('ada', 'secret')

test('AUTH is offered over TLS, and neither offered nor taken in plaintext from this machine', async () => {
  const listener = await listenWith({ trust: ['127.0.0.1'] })
  const plain = await connected(listener)
  await plain.reply()
  expect(await plain.say('EHLO c.example')).not.toContain('AUTH')
  expect(await plain.say(right)).toMatch(/^500 5\.5\.2 /)
  await plain.say('STARTTLS')
  const client = await encrypted(plain)
  expect(await client.say('EHLO c.example')).toMatch(/^250-AUTH PLAIN LOGIN$/m)
  expect(await client.say(right)).toMatch(/^235 2\.7\.0 /)
  expect(await client.say('EHLO c.example')).not.toContain('AUTH')
})

test.each(['PLAIN', 'LOGIN'])('nodemailer logs in by %s, and a stranger relays', async (method) => {
  const queue = memoryQueue()
  const { port } = await listen(queue, { ...relay, received: true })
  const connection = new SmtpConnection({
    port,
    requireTLS: true,
    tls: { ca: certificate.cert },
  })
  onTestFinished(() => connection.close())
  await new Promise<void>((resolve, reject) => {
    connection.once('error', reject)
    connection.connect(() => resolve())
  })
  await new Promise<void>((resolve, reject) =>
    connection.login({ user: 'ada', pass: 'secret', method }, (error) => (error ? reject(error) : resolve())),
  )
  await new Promise<void>((resolve, reject) =>
    connection.send({ from: 's@example.org', to: ['r@example.net'] }, 'x\r\n', (error) =>
      error ? reject(error) : resolve(),
    ),
  )
  expect(queue.kept).toMatchObject([{ client: { address: '127.0.0.1', user: 'ada' } }])
  expect(queue.kept[0]!.data.toString()).toMatch(/ with ESMTPSA id /)
})

test('a client that does not log in is what it was: a stranger may not relay, a trusted one may', async () => {
  for (const [trust, reply] of [
    [['192.0.2.1'], /^554 5\.7\.1 /],
    [['127.0.0.1'], /^250 /],
  ] as const) {
    const client = await secured(await listenWith({ trust }))
    await client.say('MAIL FROM:<s@example.org>')
    expect(await client.say('RCPT TO:<r@example.net>')).toMatch(reply)
  }
})

test('a wrong password is refused and told of; with the third the session ends', async () => {
  const refusals: Refusal[] = []
  const listener = await listenWith({ onRefusal: (refusal) => void refusals.push(refusal) })
  const client = await secured(listener)
  expect(await client.say(plainAuth('ada', 'wrong'))).toMatch(/^535 5\.7\.8 /)
  await client.say('AUTH LOGIN')
  await client.say(base64('x'.repeat(1000)))
  expect(await client.say(base64('secret'))).toMatch(/^535 5\.7\.8 /)
  expect(await client.say(plainAuth('ada', ''))).toMatch(/^535 5\.7\.8 /)
  expect(await client.reply()).toMatch(/^421 4\.7\.0 /)
  await client.closed
  const told = {
    client: { address: '127.0.0.1', helo: 'c.example' },
    sender: undefined,
    recipient: undefined,
  }
  expect(refusals).toMatchObject(
    ['ada', 'x'.repeat(255), 'ada'].map((login) => ({
      ...told,
      login,
      reply: expect.stringMatching(/^5\.7\.8 /) as string,
    })),
  )
})

test('a trusted client ends its session with the third wrong password, too', async () => {
  const client = await secured(await listenWith({ trust: ['127.0.0.1'] }))
  for (let i = 0; i < 3; i++) await client.say(plainAuth('ada', 'wrong'))
  expect(await client.reply()).toMatch(/^421 4\.7\.0 /)
})

test.each([
  ['cancelled PLAIN', ['AUTH PLAIN', '*'], /^501 5\.5\.4 /],
  ['cancelled at the name', ['AUTH LOGIN', '*'], /^501 5\.5\.4 /],
  ['cancelled at the password', ['AUTH LOGIN', base64('ada'), '*'], /^501 5\.5\.4 /],
  ['an empty initial response', ['AUTH PLAIN ='], /^501 /],
  ['an empty name', ['AUTH LOGIN ='], /^501 /],
  ['PLAIN without its two NULs', [`AUTH PLAIN ${base64('ada')}`], /^501 /],
  ['an initial response that is no base64', ['AUTH PLAIN ada:secret'], /^501 5\.5\.2 /],
  ['a response that is no base64', ['AUTH PLAIN', 'AUTH PLAIN'], /^501 5\.5\.2 /],
  ['a password that is no base64', ['AUTH LOGIN', base64('ada'), 'se cret'], /^501 5\.5\.2 /],
  ['a mechanism that there is not', ['AUTH CRAM-MD5'], /^504 5\.5\.4 /],
  ['a token of another service', [`AUTH XOAUTH2 ${base64('user=ada')}`], /^504 5\.5\.4 /],
  ['no mechanism', ['AUTH'], /^504 5\.5\.4 /],
  ['in the name of another', [plainAuth('ada', 'secret', 'grace')], /^535 5\.7\.8 /],
  ['a name that there is not', [plainAuth('grace', 'secret')], /^535 5\.7\.8 /],
  ['a transaction under way', ['MAIL FROM:<s@example.org>', right], /^503 5\.5\.1 /],
])('%s is no login, and the session goes on', async (_, lines, reply) => {
  const client = await secured(await listenWith())
  let last = ''
  for (const line of lines) last = await client.say(line)
  expect(last).toMatch(reply)
  expect(await client.say('RSET')).toMatch(/^250 /)
  expect(await client.say(right)).toMatch(/^235 /)
})

test.each([
  ['in his own name', [plainAuth('ada', 'secret', 'ada')]],
  ['without an initial response', ['AUTH PLAIN', base64('\0ada\0secret')]],
  ['in small letters', [`auth login ${base64('ada')}`, base64('secret')]],
])('a login %s is one', async (_, lines) => {
  const client = await secured(await listenWith())
  let last = ''
  for (const line of lines) last = await client.say(line)
  expect(last).toMatch(/^235 /)
})

test('a password that cannot be looked at is no wrong one: the client is told to come again', async () => {
  const errors: Error[] = []
  const refusals: Refusal[] = []
  // More memory than there is for it.
  const users = new Map([...relay.users].map(([name, hash]) => [name, { ...hash, ln: 40 }]))
  const client = await secured(
    await listenWith({
      users,
      onError: (error) => void errors.push(error),
      onRefusal: (refusal) => void refusals.push(refusal),
    }),
  )
  expect(await client.say(right)).toBe('454 4.7.0 try again later')
  expect(errors).toHaveLength(1)
  expect(refusals).toMatchObject([{ login: 'ada', reply: '4.7.0 try again later' }])
})

test('a login behind too many others is told to come again, not that its password is wrong', async () => {
  // A second or more.
  const slow = { ...hashOfCost('secret', 15), p: 16 }
  const listener = await listenWith({
    users: new Map([...relay.users, ['eve', slow]]),
    sessionsPerClientMax: 500,
  })
  const [first, ...others] = await Promise.all(Array.from({ length: 202 }, () => secured(listener)))
  first!.send(`${plainAuth('eve', 'secret')}\r\n`)
  const replies = await Promise.all(others.map((client) => client.say(right)))
  expect(replies.filter((reply) => reply.startsWith('235 '))).toHaveLength(200)
  expect(replies.filter((reply) => reply === '454 4.7.0 try again later')).toHaveLength(1)
})

test('AUTH is refused behind HELO, and behind a login', async () => {
  const listener = await listenWith()
  expect(await (await secured(listener, 'HELO c.example')).say(right)).toMatch(/^503 /)
  const client = await secured(listener)
  expect(await client.say(right)).toMatch(/^235 /)
  expect(await client.say(plainAuth('ada', 'wrong'))).toMatch(/^503 /)
})

test('MAIL may name another sender: AUTH=<> and AUTH=address are accepted and not trusted', async () => {
  const client = await secured(await listenWith())
  expect(await client.say('MAIL FROM:<s@example.org> AUTH=<>')).toMatch(/^250 /)
  await client.say('RSET')
  expect(await client.say('MAIL FROM:<s@example.org> AUTH=ada+40example.org')).toMatch(/^250 /)
  expect(await client.say('RCPT TO:<r@example.net>')).toMatch(/^554 5\.7\.1 /)
})

test('a response without an end ends the session', async () => {
  const client = await secured(await listenWith())
  await client.say('AUTH PLAIN')
  client.send('A'.repeat(20_000))
  expect(await client.reply()).toMatch(/^421 /)
  await client.closed
})

test('a stranger who asks 10 000 times, without waiting, has three passwords looked at', async () => {
  const refusals: Refusal[] = []
  const listener = await listenWith({ onRefusal: (refusal) => void refusals.push(refusal) })
  const client = await secured(listener)
  client.send(`${plainAuth('ada', 'wrong')}\r\n`.repeat(10_000))
  await client.closed
  expect(refusals).toHaveLength(3)
  expect(await (await secured(listener)).say(right)).toMatch(/^235 /)
})

test('a stranger who begins to log in and cancels it again and again is turned away', async () => {
  const client = await secured(await listenWith())
  let last = ''
  for (let i = 0; i <= 20; i++) {
    await client.say('AUTH LOGIN')
    last = await client.say('*')
  }
  expect(last).toMatch(/^421 4\.7\.0 /)
})

test('a stranger who stops in the middle of AUTH is disconnected', async () => {
  const client = await secured(await listenWith({ idleTimeoutMs: 200 }))
  await client.say('AUTH LOGIN')
  await client.say(base64('ada'))
  expect(await client.reply()).toMatch(/^421 /)
  await client.closed
})

test('a user that has logged in is refused as often as a trusted client', async () => {
  const client = await secured(await listenWith())
  await client.say(right)
  let last = ''
  for (let i = 0; i < 40; i++) last = await client.say('RCPT TO:<r@example.net>')
  expect(last).toMatch(/^503 /)
})

test('a client that has logged in leaves its place to a stranger, and takes a trusted one', async () => {
  const listener = await listenWith({ sessionsPerClientMax: 1, sessionsMax: 2 })
  const first = await secured(listener)
  expect(await (await connected(listener)).reply()).toMatch(/^421 4\.7\.0 /)
  await first.say(right)
  const second = await secured(listener)
  await second.say(right)
  const third = await secured(listener)
  expect(await third.say(right)).toMatch(/^421 4\.3\.2 /)
  await third.closed
  expect(await first.say('NOOP')).toMatch(/^250 /)
})
