/** Whether a certificate is for a name, or an address. Pure.
 * Invariant: the names that it was signed with count, and a wildcard is a whole label
 * (RFC 9525 §6.3). */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { TlsDemand } from './tls-policy.js'

/** @param name one that begins with a dot stands for all below it, as for OpenSSL
 * @param isAltName the common name of its subject does not do, not even where there is no other */
export const isFor = (certificate: X509Certificate, name: string, isAltName: boolean): boolean =>
  isIP(name) === 0
    ? certificate.checkHost(name, { subject: isAltName ? 'never' : 'default', partialWildcards: false }) !==
      undefined
    : certificate.checkIP(name) !== undefined

/** Only the given names count, not the name of Node's connection. */
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
