/** Parses the TLSA records of a mail host, and keeps the usable ones (RFC 7672 §3.1). Pure.
 * Invariant: a record in another form than that of RFC 6698, or of a usage that does not fit mail
 * servers, is ignored. So is a digest beside a stronger one of the same kind (RFC 7671 §9):
 *    1. records have SHA-512, and SHA-256 for clients that know no better
 *    2. somebody finds a second certificate with that SHA-256 */
import { createHash, createPublicKey, X509Certificate } from 'node:crypto'
import { isOneElement, keyInfoOf } from './certificate.js'
import type { TlsaData } from '../dns/dns-message.js'

export interface TlsaRecord {
  /** Of the server itself, DANE-EE; or of the issuer of its certificate, DANE-TA. */
  readonly of: 'server' | 'issuer'
  readonly what: 'certificate' | 'key'
  /** Nothing: the data is all of it. */
  readonly digest: 'sha256' | 'sha512' | undefined
  readonly data: Buffer
}

/** Of one host, that are looked at. @see Postfix dns_rr.c, var_dns_rr_list_limit */
const recordsMax = 100

/** PKIX-TA and PKIX-EE (0, 1) mean roots that sender and receiver would have to agree upon.
 * RFC 7672 §3.1.3 */
const usages: Readonly<Record<number, TlsaRecord['of']>> = { 2: 'issuer', 3: 'server' }
const selectors: Readonly<Record<number, TlsaRecord['what']>> = { 0: 'certificate', 1: 'key' }
const digests: Readonly<Record<number, TlsaRecord['digest']>> = { 1: 'sha256', 2: 'sha512' }

export function usableRecords(all: readonly TlsaData[]): TlsaRecord[] {
  const records = all.slice(0, recordsMax).flatMap(({ usage, selector, matchingType, certificate: data }) => {
    const of = usages[usage]
    const what = selectors[selector]
    const digest = digests[matchingType]
    if (of === undefined || what === undefined || (digest === undefined && matchingType !== 0)) return []
    const record = { of, what, digest, data }
    return isWellFormed(record) ? [record] : []
  })
  return records.filter(
    ({ of, what, digest }) =>
      digest !== 'sha256' ||
      !records.some((other) => other.digest === 'sha512' && other.of === of && other.what === what),
  )
}

function isWellFormed({ what, digest, data }: TlsaRecord): boolean {
  if (digest !== undefined) return data.length === (digest === 'sha256' ? 32 : 64)
  try {
    if (what === 'certificate') return new X509Certificate(data).raw.equals(data)
    createPublicKey({ key: data, format: 'der', type: 'spki' })
    return isOneElement(data)
  } catch {
    return false
  }
}

/** @throws RangeError for a certificate that cannot be read */
export function matches({ what, digest, data }: TlsaRecord, { raw }: X509Certificate): boolean {
  const meant = what === 'certificate' ? raw : keyInfoOf(raw)
  return (digest === undefined ? meant : createHash(digest).update(meant).digest()).equals(data)
}

/** One word for each. */
export const recordText = ({ of, what, digest, data }: TlsaRecord): string =>
  `${of}-${what}-${digest ?? 'all'}-${data.toString('base64')}`
