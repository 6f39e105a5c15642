import { expect, test } from 'vitest'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import type { TlsPolicyLine } from '../../../src/relay/tls/tls-policy.js'
import { certificate } from '../certificate.js'
import { deliver } from '../request.js'
import { transportOf } from './smtp-out-fixture.js'
import { tlsServer, type TlsServer } from '../tls-server.js'

/** What becomes of mail to the server, by its port. */
async function endsAt(
  { port, taken }: TlsServer,
  lines: readonly TlsPolicyLine[],
  options: SmtpTransportOptions = {},
  host = '127.0.0.1',
): Promise<boolean | string> {
  const before = taken.length
  const transport = transportOf({
    tlsPolicy: lines.map((line) => ({
      ...line,
      destination: line.destination.replace('PORT', String(port)),
    })),
    tlsOptions: { ca: certificate.cert },
    ...options,
  })
  const result = await deliver(transport, { nexthop: `${host}:${port}`, attempts: 3 })
  if ('kind' in result && result.kind === 'site') return result.status
  expect(result).toMatchObject({ kind: 'delivered' })
  return taken[before]!.secure
}

test.each<[string, TlsPolicyLine['level'], boolean]>([
  ['[127.0.0.1]:PORT', 'verify', true],
  ['[127.0.0.1]', 'secure', true],
  ['127.0.0.1:PORT', 'encrypt', true],
  ['[127.0.0.1]:PORT', 'none', false],
  ['[127.0.0.1]:25', 'verify', false],
  ['[localhost]', 'verify', false],
])('the line for %s with %s is one for the server', async (destination, level, isEncrypted) => {
  const server = await tlsServer(certificate)
  expect(await endsAt(server, [{ destination, level }])).toBe(isEncrypted)
  // The same of a server for all mail, whatever the nexthop.
  const all = { host: '127.0.0.1', port: server.port }
  expect(await endsAt(server, [{ destination, level }], all, 'elsewhere.example')).toBe(isEncrypted)
})

test('the line for a port goes before that for the host, and a name is asked for as it is verified', async () => {
  const server = await tlsServer(certificate)
  const lines: TlsPolicyLine[] = [
    { destination: '[LOCALHOST]', level: 'none' },
    { destination: '[localhost]:PORT', level: 'verify' },
  ]
  expect(await endsAt(server, lines, {}, 'localhost')).toBe(true)
  expect(await endsAt(server, lines.slice(0, 1), {}, 'localhost')).toBe(false)
})

test.each<[TlsPolicyLine, boolean | string]>([
  [{ destination: '[127.0.0.1]', level: 'verify' }, true],
  [{ destination: '[127.0.0.1]', level: 'secure', match: ['localhost'] }, true],
  [{ destination: '[127.0.0.1]', level: 'secure', match: ['example.net'] }, '4.7.5'],
])('a certificate for an address or a name: %j ends with %s', async (line, ends) => {
  expect(await endsAt(await tlsServer(certificate), [line])).toBe(ends)
})

test.each<[TlsPolicyLine['level'], string | undefined, boolean | string]>([
  ['encrypt', undefined, true],
  // As without a line: what fails from the first byte on is trouble with the connection.
  ['verify', undefined, '4.4.1'],
  ['verify', certificate.cert, true],
])('implicit TLS stays implicit, and the line says what it proves: %s', async (level, ca, ends) => {
  const server = await tlsServer(certificate, { secure: true })
  const options = { tls: 'implicit', tlsOptions: ca === undefined ? {} : { ca } } as const
  expect(await endsAt(server, [{ destination: '[127.0.0.1]', level }], options)).toBe(ends)
})

test('what the options say of certificates is no way around a line', async () => {
  const tlsOptions = {
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
    servername: 'localhost',
  }
  const line = { destination: '[127.0.0.1]', level: 'verify' } as const
  const server = await tlsServer(certificate)
  expect(await endsAt(server, [line], { tlsOptions })).toBe('4.7.5')
  const other = { ...line, match: ['example.net'] }
  expect(await endsAt(server, [other], { tlsOptions: { ...tlsOptions, ca: certificate.cert } })).toBe('4.7.5')
  expect(server.taken).toEqual([])
})
