import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import type { SiteTrouble, Transport } from '../../../src/delivery/transport.js'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import type { Answer, ForeignServer, ForeignSession } from '../foreign-server.js'
import { deliver, deliverWhole, requestOf, someData } from '../request.js'
import { between, transportOf } from './smtp-out-fixture.js'

/** At an smtp-server with its certificate for tests, which nobody has signed, and no TLS 1.3. */
async function betweenSelfSigned(options: SmtpTransportOptions): Promise<{
  port: number
  transport: Transport
  /** Whether the last message came encrypted; undefined: there was none. */
  secure: () => boolean | undefined
}> {
  let secure: boolean | undefined
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH'],
    logger: false,
    maxVersion: 'TLSv1.2',
    onData: (stream, session, done) => {
      secure = session.secure
      stream.resume()
      stream.on('end', () => done())
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close(() => {}))
  const { port } = server.server.address() as AddressInfo
  const transport = transportOf({ host: '127.0.0.1', port, tls: 'opportunistic', ...options })
  return { port, transport, secure: () => secure }
}

const offering = ['PIPELINING', 'STARTTLS']

/** At a server that offers STARTTLS and then does this. */
function betweenBroken(
  does: 'close' | 'hang' | 'babble',
  options: SmtpTransportOptions = {},
  script: (line: string, session: ForeignSession) => Answer | undefined = () => undefined,
): ReturnType<typeof between> {
  return between(
    (line, session) => script(line, session) ?? (line === 'STARTTLS' ? { reply: '220 go', does } : undefined),
    { tls: 'opportunistic', ...(does === 'hang' ? { greetingTimeoutMs: 1000 } : undefined), ...options },
    offering,
  )
}

const saidStarttls = (server: ForeignServer): number[] =>
  server.commands.filter((line) => line.endsWith('STARTTLS')).map((line) => Number.parseInt(line))

const handshakeFailed = {
  kind: 'site',
  status: '4.7.5',
  reason: expect.stringMatching(/^127\.0\.0\.1:\d+: the TLS handshake failed: [^\n]+$/) as string,
}

test.each([
  ['opportunistic', 'delivered', true],
  ['none', 'delivered', false],
  ['required', 'site', undefined],
] as const)('TLS %s with a certificate nobody signed: %s', async (tls, kind, encrypted) => {
  const { secure, transport } = await betweenSelfSigned({ tls })
  expect(await deliver(transport, { attempts: 1 })).toMatchObject({ kind })
  expect(secure()).toBe(encrypted)
})

test('required TLS is not given up at a server without it', async () => {
  const { server, transport } = await between((line) => (line === 'STARTTLS' ? '502 5.5.1 no' : undefined), {
    tls: 'required',
  })
  expect(await deliver(transport, { attempts: 1 })).toMatchObject({ kind: 'site' })
  expect(server.taken).toHaveLength(0)
})

test.each(['babble', 'close', 'hang'] as const)(
  'a handshake in which the server does %s defers the first attempt, and the second is delivered in plaintext',
  async (does) => {
    const { server, transport } = await betweenBroken(does)
    expect(await deliver(transport)).toEqual(handshakeFailed)
    expect(server.taken).toHaveLength(0)
    expect(server.sessionCount()).toBe(1)
    expect(await deliver(transport, { attempts: 1 })).toMatchObject({ kind: 'delivered' })
    expect(server.taken.map(({ session }) => session)).toEqual([3])
    expect(saidStarttls(server)).toEqual([1, 2])
    await expect.poll(() => server.openCount()).toBe(1)
  },
)

test("no version of TLS in common is a handshake that fails, in OpenSSL's words without its line numbers", async () => {
  const { port, secure, transport } = await betweenSelfSigned({ tlsOptions: { minVersion: 'TLSv1.3' } })
  expect(await deliver(transport)).toMatchObject({
    kind: 'site',
    status: '4.7.5',
    reason: `127.0.0.1:${port}: the TLS handshake failed: tlsv1 alert protocol version (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)`,
  })
  expect(secure()).toBe(undefined)
  expect(await deliver(transport, { attempts: 1 })).toMatchObject({ kind: 'delivered' })
  expect(secure()).toBe(false)
})

test.each(['babble', 'close', 'hang'] as const)(
  'required TLS never falls back when the server does %s in the handshake',
  async (does) => {
    const { server, transport } = await betweenBroken(does, { tls: 'required' })
    expect(await deliver(transport, { attempts: 9 })).toEqual(handshakeFailed)
    expect(server.sessionCount()).toBe(1)
  },
)

test('implicit TLS never falls back', async () => {
  const { server, transport } = await between(undefined, { tls: 'implicit' })
  expect(await deliver(transport, { attempts: 9 })).toMatchObject({ kind: 'site' })
  expect(server.sessionCount()).toBe(1)
  expect(server.taken).toHaveLength(0)
})

test('opportunistic TLS that asks for a certificate that verifies falls back to no plaintext', async () => {
  const { secure, transport } = await betweenSelfSigned({ tlsOptions: { rejectUnauthorized: true } })
  expect(await deliver(transport, { attempts: 9 })).toEqual(handshakeFailed)
  expect(secure()).toBe(undefined)
})

test.each(['GREETING', 'EHLO', 'STARTTLS'])(
  'a server that closes at %s has refused no handshake, and is not asked again within the attempt',
  async (stage) => {
    const { server, transport } = await betweenBroken('babble', {}, (line) =>
      line.startsWith(stage) ? { does: 'close' } : undefined,
    )
    const result = await deliver(transport, { attempts: 9 })
    expect(result).toMatchObject({ kind: 'site' })
    expect((result as SiteTrouble).reason).not.toContain('handshake')
    expect(server.sessionCount()).toBe(1)
  },
)

test('a plaintext connection that fails too names both reasons', async () => {
  const { transport } = await betweenBroken('babble', {}, (line, { number }) =>
    line === 'GREETING' && number === 2 ? '554 5.3.2 go away' : undefined,
  )
  const { reason } = (await deliver(transport, { attempts: 1 })) as SiteTrouble
  expect(reason).toMatch(/^the TLS handshake failed: .*; without TLS: 554 5\.3\.2 go away$/)
})

test.each([
  ['MAIL', '530 5.7.0 Must issue a STARTTLS command first'],
  ['RCPT', '554 5.7.10 Encryption needed'],
])(
  'a server whose TLS fails and that answers %s with "%s" has not refused the message, nor the next one',
  async (verb, reply) => {
    const { server, transport } = await betweenBroken('babble', {}, (line) =>
      line.startsWith(verb) ? reply : undefined,
    )
    for (const attempts of [1, 1]) {
      expect(await deliver(transport, { attempts })).toEqual({
        kind: 'site',
        status: '4.7.5',
        reason: `the TLS handshake failed; without TLS: ${reply}`,
      })
    }
    expect(server.sessionCount()).toBe(4)
    await expect.poll(() => server.openCount()).toBe(0)
  },
)

test.each([0, 1])(
  'a server that puts STARTTLS off and wants it all the same has not refused the message, at attempt %i',
  async (attempts) => {
    const demand = '530 5.7.0 Must issue a STARTTLS command first'
    const { transport } = await between(
      (line) => (line === 'STARTTLS' ? '454 4.7.0 not now' : line.startsWith('MAIL') ? demand : undefined),
      { tls: 'opportunistic' },
      offering,
    )
    expect(await deliver(transport, { attempts })).toEqual({
      kind: 'site',
      status: '4.7.5',
      reason: `STARTTLS was refused; without TLS: ${demand}`,
    })
  },
)

test('other refusals in plaintext are of the message', async () => {
  const { transport } = await betweenBroken('babble', {}, (line) =>
    line.startsWith('MAIL') ? '550 5.7.1 not you' : undefined,
  )
  expect(await deliver(transport, { attempts: 1 })).toMatchObject({ kind: 'failed', status: '5.7.1' })
})

test('the plaintext connection is used again, but not by a first attempt', async () => {
  const { server, transport } = await betweenBroken('babble')
  await deliver(transport, { attempts: 1 })
  expect(await deliver(transport, { attempts: 0 })).toEqual(handshakeFailed)
  await deliver(transport, { attempts: 1 })
  expect(server.taken.map(({ session }) => session)).toEqual([2, 2])
})

test('one place is enough for handshakes that fail and their plaintext, and none is lost', async () => {
  const { server, transport } = await betweenBroken('babble', {
    connectionsMax: 1,
    connectionReuse: { idleMs: 0 },
  })
  const kinds = await Promise.all(
    [0, 1, 0, 1, 1, 0, 1].map(async (attempts) => {
      const result = await deliver(transport, { attempts })
      return 'kind' in result ? result.kind : 'several'
    }),
  )
  expect(kinds).toEqual(['site', 'delivered', 'site', 'delivered', 'delivered', 'site', 'delivered'])
  expect(await deliver(transport, { attempts: 1 })).toMatchObject({ kind: 'delivered' })
  await expect.poll(() => server.openCount()).toBe(0)
})

test('an attempt that is abandoned during the handshake does not fall back', async () => {
  const { server, transport } = await betweenBroken('hang', { greetingTimeoutMs: 60_000 })
  const controller = new AbortController()
  const result = transport.deliver(requestOf(someData, { attempts: 1 }), controller.signal)
  await expect.poll(() => saidStarttls(server)).toEqual([1])
  // Past the 220, into the handshake.
  await new Promise((resolve) => setTimeout(resolve, 50))
  controller.abort()
  expect(await result).toMatchObject({ kind: 'site' })
  expect(server.sessionCount()).toBe(1)
  await expect.poll(() => server.openCount()).toBe(0)
})

test('an attempt that is abandoned while it waits for the place of its plaintext gives the place back', async () => {
  const { server, transport } = await betweenBroken('babble', { connectionsMax: 1 }, (line, { number }) =>
    line.startsWith('EHLO') && number === 2 ? { does: 'hang' } : undefined,
  )
  const [falling, hanging] = [new AbortController(), new AbortController()]
  const request = requestOf(someData, { attempts: 1 })
  const results = [falling, hanging].map(async ({ signal }) => transport.deliver(request, signal))
  await expect.poll(() => server.sessionCount()).toBe(2)
  falling.abort()
  hanging.abort()
  expect(await Promise.all(results)).toMatchObject([{ kind: 'site' }, { kind: 'site' }])
  expect(server.sessionCount()).toBe(2)
  expect(await deliver(transport, { attempts: 1 })).toMatchObject({ kind: 'delivered' })
  expect(server.taken.map(({ session }) => session)).toEqual([4])
})

test('a delivery names the server and the TLS of its session, at each message of a connection', async () => {
  const { port, transport } = await betweenSelfSigned({})
  const tls = {
    version: 'TLSv1.2',
    cipher: expect.stringMatching(/^TLS_ECDHE_RSA_/) as string,
    isVerified: false,
  }
  for (let i = 0; i < 2; i++)
    expect(await deliverWhole(transport)).toMatchObject({
      kind: 'delivered',
      remote: `127.0.0.1:${port}`,
      tls,
    })
})

test('a delivery in plaintext names the server and no TLS', async () => {
  const { server, transport } = await between()
  const remote = `${server.host}:${server.port}`
  expect(await deliverWhole(transport)).toEqual({ kind: 'delivered', response: '250 2.0.0 taken', remote })
})
