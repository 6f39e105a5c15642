/** Whether a certificate is for a name, or an address. Pure.
 * Invariant: the names that it was signed with count, and a wildcard is a whole label (RFC 9525 §6.3). */
import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'

/** @param name one that begins with a dot stands for all below it, as for OpenSSL
 * @param isAltName the common name of its subject does not do, not even where there is no other */
export const isFor = (certificate: X509Certificate, name: string, isAltName: boolean): boolean =>
  isIP(name) === 0
    ? certificate.checkHost(name, { subject: isAltName ? 'never' : 'default', partialWildcards: false }) !==
      undefined
    : certificate.checkIP(name) !== undefined
