import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { dkimKeysOf, type DkimKey } from '../../../src/relay/dkim/dkim-keys.js'
import { mxTransport } from '../../../src/relay/smtp-out/mx-out.js'
import { smtpTransport } from '../../../src/relay/smtp-out/smtp-out.js'
import { ed25519, ed25519Key, rsa, rsaKey } from './dkim-fixture.js'

const selectorsFor = (keys: readonly DkimKey[], domain: string): string[] =>
  dkimKeysOf(keys)
    .for(domain)
    .map(({ selector }) => selector)

const at = (domain: string, selector = domain): DkimKey => ({ domain, selector, privateKey: rsaKey })

test.each([
  ['example.org', ['here']],
  ['a.b.example.org', ['here']],
  ['mail.example.org', ['nearer']],
  ['x.mail.example.org', ['nearer']],
  ['badexample.org', []],
  ['org', []],
  ['', []],
  ['example.org.evil.example', []],
])('the keys of %s are its own, or those of the nearest domain above it: %j', (domain, selectors) => {
  expect(selectorsFor([at('example.org', 'here'), at('mail.example.org', 'nearer')], domain)).toEqual(
    selectors,
  )
})

test('a domain may be written in any case, in its own letters, and with a dot at its end', () => {
  const [key] = dkimKeysOf([at('B\u00fccher.Example.', 'Mail')]).for('xn--bcher-kva.example')
  expect(key).toMatchObject({ domain: 'xn--bcher-kva.example', selector: 'mail' })
})

test('a domain has an RSA key and an Ed25519 key', () => {
  expect(selectorsFor([rsa, ed25519], 'example.org')).toEqual(['mail', 'small'])
})

test('a key is told as PEM, in octets or text, PKCS #1 or #8, or as node:crypto has it', () => {
  const pem = rsaKey.export({ type: 'pkcs1', format: 'pem' })
  const pkcs8 = Buffer.from(rsaKey.export({ type: 'pkcs8', format: 'pem' }))
  for (const privateKey of [rsaKey, pem, pkcs8])
    expect(
      dkimKeysOf([{ ...rsa, privateKey }])
        .for('example.org')[0]
        ?.privateKey.equals(rsaKey),
    ).toBe(true)
})

const pemOf = (bits: number): string =>
  generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string
const ecKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const pssKey = generateKeyPairSync('rsa-pss', { modulusLength: 1024 }).privateKey
const locked = rsaKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' })

test.each<[string, unknown, RegExp, string]>([
  ['no list', rsa, /at least one/, 'dkim'],
  ['an empty list', [], /at least one/, 'dkim'],
  ['no key', [rsa, null], /an object with domain, selector, privateKey/, 'dkim[1]'],
  ['an unknown name', [{ ...rsa, keySelector: 'x' }], /no such option/, 'dkim[0].keySelector'],
  ['no domain', [{ selector: 's', privateKey: rsaKey }], /no domain/, 'dkim[0]'],
  ['a domain of one label', [at('org')], /"org" is no domain of two labels/, 'dkim[0]'],
  ['a domain with a line end', [at('example.org\r\nX: y', 's')], /no domain/, 'dkim[0]'],
  ['a domain with a semicolon', [at('example.org;', 's')], /no domain/, 'dkim[0]'],
  ['an underscore in a domain', [at('a_b.example.org', 's')], /no domain/, 'dkim[0]'],
  ['an empty selector', [at('example.org', '')], /"" is no selector/, 'dkim[0]'],
  ['a selector with a line end', [at('example.org', 's\n')], /no selector/, 'dkim[0]'],
  [
    'a name too long for the DNS',
    [at(`${'a.'.repeat(119)}org`, 's')],
    /no room for s\._domainkey/,
    'dkim[0]',
  ],
  ['the same kind twice', [rsa, { ...rsa, selector: 'x' }], /has a key for rsa-sha256 already/, 'dkim[1]'],
  ['no PEM', [{ ...rsa, privateKey: 'secret' }], /no private key in PEM/, 'dkim[0]'],
  ['a key that is locked', [{ ...rsa, privateKey: locked }], /without a passphrase/, 'dkim[0]'],
  ['a public key', [{ ...rsa, privateKey: createPublicKey(rsaKey) }], /is public, not private/, 'dkim[0]'],
  ['an elliptic key', [{ ...rsa, privateKey: ecKey }], /is for ec, not RSA or Ed25519/, 'dkim[0]'],
  ['a key for RSA-PSS', [{ ...rsa, privateKey: pssKey }], /is for rsa-pss/, 'dkim[0]'],
  [
    'RSA of 1016 bits',
    [{ ...rsa, privateKey: pemOf(1016) }],
    /1016 bits: RFC 8301 asks for 1024 to 4096/,
    'dkim[0]',
  ],
])('%s is refused by every transport that signs, where it is given', (_, dkim, says, option) => {
  for (const transport of [smtpTransport, mxTransport]) {
    const make = (): unknown => transport({ dkim: dkim as readonly DkimKey[] })
    expect(make).toThrow(says)
    expect(make).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', place: { option } }))
  }
})

test('of a key that cannot be read nothing is told', () => {
  const privateKey = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n'
  expect(() => dkimKeysOf([{ ...rsa, privateKey }])).toThrow(
    /^there is no private key in PEM, without a passphrase \(option dkim\[0\]\)$/,
  )
})

test('a public key is none in PEM either, and Ed25519 is one', () => {
  const pem = createPublicKey(ed25519Key).export({ type: 'spki', format: 'pem' })
  expect(() => dkimKeysOf([{ ...ed25519, privateKey: pem }])).toThrow(/no private key/)
  expect(dkimKeysOf([ed25519]).for('example.org')).toMatchObject([{ algorithm: 'ed25519-sha256' }])
})
