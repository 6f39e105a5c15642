/** Which chains are those that TLSA records name. */
import { expect, test } from 'vitest'
import { strangerIn } from '../../../src/relay/tls/dane-check.js'
import { extensionsOf, keyInfoOf, signatureAlgorithmOf } from '../../../src/relay/tls/certificate.js'
import { usableRecords } from '../../../src/relay/tls/tlsa-record.js'
import { tlsa, x509, type Name } from '../dane-certificates.js'

const nowMs = Date.now()

type Form = Parameters<typeof tlsa>[0]

function faultOf(
  chain: readonly Name[],
  records: readonly (readonly [Form, Name])[],
  names: readonly string[] = ['mx.example.net', 'example.net'],
  atMs = nowMs,
): string | undefined {
  const data = records.map(([form, name]) => tlsa(form, x509(name)))
  const peer = { owner: '_25._tcp.mx.example.net', records: usableRecords(data), names }
  expect(peer.records).toHaveLength(records.length)
  return strangerIn(chain.map(x509), peer, atMs)
}

const noMatch = 'the certificate matches no TLSA record of _25._tcp.mx.example.net'

test.each<Name>(['mx', 'other', 'expired', 'client', 'weak', 'root'])(
  'of the server that a record names neither name nor dates nor issuers are looked at: %s',
  (name) => {
    for (const form of ['3 0 0', '3 0 1', '3 0 2', '3 1 0', '3 1 1', '3 1 2'] as const)
      expect(faultOf([name], [[form, name]])).toBe(undefined)
  },
)

test('one of several records is enough', () => {
  expect(
    faultOf(
      ['mx'],
      [
        ['3 1 1', 'root'],
        ['2 0 1', 'issuer'],
        ['3 0 1', 'mx'],
      ],
    ),
  ).toBe(undefined)
})

test('a server that no record names is another one, whatever else in its chain is named so', () => {
  expect(faultOf(['mx', 'issuer', 'root'], [['3 1 1', 'issuer']])).toBe(noMatch)
  expect(faultOf(['root'], [['3 1 1', 'mx']])).toBe(noMatch)
})

test('no certificate is none that matches', () => {
  expect(faultOf([], [['3 1 1', 'mx']])).toBe('the server has shown no certificate')
})

const taForms: Form[] = ['2 0 0', '2 0 1', '2 0 2', '2 1 0', '2 1 1', '2 1 2']

test.each(taForms)(
  'a chain to the issuer that a record names is accepted, whatever the issuer’s name: %s',
  (form) => {
    expect(faultOf(['mx', 'issuer'], [[form, 'issuer']])).toBe(undefined)
    expect(faultOf(['mx', 'issuer', 'root'], [[form, 'issuer']])).toBe(undefined)
    expect(faultOf(['mx', 'issuer', 'root'], [[form, 'root']])).toBe(undefined)
  },
)

test.each(taForms)('an issuer who is not shown is found only where the record is himself: %s', (form) => {
  const isWhole = form.endsWith('0')
  expect(faultOf(['mx'], [[form, 'issuer']])).toBe(isWhole ? undefined : noMatch)
  expect(faultOf(['mx', 'issuer'], [[form, 'root']])).toBe(isWhole ? undefined : noMatch)
})

test.each(taForms)(
  'an issuer that only bears the name of that one has signed nothing that counts: %s',
  (form) => {
    expect(faultOf(['byForged', 'issuer'], [[form, 'issuer']])).toBe(noMatch)
    expect(faultOf(['byForged', 'forgedIssuer'], [[form, 'issuer']])).toBe(noMatch)
    expect(faultOf(['byForged', 'forgedIssuer', 'root'], [[form, 'root']])).toBe(noMatch)
  },
)

test.each<[string, readonly Name[], Name]>([
  ['a server whose certificate has expired', ['expired', 'issuer'], 'issuer'],
  ['an issuer whose certificate has', ['byOld', 'old', 'root'], 'root'],
  ['such an anchor', ['byOld', 'old'], 'old'],
  ['a certificate that is for clients', ['client', 'issuer'], 'issuer'],
  ['an issuer who may sign for mail alone', ['byMailCa', 'mailCa', 'root'], 'root'],
  ['an issuer who is none', ['byNoCa', 'noCa', 'issuer'], 'issuer'],
  ['such an anchor, though a record names it', ['byNoCa', 'noCa'], 'noCa'],
  ['an issuer who may sign for some names', ['byNarrow', 'narrow', 'root'], 'root'],
  ['an issuer of whom something is said that nobody knows', ['byOdd', 'odd', 'root'], 'root'],
  ['a signature that can be forged', ['weak', 'issuer'], 'issuer'],
  ['a link that is missing', ['mx', 'root'], 'root'],
  ['the anchor before what it has not signed', ['other', 'root', 'issuer'], 'root'],
])('%s ends no chain', (_, chain, anchor) => {
  for (const form of taForms) {
    // A key alone has no dates, and signs what it signs.
    if (form === '2 1 0' && (anchor === 'old' || anchor === 'noCa')) continue
    expect(faultOf(chain, [[form, anchor]])).toBe(noMatch)
  }
})

test('an anchor may be limited to some names: a record that names it counts', () => {
  expect(faultOf(['byNarrow', 'narrow'], [['2 0 1', 'narrow']])).toBe(undefined)
})

test('a certificate that is not valid yet is none', () => {
  expect(faultOf(['mx', 'issuer'], [['2 0 1', 'issuer']], ['mx.example.net'], 0)).toBe(noMatch)
})

test('of a chain the certificate has to be for the host, or for the domain', () => {
  expect(faultOf(['domain', 'issuer'], [['2 1 1', 'issuer']])).toBe(undefined)
  expect(faultOf(['domain', 'issuer'], [['2 1 1', 'issuer']], ['mx.example.net'])).toBe(
    'the certificate is for DNS:example.net, not for mx.example.net',
  )
  expect(faultOf(['other', 'issuer'], [['2 1 1', 'issuer']])).toBe(
    'the certificate is for DNS:mx.other.example, not for mx.example.net or example.net',
  )
})

test('the parts of a certificate are those that OpenSSL finds', () => {
  for (const name of ['mx', 'root', 'narrow', 'weak'] as const) {
    const { raw, publicKey } = x509(name)
    expect(keyInfoOf(raw)).toEqual(publicKey.export({ type: 'spki', format: 'der' }))
  }
  expect(signatureAlgorithmOf(x509('weak').raw)).toBe('2a8648ce3d0401')
  const extensions = extensionsOf(x509('narrow').raw)
  expect(extensions.slice(0, 3)).toEqual([
    { id: '551d13', isCritical: true },
    { id: '551d0f', isCritical: true },
    { id: '551d1e', isCritical: false },
  ])
  const { raw } = x509('mx')
  for (let length = 0; length < raw.length; length += 7)
    expect(() => keyInfoOf(raw.subarray(0, length))).toThrow(RangeError)
})
