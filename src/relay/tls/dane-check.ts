/** Decides whether a server is the one that its TLSA records name (RFC 7672 §3). Pure.
 * Invariant: the server has shown a certificate that a record matches, whatever its name and dates
 * (DANE-EE); or a chain to an issuer that a record names (DANE-TA). Each certificate of that chain
 * is valid now, and signs the one before it, for servers; the first is for a name of the host. What
 * cannot be looked at is not good enough: mail waits.
 *
 * Why not by Node: it verifies chains only to roots that it was given before the handshake, and
 * here only the chain shows which certificate is the anchor. Unlike OpenSSL, this check ignores the
 * length of paths: an issuer that may sign no other issuers may still sign the server. A name
 * constraint below the anchor makes a chain no good. */
import { createPublicKey, X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import { extensionsOf, signatureAlgorithmOf, isFor } from './certificate.js'
import { matches, type TlsaRecord } from './tlsa-record.js'

export interface DanePeer {
  /** Of the records, for errors. */
  readonly owner: string
  /** At least one. */
  readonly records: readonly TlsaRecord[]
  /** That a certificate may be for, where issuers are named. */
  readonly names: readonly string[]
}

/** Certificates of a chain that are looked at. */
const chainMax = 10

/** What the server has shown, its own certificate first, and each followed by its issuer. Node
 * looks for the last one's among its roots. */
export function shownBy(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = []
  let next: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true)
  while (next?.raw !== undefined && chain.length < chainMax) {
    chain.push(new X509Certificate(next.raw))
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate
  }
  return chain
}

/** @returns why it is not */
export function strangerIn(
  chain: readonly X509Certificate[],
  { owner, records, names }: DanePeer,
  nowMs: number,
): string | undefined {
  const [certificate] = chain
  if (certificate === undefined) return 'the server has shown no certificate'
  const issuers = records.filter((record) => record.of === 'issuer')
  try {
    if (records.some((record) => record.of === 'server' && matches(record, certificate))) return undefined
    if (!leadsToOne(issuers, chain, nowMs)) return `the certificate matches no TLSA record of ${owner}`
  } catch (error) {
    return `the certificate cannot be held against the TLSA records of ${owner}: ${String(error)}`
  }
  if (names.some((name) => isFor(certificate, name, false))) return undefined
  const others = certificate.subjectAltName ?? certificate.subject
  return `the certificate is for ${others.slice(0, 200)}, not for ${names.join(' or ')}`
}

/** @throws Error */
function leadsToOne(
  issuers: readonly TlsaRecord[],
  chain: readonly X509Certificate[],
  nowMs: number,
): boolean {
  if (issuers.length === 0) return false
  for (const [i, certificate] of chain.entries()) {
    if (!isGood(certificate, nowMs) || (i > 0 && !certificate.ca)) return false
    if (i > 0 && issuers.some((issuer) => matches(issuer, certificate))) return true
    if (!isUnderstood(certificate)) return false
    if (issuers.some((issuer) => hasSigned(issuer, certificate, nowMs))) return true
    const next = chain[i + 1]
    if (next === undefined || !isIssuedBy(certificate, next)) return false
  }
  return false
}

/** A record that is itself the issuer, or its key, needs not be shown. */
function hasSigned({ what, digest, data }: TlsaRecord, certificate: X509Certificate, nowMs: number): boolean {
  if (digest !== undefined) return false
  if (what === 'key') return certificate.verify(createPublicKey({ key: data, format: 'der', type: 'spki' }))
  const issuer = new X509Certificate(data)
  return isGood(issuer, nowMs) && issuer.ca && isIssuedBy(certificate, issuer)
}

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)

/** Object identifiers: TLS servers, and any use. */
const serverUses = ['1.3.6.1.5.5.7.3.1', '2.5.29.37.0']

/** MD5 and SHA-1, with RSA, ECDSA and DSA: an attacker that can make two certificates with one
 * digest has one signed, and shows the other. */
const weakSignatures = ['2a864886f70d010104', '2a864886f70d010105', '2a8648ce3d0401', '2a8648ce380403']

/** Extensions that are looked at here, or by OpenSSL when it is asked about names and issuers:
 * key usage, alternative names, basic constraints, policies (which nobody here asks for),
 * extended key usage. */
const knownExtensions = ['551d0f', '551d11', '551d13', '551d20', '551d25']
const nameConstraints = '551d1e'

function isGood({ validFrom, validTo, keyUsage }: X509Certificate, nowMs: number): boolean {
  const uses = keyUsage as string[] | undefined
  return (
    Date.parse(validFrom) <= nowMs &&
    nowMs <= Date.parse(validTo) &&
    (uses === undefined || uses.some((use) => serverUses.includes(use)))
  )
}

/** Asked of certificates between the server's and the issuer that a record names. That issuer
 * itself counts as it is. */
const isUnderstood = ({ raw }: X509Certificate): boolean =>
  !weakSignatures.includes(signatureAlgorithmOf(raw)) &&
  extensionsOf(raw).every(
    ({ id, isCritical }) => id !== nameConstraints && (!isCritical || knownExtensions.includes(id)),
  )
