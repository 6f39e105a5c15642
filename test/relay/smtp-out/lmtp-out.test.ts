/** Delivery over LMTP: behind the data each recipient has a separate reply. */
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryResult, Transport } from '../../../src/delivery/transport.js'
import { lmtpTransport, type LmtpTransportOptions } from '../../../src/relay/smtp-out/lmtp-out.js'
import type { Answer, ForeignServer } from '../foreign-server.js'
import { deliver, someData } from '../request.js'
import { scripted } from './smtp-out-fixture.js'

const recipients = ['one@example.net', 'two@example.net', 'three@example.net']

function lmtpTransportOf(options: LmtpTransportOptions): Transport {
  const transport = lmtpTransport(options)
  onTestFinished(() => transport.close?.())
  return transport
}

/** @param answers by the beginning of the line */
async function serverOf(
  answers: Readonly<Record<string, Answer>> = {},
  extensions?: readonly string[],
): Promise<{ server: ForeignServer; transport: Transport }> {
  const said = (line: string): Answer | undefined =>
    Object.entries(answers).find(([begin]) => line.startsWith(begin))?.[1]
  const server = await scripted(said, extensions)
  return { server, transport: lmtpTransportOf({ host: server.host, port: server.port }) }
}

const kindsOf = (result: DeliveryResult): string[] =>
  'kind' in result ? [result.kind] : result.map((outcome) => outcome.kind)

test('it greets with LHLO, and what is taken for all is delivered, dots and all', async () => {
  const { server, transport } = await serverOf()
  const data = Buffer.from('Subject: x\r\n\r\n.\r\n..two\r\n')
  expect(kindsOf(await deliver(transport, { recipients }, data))).toEqual(Array(3).fill('delivered'))
  expect(server.commands[0]).toMatch(/^1 LHLO /)
  expect(server.taken.map((taken) => taken.data.toString())).toEqual([data.toString()])
})

test.each([
  [
    ['250 2.1.5 ok', '452 4.2.2 full', '550 5.1.1 nobody'],
    ['delivered', 'deferred', 'failed'],
  ],
  [
    ['550 5.1.1 nobody', '452 4.2.2 full', '250 2.1.5 ok'],
    ['failed', 'deferred', 'delivered'],
  ],
  [
    ['452 4.2.2 full', '550 5.7.1 no', '452 4.2.2 full'],
    ['deferred', 'failed', 'deferred'],
  ],
])('each recipient has the outcome of its reply: %j', async (replies, kinds) => {
  const { server, transport } = await serverOf({ '.': replies.join('\r\n') })
  const result = await deliver(transport, { recipients })
  expect(kindsOf(result)).toEqual(kinds)
  expect(JSON.stringify(result)).toContain('full')
  // Nothing is sent again at once, and the session goes on.
  expect(server.commands.filter((line) => line.endsWith('DATA'))).toHaveLength(1)
  await deliver(transport, { recipients: ['one@example.net'] })
  expect(server.sessionCount()).toBe(1)
})

test('a recipient that is refused before the data has no reply behind it', async () => {
  const { transport } = await serverOf({
    'RCPT TO:<two@': '550 5.1.1 nobody',
    '.': '250 2.1.5 one\r\n452 4.2.2 three',
  })
  expect(await deliver(transport, { recipients })).toEqual([
    { kind: 'delivered', response: '250 2.1.5 one' },
    { kind: 'failed', status: '5.1.1', reason: '550 5.1.1 nobody' },
    { kind: 'deferred', status: '4.2.2', reason: '452 4.2.2 three' },
  ])
})

test('the replies of one message are not those of the next', async () => {
  const replies = ['250 2.1.5 ok\r\n550 5.1.1 nobody\r\n250 2.1.5 ok', '452 4.2.2 full']
  const server = await scripted((line) => (line === '.' ? replies.shift() : undefined))
  const transport = lmtpTransportOf({ host: server.host, port: server.port })
  expect(kindsOf(await deliver(transport, { recipients }))).toEqual(['delivered', 'failed', 'delivered'])
  expect(kindsOf(await deliver(transport, { recipients: ['one@example.net'] }))).toEqual(['deferred'])
  expect(server.sessionCount()).toBe(1)
})

test('a server that ends between its replies has said what it has said, and may have the rest', async () => {
  const { transport } = await serverOf({ '.': { reply: '250 2.1.5 ok\r\n550 5.1.1 nobody', does: 'close' } })
  const unknown = {
    kind: 'deferred',
    status: '4.4.2',
    reason: expect.stringContaining('may have been') as string,
  }
  expect(await deliver(transport, { recipients })).toMatchObject([
    { kind: 'delivered' },
    { kind: 'failed' },
    unknown,
  ])
})

test.each([
  ['250 2.0.0 taken', 1, ['site']],
  ['250 2.0.0 taken', 3, ['site']],
  ['552 5.3.4 too large', 1, ['failed']],
  ['552 5.3.4 too large', 3, ['failed', 'deferred', 'deferred']],
])(
  'a server that says %s in the middle of the data has taken it for none of %d, and is left',
  async (reply, count, kinds) => {
    const { server, transport } = await serverOf()
    let hasBegun = false
    const data = new Readable({
      // It is wanted when DATA was answered.
      read: () => {
        if (hasBegun) return
        hasBegun = true
        data.push('half a message\r\n')
        server.tell(reply)
      },
    })
    const more = { dataBytes: 2 << 20, stream: () => data, recipients: recipients.slice(0, count) }
    expect(kindsOf(await deliver(transport, more))).toEqual(kinds)
    await expect.poll(() => server.openCount()).toBe(0)
  },
)

test('all that a server has said before it closes counts, whatever it had begun to say behind it', async () => {
  const many = Array.from({ length: 50 }, (_, i) => `r${i}@example.net`)
  const replies = Array(49).fill('250 2.0.0 taken').join('\r\n')
  const { transport } = await serverOf({ '.': { reply: `${replies}\r\n250-2.0.0 half`, does: 'close' } })
  expect(kindsOf(await deliver(transport, { recipients: many }))).toEqual([
    ...Array<string>(49).fill('delivered'),
    'deferred',
  ])
})

test.each([
  ['250 2.0.0 taken\r\n250 2.0.0 taken\r\n250 2.0.0 taken\r\n550 5.1.1 nobody', 'site'],
  ['550 5.1.1 nobody\r\n550 5.1.1 nobody\r\n250 2.0.0 taken\r\n250 2.0.0 taken', 'site'],
  ['250 2.0.0 taken\r\nof course\r\n250 2.0.0 taken\r\n550 5.1.1 nobody', 'site'],
  [Array(4).fill('250 2.0.0 taken').join('\r\n'), 'delivered delivered delivered'],
])('of replies of which one is too many none counts, unless all say the same: %j', async (replies, kinds) => {
  const { server, transport } = await serverOf({ '.': replies })
  const result = await deliver(transport, { recipients })
  expect(kindsOf(result).join(' ')).toBe(kinds)
  await expect.poll(() => server.openCount()).toBe(0)
})

test.each([1, 3])(
  'a server that goes away with 421 behind the data for %d is site trouble',
  async (count) => {
    const { transport } = await serverOf({ '.': { reply: '421 4.3.2 going away', does: 'close' } })
    expect(await deliver(transport, { recipients: recipients.slice(0, count) })).toMatchObject({
      kind: 'site',
      status: '4.3.2',
    })
  },
)

test('an address that stands in the envelope twice is delivered when one of its replies says so', async () => {
  const { transport } = await serverOf({ '.': '250 2.1.5 ok\r\n550 5.7.1 a copy' })
  const twice = ['one@example.net', 'one@example.net']
  expect(kindsOf(await deliver(transport, { recipients: twice }))).toEqual(['delivered', 'delivered'])
})

test('data that is sent as a stream has a reply for each recipient, too', async () => {
  const { server, transport } = await serverOf({ '.': '250 2.1.5 ok\r\n550 5.1.1 nobody\r\n250 2.1.5 ok' })
  const data = Buffer.from(`Subject: x\r\n\r\n${'line\r\n'.repeat(300_000)}`)
  expect(kindsOf(await deliver(transport, { recipients }, data))).toEqual([
    'delivered',
    'failed',
    'delivered',
  ])
  expect(server.taken[0]!.data.equals(data)).toBe(true)
})

test.each([
  [undefined, undefined],
  [['DSN'], 'with-dsn'],
])(
  'with the extensions %j, success is what the relay itself tells of, or the server',
  async (extensions, relayed) => {
    const { transport } = await serverOf({}, extensions)
    const dsn = { ret: undefined, envid: undefined, recipients: [{ notify: ['success'] as const }] }
    const result = await deliver(transport, { dsn, recipients: ['one@example.net'] })
    expect('kind' in result ? [result] : result).toEqual([
      {
        kind: 'delivered',
        response: '250 2.0.0 taken',
        ...(relayed === undefined ? undefined : { relayed }),
      },
    ])
  },
)

/** @returns the path of a Unix socket behind which is a server that answers as usual */
async function unixSocket(): Promise<{ path: string; server: ForeignServer }> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-lmtp-'))
  const path = join(directory, 'lmtp')
  const server = await scripted()
  const front = createServer((socket) => {
    const behind = connect(server.port, server.host)
    socket.pipe(behind).pipe(socket)
  })
  await new Promise<void>((resolve) => front.listen(path, resolve))
  onTestFinished(async () => {
    front.close()
    await rm(directory, { recursive: true })
  })
  return { path, server }
}

test('a server is reached at a Unix socket, by the option or by the nexthop', async () => {
  const { path, server } = await unixSocket()
  const byNexthop = lmtpTransportOf({})
  const byOption = lmtpTransportOf({ path })
  expect(await deliver(byNexthop, { nexthop: `unix:${path}` })).toMatchObject([{ kind: 'delivered' }])
  expect(await deliver(byOption)).toMatchObject([{ kind: 'delivered' }])
  expect(server.taken).toHaveLength(2)
})

test('where there is no such socket mail is put off, and the reason names it', async () => {
  const nexthop = 'unix:/nowhere/lmtp'
  expect(await deliver(lmtpTransportOf({}), { nexthop })).toEqual({
    kind: 'site',
    status: '4.4.1',
    reason: `${nexthop}: connect ENOENT /nowhere/lmtp`,
  })
})

test.each(['', 'unix:', 'unix:relative', `unix:/${'x'.repeat(107)}`, 'unix:/a b', 'a:b:c', '[::1'])(
  'a nexthop that names no server puts mail off: %j',
  async (nexthop) => {
    expect(await deliver(lmtpTransportOf({}), { nexthop })).toMatchObject({ kind: 'site', status: '4.4.3' })
  },
)

test.each(['HOST:PORT', '[HOST]:PORT', 'inet:HOST:PORT', 'inet:[HOST]:PORT'])(
  'the nexthop may name host and port: %s',
  async (form) => {
    const { server } = await serverOf()
    const nexthop = form.replace('HOST', server.host).replace('PORT', String(server.port))
    expect(await deliver(lmtpTransportOf({}), { nexthop })).toMatchObject([{ kind: 'delivered' }])
  },
)

test.each([
  [{ path: 'relative' }, 'path'],
  [{ path: '/run/lmtp', host: 'localhost' }, 'path'],
  [{ auth: { user: 'a', pass: 'b' } }, 'auth'],
  [{ dkim: [] }, 'dkim'],
  [{ port: 0 }, 'port'],
])('%j are no options', (options, option) => {
  expect(() => lmtpTransport(options as LmtpTransportOptions)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', place: { option } }),
  )
})

test('a demand for TLS is held here as elsewhere', async () => {
  const { server } = await serverOf({ STARTTLS: '502 5.5.1 what' })
  const { host, port } = server
  const tlsPolicy = [{ destination: `[${host}]:${port}`, level: 'encrypt' as const }]
  const result = await deliver(lmtpTransportOf({ tlsPolicy }), { nexthop: `inet:${host}:${port}` }, someData)
  expect(result).toMatchObject({ kind: 'site', status: '4.7.4' })
  expect(server.taken).toEqual([])
})
