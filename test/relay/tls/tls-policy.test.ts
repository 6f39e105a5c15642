import { expect, test } from 'vitest'
import { isWaybillError } from '../../../src/errors.js'
import { readNexthop } from '../../../src/relay/tables/nexthop.js'
import { mxTransport } from '../../../src/relay/smtp-out/mx-out.js'
import { smtpTransport } from '../../../src/relay/smtp-out/smtp-out.js'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import {
  demandOf,
  tlsPoliciesOf,
  type TlsDemand,
  type TlsPolicyLine,
} from '../../../src/relay/tls/tls-policy.js'
import { demandKey } from '../../../src/relay/smtp-out/tls-terms.js'

const policies = tlsPoliciesOf(
  [
    { destination: 'Example.NET', level: 'secure' },
    { destination: '.example.net', level: 'verify' },
    { destination: '.b.example.net', level: 'none' },
    { destination: 'exämple.org', level: 'encrypt' },
    { destination: '[mail.example.net]', level: 'encrypt' },
    { destination: '[MAIL.example.net.]:587', level: 'secure', match: ['hostname', '.Example.COM'] },
    { destination: '[::ffff:192.0.2.1]', level: 'verify' },
    { destination: '[IPv6:2001:DB8::1]:26', level: 'may' },
  ],
  true,
)

test.each([
  ['example.net', 'secure'],
  ['example.net:26', 'secure'],
  ['a.example.net', 'verify'],
  ['a.c.example.net', 'verify'],
  ['b.example.net', 'verify'],
  ['a.b.example.net', 'none'],
  ['xn--exmple-cua.org', 'encrypt'],
  ['myexample.net', undefined],
  ['net', undefined],
  // A server that is named is in no domain.
  ['[example.net]', undefined],
  ['[a.example.net]', undefined],
  ['[mail.example.net]', 'encrypt'],
  ['[mail.example.net]:26', 'encrypt'],
  ['[Mail.Example.Net]:587', 'secure'],
  ['192.0.2.1', 'verify'],
  ['[192.0.2.1]:26', 'verify'],
  ['[2001:db8:0::1]:26', 'may'],
  ['[2001:db8:0::1]', undefined],
])('to %s mail goes by the narrowest line for it: %s', (nexthop, level) => {
  expect(policies.for(readNexthop(nexthop, 25)!)?.level).toBe(level)
})

test.each<[string, TlsPolicyLine['match'], string[]]>([
  ['verify', undefined, ['mx.example.com']],
  ['secure', undefined, ['example.net', '.example.net']],
  ['secure', ['hostname', '.Example.COM.', 'nexthop'], ['mx.example.com', '.example.com', 'example.net']],
  ['verify', ['dot-nexthop'], ['.example.net']],
])('%s with %j asks for a certificate in these names', (level, match, names) => {
  const line = { destination: 'example.net', level: level as TlsPolicyLine['level'] }
  const found = tlsPoliciesOf([match === undefined ? line : { ...line, match }], true)
  const destination = readNexthop('example.net', 25)!
  expect(demandOf(found.for(destination)!, 'mx.example.com', destination)).toEqual({
    level: 'verified',
    names,
  })
})

const domain = { destination: 'example.net', level: 'may' }

test.each<[string, unknown, RegExp, string]>([
  ['no list', domain, /a list/, 'tlsPolicy'],
  ['no line', [domain, null], /an object with destination, level, match/, 'tlsPolicy[1]'],
  ['an unknown name', [{ ...domain, names: [] }], /no such option/, 'tlsPolicy[0].names'],
  ['a destination twice', [domain, { ...domain, destination: 'EXAMPLE.net.' }], /line above/, 'tlsPolicy[1]'],
  ['no destination', [{ level: 'may' }], /undefined is no domain/, 'tlsPolicy[0]'],
  ['a pattern', [{ ...domain, destination: '*.example.net' }], /is no domain/, 'tlsPolicy[0]'],
  ['everything', [{ ...domain, destination: '*' }], /is no domain/, 'tlsPolicy[0]'],
  ['two dots', [{ ...domain, destination: '..net' }], /is no domain/, 'tlsPolicy[0]'],
  ['an address', [{ ...domain, destination: 'a@example.net' }], /is no domain/, 'tlsPolicy[0]'],
  ['a port of a domain', [{ ...domain, destination: 'example.net:25' }], /is no domain/, 'tlsPolicy[0]'],
  ['no level', [{ destination: 'example.net' }], /undefined is none of none, may,/, 'tlsPolicy[0]'],
  ['a level of our own', [{ ...domain, level: 'required' }], /required is none of/, 'tlsPolicy[0]'],
  [
    'names for dane',
    [{ ...domain, level: 'dane', match: ['a.example'] }],
    /no name is looked/,
    'tlsPolicy[0]',
  ],
  ['half-dane', [{ ...domain, level: 'half-dane' }], /half-dane is not here/, 'tlsPolicy[0]'],
  ['fingerprint', [{ ...domain, level: 'fingerprint' }], /fingerprint is not here: /, 'tlsPolicy[0]'],
  ['names for may', [{ ...domain, match: ['a.example'] }], /no name is looked at with may/, 'tlsPolicy[0]'],
  ['no names', [{ ...domain, level: 'secure', match: [] }], /no name to match/, 'tlsPolicy[0]'],
  ['a name alone', [{ ...domain, level: 'secure', match: 'a' }], /no name to match/, 'tlsPolicy[0]'],
  [
    'a wildcard',
    [{ ...domain, level: 'secure', match: ['*.a.example'] }],
    /\*\.a.* is no name/,
    'tlsPolicy[0]',
  ],
])('%s is refused where it is given', (_, tlsPolicy, says, option) => {
  const make = (): unknown => mxTransport({ tlsPolicy: tlsPolicy as TlsPolicyLine[] })
  expect(make).toThrow(says)
  expect(make).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', place: { option } }))
})

const refusalOf = (options: SmtpTransportOptions): unknown => {
  try {
    smtpTransport(options)
  } catch (error) {
    return isWaybillError(error, 'OPTION_INVALID') ? error.message : error
  }
  return undefined
}

test('where nobody looks for mail hosts, nobody looks for TLSA records', () => {
  for (const level of ['dane', 'dane-only'] as const)
    expect(refusalOf({ tlsPolicy: [{ destination: '[mx.example.net]', level }] })).toMatch(
      new RegExp(`the level ${level} is for servers that are looked for in the DNS: --direct`),
    )
})

test('where nobody looks for mail hosts, a domain has no line', () => {
  for (const destination of ['example.net', '.example.net', 'example.net.'])
    expect(refusalOf({ tlsPolicy: [{ destination, level: 'secure' }] })).toMatch(/stands in brackets/)
  for (const destination of ['[example.net]', '[example.net]:26', '192.0.2.1', '[::1]:26'])
    expect(refusalOf({ tlsPolicy: [{ destination, level: 'secure' }] })).toBeUndefined()
})

const forCredentials = (level: string): string =>
  `credentials travel only over TLS that verifies: verify or secure, not ${level} (option tlsPolicy[0])`
const forImplicit = (level: string): string =>
  `TLS that is implicit is always there: encrypt, verify or secure, not ${level} (option tlsPolicy[0])`

test.each([
  ['none', forCredentials('none'), forImplicit('none')],
  ['may', forCredentials('may'), forImplicit('may')],
  ['encrypt', forCredentials('encrypt'), undefined],
  ['verify', undefined, undefined],
  ['secure', undefined, undefined],
] as const)(
  'with credentials, and with implicit TLS, no line says less than they need: %s',
  (level, withCredentials, withImplicit) => {
    const tlsPolicy = [{ destination: '[a]', level }]
    const auth = { user: 'me', pass: 'x' }
    expect(refusalOf({ tls: 'required', auth, tlsPolicy })).toBe(withCredentials)
    expect(refusalOf({ tls: 'implicit', tlsPolicy })).toBe(withImplicit)
  },
)

test('no two demands have one key, by which sessions are shared', () => {
  const demands: TlsDemand[] = [
    { level: 'none' },
    { level: 'may' },
    { level: 'encrypt' },
    { level: 'verified', names: ['mx.example'] },
    { level: 'verified', names: ['mx.example'], isAltName: true },
    { level: 'verified', names: ['.mx.example'] },
    { level: 'verified', names: ['mx.exampleexample.net'] },
    { level: 'verified', names: ['mx.example', 'example.net'] },
  ]
  expect(new Set(demands.map(demandKey)).size).toBe(demands.length)
})
