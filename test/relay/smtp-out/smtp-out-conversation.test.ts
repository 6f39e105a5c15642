/** A caller gets what was said with a server, behind each transaction, without logins and data. */
import { expect, onTestFinished, test } from 'vitest'
import type { Conversation } from '../../../src/delivery/conversation.js'
import { certificate } from '../certificate.js'
import { deliver } from '../request.js'
import { between, transportOf } from './smtp-out-fixture.js'
import { tlsServer } from '../tls-server.js'

const textsOf = ({ lines }: Conversation): string[] =>
  lines.map(({ by, text }) => `${by === 'client' ? '>' : '<'} ${text}`)

test('the first has the greeting, and each all that concerns its message', async () => {
  const told: [string, Conversation][] = []
  const { server, transport } = await between(
    (line) => (line.startsWith('RCPT TO:<no') ? '550 5.1.1 nobody' : undefined),
    { hostname: 'relay.example.org', onConversation: (...one) => told.push(one) },
  )
  const before = Date.now()
  await deliver(transport, { id: 'one' }, Buffer.from('Subject: x\r\n\r\na body that is data\r\n'))
  await deliver(transport, { id: 'two', recipients: ['no@example.net'] })
  expect(told.map(([id, { server: name }]) => [id, name])).toEqual([
    ['one', `${server.host}:${server.port}`],
    ['two', `${server.host}:${server.port}`],
  ])
  const [first, second] = told.map(([, conversation]) => conversation)
  expect(first!.at).toBeGreaterThanOrEqual(before)
  const texts = textsOf(first!)
  expect(texts[0]).toMatch(/^< 220/)
  expect(texts[1]).toBe('> EHLO relay.example.org')
  expect(texts[3]).toMatch(/^> MAIL FROM:</)
  expect(texts.at(-1)).toMatch(/^< 250/)
  expect(texts.join('\n')).not.toContain('a body that is data')
  expect(textsOf(second!)[0]).toMatch(/^> MAIL FROM:</)
  expect(textsOf(second!)).toContain('< 550 5.1.1 nobody')
})

test('a reply in UTF-8 is shown as that, and what is no reply, too', async () => {
  const told: Conversation[] = []
  const { transport } = await between(
    (line) =>
      line.startsWith('RCPT TO:<no')
        ? '550 5.1.1 Empf\u00e4nger – nein'
        : line.startsWith('RCPT')
          ? 'Gr\u00fc\u00dfe'
          : undefined,
    { onConversation: (_, conversation) => told.push(conversation) },
  )
  await deliver(transport, { recipients: ['no@example.net'] })
  expect(textsOf(told[0]!)).toContain('< 550 5.1.1 Empfänger – nein')
  expect(await deliver(transport)).toMatchObject({ reason: 'not an SMTP reply: Grüße' })
})

test('a caller that throws changes nothing: what was taken is delivered, once', async () => {
  const warnings: string[] = []
  const hear = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  let isAsync = false
  const { server, transport } = await between(undefined, {
    onConversation: () => {
      if (isAsync) return Promise.reject(new Error('of its own, later')) as never
      throw new Error('of its own')
    },
  })
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  isAsync = true
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  await expect.poll(() => warnings).toHaveLength(2)
  expect(warnings.every((text) => text.includes("a listener of 'onConversation' failed"))).toBe(true)
  expect(server.sessionCount()).toBe(1)
})

test('a login is told without what it consists of', async () => {
  const told: Conversation[] = []
  const server = await tlsServer(certificate, {
    authOptional: false,
    disabledCommands: [],
    onAuth: (_login, _session, done) => done(null, { user: 'me' }),
  })
  const transport = transportOf({
    host: 'localhost',
    port: server.port,
    tls: 'required',
    tlsOptions: { ca: certificate.cert },
    auth: { user: 'me', pass: 'open sesame' },
    onConversation: (_id, conversation) => told.push(conversation),
  })
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  const texts = textsOf(told[0]!)
  expect(texts).toContain('> STARTTLS')
  expect(texts).toContain('> AUTH …')
  const secrets = [
    'open sesame',
    ...['open sesame', '\0me\0open sesame', 'me'].map((one) => Buffer.from(one).toString('base64')),
  ]
  for (const secret of secrets) expect(texts.join('\n')).not.toContain(secret)
  expect(texts.some((text) => text.startsWith('> MAIL FROM:'))).toBe(true)
})
