/** Chains for `mx.example.net`, whose keys nobody has any more but the servers' (that of
 * certificate.ts). Made by `openssl x509 -req -days 36500 -CA … -CAkey
 * …`, for an issuer with `basicConstraints=critical,CA:TRUE` and
 * `keyUsage=critical,keyCertSign,cRLSign`, in this order: the root; the one below it, `issuer`;
 * what it has signed: `mx.example.net`, `example.net`, `mx.other.example`, one that has expired
 * (`-days -1`), one with `extendedKeyUsage=clientAuth`; a second `issuer` of the same name,
 * self-signed, and a server's by it (`authorityKeyIdentifier=none`); each with a server's by it,
 * one with `nameConstraints=permitted;DNS:other.example`, one that has expired, one that is no CA,
 * one with `extendedKeyUsage=emailProtection`; a server's by the issuer with `-sha1`; one with a
 * critical extension that nobody knows, and a server's. */
import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { TlsaData } from '../../src/relay/dns/dns-message.js'
import { certificate } from './certificate.js'
import type { Certificate } from './named-certificates.js'

const names = [
  'root',
  'issuer',
  'mx',
  'domain',
  'other',
  'expired',
  'client',
  'forgedIssuer',
  'byForged',
  'narrow',
  'byNarrow',
  'old',
  'byOld',
  'noCa',
  'byNoCa',
  'mailCa',
  'byMailCa',
  'weak',
  'odd',
  'byOdd',
] as const

export type Name = (typeof names)[number]

const texts = readFileSync(new URL('dane.pem', import.meta.url), 'utf8').split(/(?=-----BEGIN)/)
const textOf = (name: Name): string => texts[names.indexOf(name)]!

export const x509 = (name: Name): X509Certificate => new X509Certificate(textOf(name))

/** What a server shows, its own first. */
export const shown = (...chain: readonly Name[]): Certificate => ({
  cert: chain.map(textOf).join(''),
  key: certificate.key,
})

const keyOf = (of: X509Certificate): Buffer => of.publicKey.export({ type: 'spki', format: 'der' })

/** As `tlsa 3 1 1` of OpenSSL's words: usage, selector, matching type. */
export function tlsa(form: `${number} ${number} ${number}`, of: X509Certificate): TlsaData {
  const [usage, selector, matchingType] = form.split(' ').map(Number) as [number, number, number]
  const meant = selector === 0 ? of.raw : keyOf(of)
  const digest = [undefined, 'sha256', 'sha512'][matchingType]
  const data = digest === undefined ? meant : createHash(digest).update(meant).digest()
  return { usage, selector, matchingType, certificate: data }
}
