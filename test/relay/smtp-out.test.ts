import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterEach, expect, test } from 'vitest'
import type { DeliveryRequest, Transport } from '../../src/delivery/transport.js'
import { smtpTransport, type SmtpTransportOptions } from '../../src/relay/smtp-out.js'
import { foreignServer, type Answer, type ForeignServer, type ForeignSession } from './foreign-server.js'
import { deliver, requestOf, someData } from './request.js'

const closing: { close?(): void }[] = []
afterEach(() => {
  for (const one of closing.splice(0)) one.close?.()
})

async function between(
  script: (line: string, session: ForeignSession) => Answer | undefined = () => undefined,
  options: SmtpTransportOptions = {},
  extensions?: readonly string[],
): Promise<{ server: ForeignServer; transport: Transport }> {
  const server = await foreignServer(script, extensions)
  const transport = smtpTransport({
    host: server.host,
    port: server.port,
    tls: 'none',
    ...options,
  })
  closing.push(server, transport)
  return { server, transport }
}

test('a delivered message has the reply of the server', async () => {
  const { transport } = await between()
  expect(await deliver(transport)).toEqual({ kind: 'delivered', response: '250 2.0.0 taken' })
})

test.each([
  ['dots at line starts', Buffer.from('.\r\n..\r\n.a\r\n...\r\nb.\r\n')],
  ['nothing but a dot', Buffer.from('.\r\n')],
  [
    'eight bits',
    Buffer.from([...Array(256).keys()].filter((byte) => byte !== 13 && byte !== 10).concat(13, 10)),
  ],
  ['a line of 998', Buffer.from(`${'x'.repeat(998)}\r\n`)],
  [
    '64 KiB',
    Buffer.from(
      `${
        randomBytes(24_000)
          .toString('base64')
          .match(/.{1,76}/g)
          ?.join('\r\n') ?? ''
      }\r\n`,
    ),
  ],
])('data with %s arrives byte-identical', async (_name, data) => {
  const { server, transport } = await between()
  expect(await deliver(transport, {}, data)).toMatchObject({ kind: 'delivered' })
  expect(server.taken[0]?.data.equals(data)).toBe(true)
})

test('a bare line feed leaves as CRLF, and a dot after it does not end the data', async () => {
  const { server, transport } = await between()
  await deliver(transport, {}, Buffer.from('a\n.\nb\r.\rc\r\n'))
  expect(server.taken[0]?.data.toString()).toBe('a\r\n.\r\nb\r\n.\r\nc\r\n')
})

test('data over a mebibyte is streamed and arrives byte-identical', async () => {
  const { server, transport } = await between()
  const data = Buffer.from('.line of a long message\r\n'.repeat(60_000))
  const request = requestOf(data, { data: () => Promise.reject(new Error('must not be read at once')) })
  expect(await transport.deliver(request, new AbortController().signal)).toMatchObject({ kind: 'delivered' })
  expect(server.taken[0]?.data.equals(data)).toBe(true)
})

test('data that breaks off is not ended with a dot, and the error is the one of the data', async () => {
  const { server, transport } = await between()
  const failing = (): Readable =>
    Readable.from(
      (async function* () {
        yield someData
        throw Object.assign(new Error('checksum'), { code: 'DATA_CORRUPT' })
      })(),
    )
  const request = requestOf(someData, { dataBytes: 5_000_000, stream: failing })
  await expect(transport.deliver(request, new AbortController().signal)).rejects.toMatchObject({
    code: 'DATA_CORRUPT',
  })
  expect(server.taken).toHaveLength(0)
})

test('each recipient has the outcome of its own RCPT', async () => {
  const { server, transport } = await between((line) =>
    line.includes('<no@') ? '550 5.1.1 no such user' : line.includes('<full@') ? '452 4.2.2 full' : undefined,
  )
  const recipients = ['yes@example.net', 'no@example.net', 'full@example.net', 'also@example.net']
  expect(await deliver(transport, { recipients })).toEqual([
    { kind: 'delivered', response: '250 2.0.0 taken' },
    { kind: 'failed', status: '5.1.1', reason: '550 5.1.1 no such user' },
    { kind: 'deferred', status: '4.2.2', reason: '452 4.2.2 full' },
    { kind: 'delivered', response: '250 2.0.0 taken' },
  ])
  expect(server.taken[0]?.recipients).toEqual(['yes@example.net', 'also@example.net'])
})

test('a recipient refused before the data is refused keeps its own outcome', async () => {
  const { transport } = await between((line) =>
    line.includes('<no@') ? '550 5.1.1 no such user' : line === '.' ? '451 4.7.1 greylisted' : undefined,
  )
  expect(await deliver(transport, { recipients: ['no@example.net', 'yes@example.net'] })).toEqual([
    { kind: 'failed', status: '5.1.1', reason: expect.stringContaining('no such user') as string },
    { kind: 'deferred', status: '4.7.1', reason: expect.stringContaining('greylisted') as string },
  ])
})

test('a recipient refused before the connection breaks keeps its own outcome', async () => {
  const { transport } = await between((line) =>
    line.includes('<no@') ? '550 5.1.1 no such user' : line === '.' ? { does: 'close' } : undefined,
  )
  expect(await deliver(transport, { recipients: ['no@example.net', 'yes@example.net'] })).toMatchObject([
    { kind: 'failed', status: '5.1.1' },
    { kind: 'deferred', status: '4.4.2' },
  ])
})

test.each([
  ['MAIL', '550 5.7.1 not you', 'failed', '5.7.1'],
  ['MAIL', '451 later', 'deferred', '4.0.0'],
  ['RCPT', '550 nobody', 'failed', '5.0.0'],
  ['RCPT', '552 too many recipients', 'deferred', '4.5.3'],
  ['DATA', '554 5.7.1 no', 'failed', '5.7.1'],
  ['DATA', '451 4.3.0 no', 'deferred', '4.3.0'],
  ['.', '554 5.6.0 spam', 'failed', '5.6.0'],
  ['.', '450-4.2.0 two\r\n450 4.2.0 lines', 'deferred', '4.2.0'],
  ['.', '550 4.2.0 class of code and status differ', 'failed', '5.0.0'],
  ['.', '503 bad sequence', 'deferred', '4.5.1'],
  ['.', 'what?', 'deferred', '4.5.0'],
])('%s answered with "%s" is %s with status %s', async (verb, reply, kind, status) => {
  const { transport } = await between((line) => (line.startsWith(verb) ? reply : undefined))
  const result = await deliver(transport)
  expect(Array.isArray(result) ? result[0] : result).toMatchObject({ kind, status })
})

test.each(['GREETING', 'EHLO', 'MAIL', 'RCPT', 'DATA'])(
  'a server that closes at %s is site trouble, and the data may not have been delivered',
  async (stage) => {
    const { transport } = await between((line) => (line.startsWith(stage) ? { does: 'close' } : undefined))
    const result = await deliver(transport)
    expect(result).toMatchObject({ kind: 'site' })
    expect(result).not.toMatchObject({ status: '4.4.2' })
  },
)

test.each(['GREETING', 'EHLO', 'MAIL', 'RCPT', 'DATA', '.'])(
  'a server that is silent at %s is site trouble after the timeout',
  async (stage) => {
    const { transport } = await between((line) => (line.startsWith(stage) ? { does: 'hang' } : undefined), {
      connectTimeoutMs: 300,
      greetingTimeoutMs: 300,
      silenceTimeoutMs: 300,
    })
    const result = await deliver(transport)
    expect(result).toMatchObject({ kind: 'site', status: stage === '.' ? '4.4.2' : '4.4.1' })
  },
)

test('a connection lost after the final dot says that the message may have been delivered', async () => {
  const { transport } = await between((line) => (line === '.' ? { does: 'close' } : undefined))
  expect(await deliver(transport)).toMatchObject({
    kind: 'site',
    status: '4.4.2',
    reason: expect.stringContaining('may have been delivered') as string,
  })
})

test.each([
  ['554 5.3.2 go away', '4.3.2'],
  ['421 busy', '4.4.0'],
  ['SSH-2.0-OpenSSH_9.2', '4.4.0'],
])('the greeting "%s" is site trouble with status %s', async (greeting, status) => {
  const { transport } = await between((line) => (line === 'GREETING' ? greeting : undefined))
  expect(await deliver(transport)).toMatchObject({ kind: 'site', status })
})

test('a port where nobody listens is site trouble that names it', async () => {
  const { server, transport } = await between()
  server.close()
  expect(await deliver(transport)).toMatchObject({
    kind: 'site',
    status: '4.4.1',
    reason: expect.stringContaining(`127.0.0.1:${server.port}`) as string,
  })
})

test('the second message goes over the same connection', async () => {
  const { server, transport } = await between()
  await deliver(transport)
  await deliver(transport)
  expect(server.taken.map(({ session }) => session)).toEqual([1, 1])
})

test('a connection is left after as many messages as allowed', async () => {
  const { server, transport } = await between(undefined, { connectionReuse: { messagesMax: 2 } })
  for (let i = 0; i < 5; i++) await deliver(transport)
  expect(server.taken.map(({ session }) => session)).toEqual([1, 1, 2, 2, 3])
})

test('an idle connection is ended after its time', async () => {
  const { server, transport } = await between(undefined, { connectionReuse: { idleMs: 20 } })
  await deliver(transport)
  await expect.poll(() => server.openCount(), { timeout: 2000 }).toBe(0)
  expect(server.commands.at(-1)).toBe('1 QUIT')
})

test('a transaction that was refused is left before the connection is used again', async () => {
  const { server, transport } = await between((line) => (line.includes('<no@') ? '550 5.1.1 no' : undefined))
  await deliver(transport, { recipients: ['no@example.net'] })
  await expect.poll(() => server.commands.includes('1 RSET')).toBe(true)
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
})

test('a reused connection that the server ends at MAIL is replaced within the attempt', async () => {
  for (const answer of [{ does: 'close' }, { reply: '421 4.4.2 idle too long', does: 'close' }] as const) {
    const { server, transport } = await between((line, session) =>
      line.startsWith('MAIL') && session.number === 1 && session.taken === 1 ? answer : undefined,
    )
    await deliver(transport)
    expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
    expect(server.taken.map(({ session }) => session)).toEqual([1, 2])
  }
})

test('a fresh connection that the server ends at MAIL is not replaced', async () => {
  const { server, transport } = await between((line) =>
    line.startsWith('MAIL') ? { does: 'close' } : undefined,
  )
  expect(await deliver(transport)).toMatchObject({ kind: 'site' })
  expect(server.sessionCount()).toBe(1)
})

test.each(['RCPT', 'DATA', '.'])(
  'a reused connection that breaks at %s, after MAIL was accepted, is not replaced',
  async (stage) => {
    const { server, transport } = await between((line, session) =>
      line.startsWith(stage) && session.taken === 1 ? { does: 'close' } : undefined,
    )
    await deliver(transport)
    expect(await deliver(transport)).toMatchObject({ kind: 'site' })
    expect(server.sessionCount()).toBe(1)
  },
)

test('a connection that the server ended while it was idle is not used', async () => {
  const { server, transport } = await between()
  await deliver(transport)
  server.endSessions()
  await expect.poll(() => server.openCount()).toBe(0)
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  expect(server.taken.map(({ session }) => session)).toEqual([1, 2])
})

test('more attempts than connections wait for each other, and all arrive', async () => {
  const { server, transport } = await between(undefined, { connectionsMax: 2 })
  const results = await Promise.all(Array.from({ length: 30 }, () => deliver(transport)))
  expect(results.every((result) => 'kind' in result && result.kind === 'delivered')).toBe(true)
  expect(server.taken).toHaveLength(30)
  expect(server.sessionCount()).toBe(2)
})

test('an idle connection to one destination makes room for another', async () => {
  const { server } = await between()
  const other = await foreignServer()
  const transport = smtpTransport({ tls: 'none', connectionsMax: 1 })
  closing.push(other, transport)
  const nexthops = Array.from({ length: 6 }, (_, i) => `127.0.0.1:${(i % 2 === 0 ? server : other).port}`)
  const results = await Promise.all(nexthops.map((nexthop) => deliver(transport, { nexthop })))
  expect(results.every((result) => 'kind' in result && result.kind === 'delivered')).toBe(true)
  expect(server.taken.length).toBe(3)
  expect(other.taken.length).toBe(3)
})

test('a place is not lost when a connection fails', async () => {
  let refuse = true
  const { transport } = await between(
    (line) => (line === 'GREETING' && refuse ? { does: 'close' } : undefined),
    {
      connectionsMax: 1,
    },
  )
  await Promise.all([deliver(transport), deliver(transport), deliver(transport)])
  refuse = false
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
})

test('a nexthop that is no host costs no place', async () => {
  const { server } = await between()
  const transport = smtpTransport({ tls: 'none', connectionsMax: 1 })
  closing.push(transport)
  for (let i = 0; i < 3; i++) {
    expect(await deliver(transport, { nexthop: 'no host' })).toMatchObject({ kind: 'site', status: '4.4.3' })
  }
  expect(await deliver(transport, { nexthop: `127.0.0.1:${server.port}` })).toMatchObject({
    kind: 'delivered',
  })
})

test('an aborted attempt drops its connection', async () => {
  const { server, transport } = await between((line) => (line === '.' ? { does: 'hang' } : undefined), {
    silenceTimeoutMs: 60_000,
  })
  const controller = new AbortController()
  const result = transport.deliver(requestOf(someData), controller.signal)
  await expect.poll(() => server.commands.length).toBeGreaterThan(3)
  controller.abort()
  expect(await result).toMatchObject({ kind: 'site' })
  await expect.poll(() => server.openCount()).toBe(0)
})

test('close drops every connection', async () => {
  const { server, transport } = await between()
  await Promise.all(Array.from({ length: 5 }, () => deliver(transport)))
  transport.close?.()
  await expect.poll(() => server.openCount()).toBe(0)
})

test('the size and eight bits are announced, and SMTPUTF8 for a header that needs it', async () => {
  const { server, transport } = await between()
  const data = Buffer.from('Subject: grüße\r\n\r\n')
  await deliver(transport, { smtputf8: true }, data)
  const [mail] = server.taken[0]?.commands ?? []
  expect(mail).toContain(`SIZE=${data.length}`)
  expect(mail).toContain('BODY=8BITMIME')
  expect(mail?.match(/SMTPUTF8/g)).toHaveLength(1)
})

test('an address with other letters says SMTPUTF8 once', async () => {
  const { server, transport } = await between()
  await deliver(transport, { smtputf8: true, recipients: ['grüße@example.net'] })
  expect(server.taken[0]?.commands[0]?.match(/SMTPUTF8/g)).toHaveLength(1)
  expect(server.taken[0]?.recipients).toEqual(['grüße@example.net'])
})

test('a message that needs SMTPUTF8 fails at a server without it', async () => {
  const { server, transport } = await between(undefined, {}, ['PIPELINING'])
  expect(await deliver(transport, { smtputf8: true })).toMatchObject({ kind: 'failed', status: '5.6.7' })
  expect(server.taken).toHaveLength(0)
})

test('a message over the size that the server announces fails without being sent', async () => {
  const { server, transport } = await between(undefined, {}, ['SIZE 10'])
  expect(await deliver(transport)).toMatchObject({ kind: 'failed', status: '5.3.4' })
  expect(server.taken).toHaveLength(0)
})

test('a server without pipelining gets one command at a time', async () => {
  const { server, transport } = await between(undefined, {}, [])
  expect(await deliver(transport, { recipients: ['a@example.net', 'b@example.net'] })).toMatchObject({
    kind: 'delivered',
  })
  expect(server.taken[0]?.recipients).toHaveLength(2)
})

test('an address without a form in SMTP fails alone', async () => {
  const { server, transport } = await between()
  expect(await deliver(transport, { recipients: ['"a>b"@example.net', 'ok@example.net'] })).toMatchObject([
    { kind: 'failed', status: '5.1.3' },
    { kind: 'delivered' },
  ])
  expect(server.taken[0]?.recipients).toEqual(['ok@example.net'])
})

test('a request may be an instance whose members are on its class', async () => {
  const plain = requestOf(someData, { recipients: ['"a>b"@example.net', 'ok@example.net'] })
  class Instance implements DeliveryRequest {
    readonly #plain = plain
    readonly recipients = plain.recipients
    get id() {
      return this.#plain.id
    }
    get attempts() {
      return this.#plain.attempts
    }
    get sender() {
      return this.#plain.sender
    }
    get nexthop() {
      return this.#plain.nexthop
    }
    get acceptedAt() {
      return this.#plain.acceptedAt
    }
    get dataBytes() {
      return this.#plain.dataBytes
    }
    get smtputf8() {
      return this.#plain.smtputf8
    }
    data() {
      return this.#plain.data()
    }
    stream() {
      return this.#plain.stream()
    }
  }
  const { transport } = await between()
  expect(await transport.deliver(new Instance(), new AbortController().signal)).toMatchObject([
    { kind: 'failed' },
    { kind: 'delivered' },
  ])
})

test('the null sender is an empty path', async () => {
  const { server, transport } = await between()
  await deliver(transport, { sender: '' })
  expect(server.taken[0]?.commands[0]).toMatch(/^MAIL FROM:<>/)
})

test('without a host the nexthop is connected to', async () => {
  const { server } = await between()
  const transport = smtpTransport({ tls: 'none' })
  closing.push(transport)
  for (const nexthop of [
    `127.0.0.1:${server.port}`,
    `[127.0.0.1]:${server.port}`,
    `localhost:${server.port}`,
  ]) {
    expect(await deliver(transport, { nexthop })).toMatchObject({ kind: 'delivered' })
  }
})

/** smtp-server with its certificate for tests, which nobody has signed. */
async function selfSigned(): Promise<{ port: number; secure: () => boolean }> {
  let secure = false
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH'],
    logger: false,
    onData: (stream, session, done) => {
      secure = session.secure
      stream.resume()
      stream.on('end', () => done())
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push({ close: () => server.close(() => {}) })
  return { port: (server.server.address() as AddressInfo).port, secure: () => secure }
}

test.each([
  ['opportunistic', 'delivered', true],
  ['none', 'delivered', false],
  ['required', 'site', false],
] as const)('TLS %s with a certificate nobody signed: %s', async (tls, kind, encrypted) => {
  const { port, secure } = await selfSigned()
  const transport = smtpTransport({ host: '127.0.0.1', port, tls })
  closing.push(transport)
  expect(await deliver(transport)).toMatchObject({ kind })
  expect(secure()).toBe(encrypted)
})

test('required TLS is not given up at a server without it', async () => {
  const { server, transport } = await between((line) => (line === 'STARTTLS' ? '502 5.5.1 no' : undefined), {
    tls: 'required',
  })
  expect(await deliver(transport)).toMatchObject({ kind: 'site' })
  expect(server.taken).toHaveLength(0)
})

test('credentials without verified TLS are refused at once', () => {
  expect(() => smtpTransport({ auth: { user: 'u', pass: 'p' } })).toThrow(/TLS/)
})

test('a reference cannot be sent, and is tried again', async () => {
  const { transport } = await between()
  const data = (): Promise<{ ref: string }> => Promise.resolve({ ref: 's3://bucket/1' })
  expect(await deliver(transport, { data })).toMatchObject({ kind: 'deferred', status: '4.3.5' })
})
