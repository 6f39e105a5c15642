/** TLS by destination: what each level takes for TLS, and that nothing else is ever taken
 * instead. */
import { expect, test } from 'vitest'
import type { SiteTrouble, Transport } from '../../../src/delivery/transport.js'
import type { MxTransportOptions } from '../../../src/relay/smtp-out/mx-out-options.js'
import { isDane, tlsLevels, type TlsLevel, type TlsPolicyLine } from '../../../src/relay/tls/tls-policy.js'
import { certificate } from '../certificate.js'
import { mxTransportOf, serversAt, type Script } from './mx-out-fixture.js'
import {
  ofAllBelow,
  ofDomain,
  ofProvider,
  ofStranger,
  roots,
  type Certificate,
} from '../named-certificates.js'
import { deliver, requestOf, someData } from '../request.js'
import { tlsServer, tlsServersAt } from '../tls-server.js'
import { zone } from '../zone.js'

const mailHost = 'mx.provider.example'

/** Mail for every domain that is named goes to the mail host of the provider. */
function transportFor(
  port: number,
  tlsPolicy: readonly TlsPolicyLine[],
  options: MxTransportOptions = {},
): Transport {
  const domains = ['example.net', 'other.example', ...tlsPolicy.map(({ destination }) => destination)]
  const resolver = zone({
    [mailHost]: { a: ['127.0.0.1'] },
    ...Object.fromEntries(domains.map((name) => [name, { mx: [[1, mailHost]] as const }])),
  })
  return mxTransportOf({ port, resolver, tlsPolicy, tlsOptions: { ca: [...roots] }, ...options })
}

const certificates: Readonly<Record<string, Certificate | undefined>> = {
  'no TLS': undefined,
  provider: ofProvider,
  domain: ofDomain,
  below: ofAllBelow,
  stranger: ofStranger,
  'one of another name': { ...certificate },
}

type Case = [level: TlsLevel, match: string, certificate: string, ends: boolean | string]

/** Whether it is delivered encrypted; or the status by which it is put off. */
const cases: Case[] = [
  ['none', '', 'provider', false],
  ['none', '', 'no TLS', false],
  ['may', '', 'no TLS', false],
  ['may', '', 'stranger', true],
  ['encrypt', '', 'no TLS', '4.7.4'],
  ['encrypt', '', 'stranger', true],
  ['verify', '', 'no TLS', '4.7.4'],
  ['verify', '', 'provider', true],
  ['verify', '', 'domain', '4.7.5'],
  ['verify', '', 'stranger', '4.7.5'],
  ['verify', 'nexthop', 'domain', true],
  ['verify', 'nexthop', 'provider', '4.7.5'],
  ['secure', '', 'no TLS', '4.7.4'],
  ['secure', '', 'domain', true],
  ['secure', '', 'below', true],
  ['secure', '', 'provider', '4.7.5'],
  ['secure', '', 'stranger', '4.7.5'],
  ['secure', '', 'one of another name', '4.7.5'],
  ['secure', 'nexthop', 'below', '4.7.5'],
  ['secure', 'dot-nexthop', 'below', true],
  ['secure', 'dot-nexthop', 'domain', '4.7.5'],
  ['secure', '.provider.example', 'provider', true],
  ['secure', 'provider.example', 'provider', '4.7.5'],
  ['secure', 'mx.other.example:hostname', 'provider', true],
  ['secure', 'hostname', 'domain', '4.7.5'],
]

const reasons: Readonly<Record<string, RegExp>> = {
  '4.7.4': /^TLS is required, and STARTTLS was not offered: 500 /,
  '4.7.5': /: the TLS handshake failed: .*certificate/,
}

const resultOf = (ends: boolean | string): object =>
  typeof ends === 'boolean'
    ? { kind: 'delivered' }
    : { kind: 'site', status: ends, reason: expect.stringMatching(reasons[ends]!) as string }

test.each(cases)('%s %s with a server that has %s: %s', async (level, match, name, ends) => {
  const server = await tlsServer(certificates[name])
  const line = { destination: 'example.net', level }
  const transport = transportFor(server.port, [match === '' ? line : { ...line, match: match.split(':') }], {
    tls: 'opportunistic',
    tlsOptions: { ca: [...roots, certificate.cert] },
  })
  // A first attempt is not the one that falls back.
  for (const attempts of [0, 9]) {
    expect(await deliver(transport, { attempts })).toMatchObject(resultOf(ends))
  }
  expect(server.taken.map(({ secure }) => secure)).toEqual(typeof ends === 'string' ? [] : [ends, ends])
})

test('a certificate for another name is shown with the names that it should have', async () => {
  const { port } = await tlsServer(ofProvider)
  const transport = transportFor(port, [{ destination: 'example.net', level: 'secure' }])
  expect(await deliver(transport)).toEqual({
    kind: 'site',
    status: '4.7.5',
    reason:
      `${mailHost}[127.0.0.1]:${port}: the TLS handshake failed: ` +
      `the certificate is for DNS:${mailHost}, not for example.net or .example.net (ERR_TLS_CERT_ALTNAME_INVALID)`,
  })
})

const offering = ['PIPELINING', 'STARTTLS']

const broken: Readonly<Record<string, [script: Script, says: RegExp]>> = {
  babbles: [
    (line) => (line === 'STARTTLS' ? { reply: '220 go', does: 'babble' } : undefined),
    /^4\.7\.5 .*handshake failed/,
  ],
  closes: [
    (line) => (line === 'STARTTLS' ? { reply: '220 go', does: 'close' } : undefined),
    /^4\.7\.5 .*handshake failed/,
  ],
  hangs: [
    (line) => (line === 'STARTTLS' ? { reply: '220 go', does: 'hang' } : undefined),
    /^4\.7\.5 .*handshake failed: .*timed out/,
  ],
  refuses: [
    (line) => (line === 'STARTTLS' ? '454 4.7.0 not now' : undefined),
    /^4\.7\.4 .*STARTTLS was refused: 454 4\.7\.0 not now/,
  ],
  'refuses EHLO': [
    (line) => (line.startsWith('EHLO') ? '502 5.5.1 no' : undefined),
    /^4\.5\.1 .*EHLO failed but HELO does not support required STARTTLS/,
  ],
}

test.each(
  (['encrypt', 'verify', 'secure'] as const).flatMap((level) =>
    Object.keys(broken).map((name) => [level, name] as const),
  ),
)('under %s a server that %s has no mail in plaintext, at no attempt', async (level, name) => {
  const [script, says] = broken[name]!
  const { servers, port } = await serversAt({ '127.0.0.1': script }, offering)
  const transport = transportFor(port, [{ destination: 'example.net', level }], {
    tls: 'opportunistic',
    greetingTimeoutMs: 500,
  })
  for (const attempts of [0, 1, 9]) {
    const result = (await deliver(transport, { attempts })) as SiteTrouble
    expect(result.kind).toBe('site')
    expect(`${result.status} ${result.reason}`).toMatch(says)
  }
  const [server] = servers
  expect(server!.sessionCount()).toBe(3)
  expect(server!.commands.filter((line) => /MAIL|HELO /.test(line))).toEqual([])
})

test('a domain without a line is as without the table', async () => {
  const server = await tlsServer(undefined)
  const transport = transportFor(server.port, [{ destination: 'example.net', level: 'secure' }], {
    tls: 'opportunistic',
  })
  expect(await deliver(transport, { nexthop: 'other.example' })).toMatchObject({ kind: 'delivered' })
  expect(await deliver(transport, { nexthop: 'example.net' })).toMatchObject({ kind: 'site' })
})

test('each of the mail hosts has to meet the policy: one that does not is passed over for the next', async () => {
  const { servers, port } = await tlsServersAt({
    '127.0.0.2': undefined,
    '127.0.0.3': ofStranger,
    '127.0.0.4': ofDomain,
  })
  const resolver = zone({
    'example.net': {
      mx: [
        [1, 'bare'],
        [2, 'stranger'],
        [3, 'right'],
      ],
    },
    bare: { a: ['127.0.0.2'] },
    stranger: { a: ['127.0.0.3'] },
    right: { a: ['127.0.0.4'] },
  })
  const transport = mxTransportOf({
    port,
    resolver,
    tlsPolicy: [{ destination: 'example.net', level: 'secure' }],
    tlsOptions: { ca: [...roots] },
  })
  expect(await deliver(transport, { attempts: 3 })).toMatchObject({ kind: 'delivered' })
  expect(servers.map(({ taken }) => taken.map(({ secure }) => secure))).toEqual([[], [], [true]])
})

test('when none of them meets it mail is put off, and each says what is missing', async () => {
  const { port } = await tlsServersAt({ '127.0.0.2': undefined, '127.0.0.3': ofStranger })
  const resolver = zone({
    'example.net': {
      mx: [
        [1, 'bare'],
        [2, 'stranger'],
      ],
    },
    bare: { a: ['127.0.0.2'] },
    stranger: { a: ['127.0.0.3'] },
  })
  const tlsPolicy = [{ destination: 'example.net', level: 'verify' as const }]
  const transport = mxTransportOf({ port, resolver, tlsPolicy, tls: 'opportunistic' })
  const { kind, status, reason } = (await deliver(transport, { attempts: 3 })) as SiteTrouble
  expect({ kind, status }).toEqual({ kind: 'site', status: '4.7.4' })
  expect(reason).toMatch(
    /^stranger\[.*handshake failed: self-signed certificate.*; and TLS is required, .* not offered: 500 /,
  )
})

/** Those by which no TLSA records are looked at. */
const levels = tlsLevels.filter((level) => !isDane(level))

test.each(levels)(
  'a session that was opened under %s serves no other level, nor another name',
  async (level) => {
    // It is right for every one of them.
    const server = await tlsServer(ofStranger)
    const lines: TlsPolicyLine[] = [
      ...levels.map((other) => ({ destination: `${other}.example.net`, level: other })),
      { destination: 'match.example.net', level: 'secure', match: ['example.net'] },
    ]
    const transport = transportFor(
      server.port,
      lines.map((line) => (line.level === 'secure' ? { ...line, match: ['example.net', 'nexthop'] } : line)),
      { tls: 'none', tlsOptions: { ca: ofStranger.cert } },
    )
    const sessionOf = async (destination: string): Promise<{ session: string; secure: boolean }> => {
      expect(await deliver(transport, { nexthop: destination })).toMatchObject({ kind: 'delivered' })
      return server.taken.at(-1)!
    }
    const first = await sessionOf(`${level}.example.net`)
    for (const { destination } of [...lines, { destination: 'other.example' }]) {
      const { session, secure } = await sessionOf(destination)
      expect({ destination, isSame: session === first.session }).toEqual({
        destination,
        isSame: destination === `${level}.example.net`,
      })
      expect(secure).toBe(!['none.example.net', 'other.example'].includes(destination))
    }
  },
)

test('two domains under one level that asks for the name of the server share its session', async () => {
  const server = await tlsServer(ofProvider)
  const lines = ['example.net', 'other.example'].map((destination) => ({
    destination,
    level: 'verify' as const,
  }))
  const transport = transportFor(server.port, lines)
  for (const { destination } of lines) await deliver(transport, { nexthop: destination })
  expect(server.sessionCount()).toBe(1)
  expect(server.taken.map(({ secure }) => secure)).toEqual([true, true])
})

test('plaintext that one domain fell back to is none for a stricter one, idle or just given back', async () => {
  const { servers, port } = await serversAt({ '127.0.0.1': broken['babbles']![0] }, offering)
  const lines = (['may', 'encrypt', 'verify', 'secure'] as const).map((level) => ({
    destination: `${level}.example`,
    level,
  }))
  const transport = transportFor(port, lines, { connectionsMax: 1 })
  const send = async (level: string): Promise<unknown> => {
    const result = await deliver(transport, { nexthop: `${level}.example`, attempts: 3 })
    return 'kind' in result ? `${level}: ${result.kind}` : result
  }
  expect(await send('may')).toBe('may: delivered')
  for (const level of ['encrypt', 'verify', 'secure']) expect(await send(level)).toBe(`${level}: site`)
  // The others wait for the one connection that there may be.
  expect(await Promise.all(['may', 'encrypt', 'may', 'verify', 'secure', 'may'].map(send))).toEqual([
    'may: delivered',
    'encrypt: site',
    'may: delivered',
    'verify: site',
    'secure: site',
    'may: delivered',
  ])
  expect(servers[0]!.taken).toHaveLength(4)
})

test('an attempt that is abandoned in the handshake of a level that never falls back is over', async () => {
  const { servers, port } = await serversAt({ '127.0.0.1': broken['hangs']![0] }, offering)
  const transport = transportFor(port, [{ destination: 'example.net', level: 'secure' }])
  const controller = new AbortController()
  const result = transport.deliver(requestOf(someData, { attempts: 5 }), controller.signal)
  await expect.poll(() => servers[0]!.commands.at(-1)).toBe('1 STARTTLS')
  controller.abort()
  expect(await result).toMatchObject({ kind: 'site' })
  expect(servers[0]!.sessionCount()).toBe(1)
})
