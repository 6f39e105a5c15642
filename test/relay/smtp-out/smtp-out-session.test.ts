import { randomBytes } from 'node:crypto'
import { createServer, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryRequest } from '../../../src/delivery/transport.js'
import { smtpTransport } from '../../../src/relay/smtp-out/smtp-out.js'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import { deliver, requestOf, someData } from '../request.js'
import { between, transportOf } from './smtp-out-fixture.js'

test.each([
  ['dots at line starts', Buffer.from('.\r\n..\r\n.a\r\n...\r\nb.\r\n')],
  ['nothing but a dot', Buffer.from('.\r\n')],
  [
    'eight bits',
    Buffer.from([...Array(256).keys()].filter((byte) => byte !== 13 && byte !== 10).concat(13, 10)),
  ],
  ['no dot, no end of its last line but CRLF', Buffer.from('a\r\n.b\r\n')],
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

test.each([
  ['no', '554 5.7.1 no', { kind: 'failed' }],
  ['yes', '250 2.0.0 taken', { kind: 'site', status: '4.5.0' }],
])(
  'a server that says %s in the middle of the data is left, and nothing is said to it any more',
  async (_word, reply, result) => {
    let heard = ''
    let isClosed = false
    const server = createServer((socket) => {
      onTestFinished(() => void socket.destroy())
      socket.write('220 x\r\n')
      socket.on('error', () => undefined)
      socket.once('close', () => (isClosed = true))
      socket.on('data', (chunk) => {
        heard += chunk.toString('latin1')
        if (chunk.toString().startsWith('EHLO')) socket.write('250-x\r\n250 8BITMIME\r\n')
        else if (/^(MAIL|RCPT)/.test(chunk.toString())) socket.write('250 x\r\n')
        else if (chunk.toString().startsWith('DATA')) socket.write('354 x\r\n')
        else if (heard.endsWith('half a message\r\n')) socket.write(`${reply}\r\n`)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    onTestFinished(() => void server.close())
    const transport = transportOf({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
    const data = new Readable({ read: () => undefined })
    data.push('half a message\r\n')
    const request = requestOf(Buffer.alloc(0), { dataBytes: 2 << 20, stream: () => data })
    expect(await transport.deliver(request, new AbortController().signal)).toMatchObject(result)
    await expect.poll(() => isClosed).toBe(true)
    expect(heard).toMatch(/half a message\r\n$/)
  },
)

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

const letters = 'gr\u00fc\u00dfe'
const long = 'x'.repeat(70).concat('\r\n').repeat(20_000)
test.each<[string, Partial<DeliveryRequest>, string]>([
  ['a recipient', { recipients: [`${letters}@example.net`] }, 'Subject: x\r\n\r\n'],
  ['a sender', { sender: `${letters}@example.net` }, 'Subject: x\r\n\r\n'],
  ['a header', {}, `Subject: x\r\nTo: ${letters}@example.net\r\n\r\n`],
  ['the end of a header that is all there is', {}, `Subject: x\r\nTo: ${letters}`],
  ['a header above a long body', {}, `Subject: ${letters}\r\n\r\n${long}`],
])(
  'a message with other letters than ASCII in %s fails at a server without SMTPUTF8',
  async (_, more, text) => {
    const { server, transport } = await between(undefined, {}, ['PIPELINING'])
    expect(await deliver(transport, { smtputf8: true, ...more }, Buffer.from(text))).toMatchObject({
      kind: 'failed',
      status: '5.6.7',
    })
    expect(server.taken).toHaveLength(0)
  },
)

test.each([
  ['short', `Subject: x\r\n\r\n${letters}\r\n`],
  ['long', `Subject: x\r\n\r\n${letters}\r\n${long}`],
  ['without a header', `\r\n${letters}\r\n`],
])(
  'a %s message that was sent with SMTPUTF8 and does not need it goes to a server without',
  async (_, text) => {
    const { server, transport } = await between(undefined, {}, ['8BITMIME'])
    const data = Buffer.from(text)
    expect(await deliver(transport, { smtputf8: true }, data)).toMatchObject({ kind: 'delivered' })
    expect(server.taken[0]?.commands[0]).not.toContain('SMTPUTF8')
    expect(server.taken[0]?.data.equals(data)).toBe(true)
  },
)

test('data that cannot be read when its header is looked at takes no place', async () => {
  const { transport } = await between(undefined, { connectionsMax: 1 }, [])
  const damaged = (): Readable =>
    new Readable({
      read: (): never => {
        throw new Error('checksum')
      },
    })
  const request = requestOf(someData, { smtputf8: true, dataBytes: 5_000_000, stream: damaged })
  await expect(transport.deliver(request, new AbortController().signal)).rejects.toThrow('checksum')
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
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

test('angle brackets within quotes leave as they are, and each recipient has the own outcome', async () => {
  const { server, transport } = await between((line) =>
    line.includes('"n>o"@') ? '550 5.1.1 no such user' : undefined,
  )
  const recipients = ['"<"@example.net', '"n>o"@example.net', 'ok@example.net']
  const sender = '"<a>"@example.org'
  expect(await deliver(transport, { sender, recipients })).toMatchObject([
    { kind: 'delivered' },
    { kind: 'failed', status: '5.1.1' },
    { kind: 'delivered' },
  ])
  const said = server.taken[0]?.commands.map((line) => line.replace(/ (?:BODY|SIZE)=.*/, ''))
  expect(said?.slice(0, 4)).toEqual([
    'MAIL FROM:<"<a>"@example.org>',
    'RCPT TO:<"<"@example.net>',
    'RCPT TO:<"n>o"@example.net>',
    'RCPT TO:<ok@example.net>',
  ])
})

test('dots that a path has in quotes alone leave in quotes, and each recipient has the own outcome', async () => {
  const { server, transport } = await between((line) =>
    line.includes('"b."@') ? '550 5.1.1 no such user' : undefined,
  )
  const recipients = ['a..b@example.net', 'b.@example.net', '"b."@example.net', 'a.b@example.net']
  expect(await deliver(transport, { sender: '.a@example.org', recipients })).toMatchObject([
    { kind: 'delivered' },
    { kind: 'failed', status: '5.1.1' },
    { kind: 'failed', status: '5.1.1' },
    { kind: 'delivered' },
  ])
  const said = server.taken[0]?.commands.map((line) => line.replace(/ (?:BODY|SIZE)=.*/, ''))
  expect(said?.slice(0, 5)).toEqual([
    'MAIL FROM:<".a"@example.org>',
    'RCPT TO:<"a..b"@example.net>',
    'RCPT TO:<"b."@example.net>',
    'RCPT TO:<"b."@example.net>',
    'RCPT TO:<a.b@example.net>',
  ])
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
  expect(await transport.deliver(new Instance(), new AbortController().signal)).toMatchObject({
    kind: 'delivered',
  })
})

test('the null sender is an empty path', async () => {
  const { server, transport } = await between()
  await deliver(transport, { sender: '' })
  expect(server.taken[0]?.commands[0]).toMatch(/^MAIL FROM:<>/)
})

test('credentials without verified TLS are refused at once', () => {
  expect(() => smtpTransport({ auth: { user: 'u', pass: 'p' } })).toThrow(/TLS/)
})

test.each([
  [{ hots: 'mx.example.net' }, 'hots'],
  [{ tls: 'require' }, 'tls'],
  [{ tls: true }, 'tls'],
  [{ port: '25' }, 'port'],
  [{ port: 65_536 }, 'port'],
  [{ host: '' }, 'host'],
  [{ host: 'mx one' }, 'host'],
  [{ hostname: 'here\r\nMAIL FROM:<>' }, 'hostname'],
  [{ tlsOptions: 'TLSv1.3' }, 'tlsOptions'],
  [{ tls: 'required', auth: { user: 'me' } }, 'auth'],
  [{ tls: 'required', auth: 'me:secret' }, 'auth'],
  [{ connectionReuse: { idle: 5 } }, 'connectionReuse.idle'],
  [{ connectionReuse: false }, 'connectionReuse'],
  [{ connectionReuse: { idleMs: -1 } }, 'connectionReuse.idleMs'],
  [{ connectionReuse: { messagesMax: NaN } }, 'connectionReuse.messagesMax'],
  [{ connectTimeoutMs: '30s' }, 'connectTimeoutMs'],
  [{ greetingTimeoutMs: 0 }, 'greetingTimeoutMs'],
  [{ silenceTimeoutMs: 2 ** 31 }, 'silenceTimeoutMs'],
  [{ connectionsMax: 0 }, 'connectionsMax'],
  [{ connectionsMax: NaN }, 'connectionsMax'],
])(
  'a mistake in the options is refused: mail would go astray or unencrypted, or wait for ever: %o',
  (options, option) => {
    expect(() => smtpTransport(options as SmtpTransportOptions)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', place: { option } }),
    )
  },
)

test('a reference cannot be sent, and is tried again', async () => {
  const { transport } = await between()
  const data = (): Promise<{ ref: string }> => Promise.resolve({ ref: 's3://bucket/1' })
  expect(await deliver(transport, { data })).toMatchObject({ kind: 'deferred', status: '4.3.5' })
})

test.each([
  'x@y.example> NOTIFY=NEVER ORCPT=rfc822;(@',
  'a@good.example\u0001b@evil.example\u0002',
  '"a\nb"@example.net',
  'a<b@example.net',
])('%j, which is no address, is written nowhere and fails alone', async (wrong) => {
  const { server, transport } = await between()
  const recipients = [wrong, 'ok@example.net', '"a>b"@example.net']
  expect(await deliver(transport, { recipients })).toMatchObject([
    { kind: 'failed', status: '5.1.3' },
    { kind: 'delivered' },
    { kind: 'delivered' },
  ])
  expect(server.taken.map((taken) => taken.recipients)).toEqual([['ok@example.net', '"a>b"@example.net']])
  expect(await deliver(transport, { sender: wrong })).toMatchObject({ kind: 'failed', status: '5.1.7' })
  expect(server.taken).toHaveLength(1)
})
