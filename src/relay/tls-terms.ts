/** What TLS is asked of one server, and how a session with it is opened then.
 * Invariant: different demands have different keys, so that a session that was opened under one never serves another; and but for `may`, and
 * what the transport does without a demand, nothing here ever does without TLS that was asked for. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { SmtpTransportOptions } from './smtp-out-options.js'
import type { TlsDemand } from './tls-policy.js'

export interface TlsTerms {
  readonly way: NonNullable<SmtpTransportOptions['tls']>
  readonly tlsOptions: ConnectionOptions
  /** To plaintext, when a handshake fails. Who asks for a certificate that verifies does not mean plaintext instead. */
  readonly fallsBack: boolean
}

/** A word without spaces. */
export const demandKey = (demand: TlsDemand): string =>
  demand.level === 'verified'
    ? `verified${demand.isAltName === true ? '-alt' : ''}=${demand.names.join(',')}`
    : demand.level

/** @param demand undefined: as the options say. They say in any case whether TLS is implicit, and which roots are trusted */
export function termsOf(
  demand: TlsDemand | undefined,
  { tls = 'opportunistic', tlsOptions = {} }: Pick<SmtpTransportOptions, 'tls' | 'tlsOptions'>,
): TlsTerms {
  const mandatory = { way: tls === 'implicit' ? tls : 'required', fallsBack: false } as const
  switch (demand?.level) {
    case undefined:
      return usualTerms(tls, tlsOptions)
    case 'none':
      return usualTerms('none', tlsOptions)
    case 'may':
      return usualTerms('opportunistic', tlsOptions)
    case 'encrypt':
      return { ...mandatory, tlsOptions: { rejectUnauthorized: false, ...tlsOptions } }
    case 'verified':
      return { ...mandatory, tlsOptions: { ...tlsOptions, ...verifying(demand) } }
  }
}

function usualTerms(way: TlsTerms['way'], given: ConnectionOptions): TlsTerms {
  const tlsOptions = { rejectUnauthorized: way !== 'opportunistic', ...given }
  return { way, tlsOptions, fallsBack: way === 'opportunistic' && tlsOptions.rejectUnauthorized === false }
}

/** Whom Node connects to by its own lights does not count: the names do. */
export const verifying = ({
  names,
  isAltName,
}: Omit<Extract<TlsDemand, { level: 'verified' }>, 'level'>): ConnectionOptions => ({
  rejectUnauthorized: true,
  checkServerIdentity: (_, { raw }) => {
    const certificate = new X509Certificate(raw)
    if (names.some((name) => isFor(certificate, name, isAltName === true))) return undefined
    const others =
      certificate.subjectAltName ?? (isAltName === true ? 'no alternative name' : certificate.subject)
    const reason = `the certificate is for ${others.slice(0, 200)}, not for ${names.join(' or ')}`
    return Object.assign(new Error(reason), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  },
})

/** OpenSSL knows a leading dot. A wildcard is a whole label (RFC 9525 §6.3). */
const isFor = (certificate: X509Certificate, name: string, isAltName: boolean): boolean =>
  isIP(name) === 0
    ? certificate.checkHost(name, { subject: isAltName ? 'never' : 'default', partialWildcards: false }) !==
      undefined
    : certificate.checkIP(name) !== undefined
