/** Certificates that name hosts, all for one key; each has signed itself, and is trusted except for
 * the stranger's. Made as those of certificate.ts: `openssl req -x509 -key localhost-key.pem -days
 * 36500 -subj /CN=NAME -addext subjectAltName=DNS:HOST >>
 * named.pem`, and the last two without alternative names. */
import { readFileSync } from 'node:fs'
import { certificate } from './certificate.js'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

const [provider, domain, below, mtaSts, stranger, several, commonProvider, commonMtaSts] = readFileSync(
  new URL('named.pem', import.meta.url),
  'utf8',
)
  .split(/(?=-----BEGIN)/)
  .map((cert) => ({ cert, key: certificate.key })) as Certificate[]

/** `mx.provider.example`. */
export const ofProvider: Certificate = provider!
/** `example.net`. */
export const ofDomain: Certificate = domain!
/** `*.example.net`. */
export const ofAllBelow: Certificate = below!
/** `mta-sts.example.net`. */
export const ofMtaSts: Certificate = mtaSts!
/** `mx.provider.example` and `example.net`. */
export const ofStranger: Certificate = stranger!

/** `mta-sts` of `a.example`, `b.example` and `c.example`. */
export const ofSeveralMtaSts: Certificate = several!

/** `mx.provider.example`, as the common name of its subject alone. */
export const ofCommonProvider: Certificate = commonProvider!
/** `mta-sts.example.net`, so. */
export const ofCommonMtaSts: Certificate = commonMtaSts!

export const roots: readonly string[] = [
  ofProvider,
  ofDomain,
  ofAllBelow,
  ofMtaSts,
  ofSeveralMtaSts,
  ofCommonProvider,
  ofCommonMtaSts,
].map(({ cert }) => cert)
