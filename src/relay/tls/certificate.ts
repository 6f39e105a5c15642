/** Reads the fields of a certificate that Node does not show (RFC 5280 §4.1), and compares its
 * names with a host. Pure.
 * Invariants: fields are returned in the bytes that were signed, not encoded again. Only the signed
 * names count, and a wildcard is a whole label (RFC 9525 §6.3). */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { TlsDemand } from './tls-policy.js'

interface Element {
  readonly tag: number
  /** With its tag and length. */
  readonly whole: Buffer
  readonly content: Buffer
}

/** Octets of a length that can be one of a certificate. */
const lengthBytesMax = 3

/** @throws RangeError for what is no DER */
function elementsOf(bytes: Buffer): Element[] {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length;) {
    let length = bytes.readUInt8(at + 1)
    let from = at + 2
    if (length > 0x80) {
      const lengthBytes = length & 0x7f
      if (lengthBytes > lengthBytesMax) throw new RangeError('too long')
      length = bytes.readUIntBE(from, lengthBytes)
      from += lengthBytes
    } else if (length === 0x80) throw new RangeError('no length')
    const end = from + length
    if (end > bytes.length) throw new RangeError('cut off')
    elements.push({ tag: bytes[at]!, whole: bytes.subarray(at, end), content: bytes.subarray(from, end) })
    at = end
  }
  return elements
}

/** @throws RangeError */
function child(bytes: Buffer, index: number): Element {
  const element = elementsOf(bytes)[index]
  if (element === undefined) throw new RangeError('missing')
  return element
}

/** Nothing stands behind it. @throws RangeError */
export const isOneElement = (bytes: Buffer): boolean => elementsOf(bytes).length === 1

const versionTag = 0xa0
const extensionsTag = 0xa3

/** What is signed, behind its version. */
const signedFields = (certificate: Buffer): Element[] =>
  elementsOf(child(child(certificate, 0).content, 0).content).filter(({ tag }) => tag !== versionTag)

/** Its key with the key's algorithm, SubjectPublicKeyInfo. @throws RangeError */
export function keyInfoOf(certificate: Buffer): Buffer {
  const info = signedFields(certificate)[5]
  if (info === undefined) throw new RangeError('missing')
  return info.whole
}

/** Object identifier of the algorithm that it is signed by, in hexadecimal digits.
 * @throws RangeError */
export const signatureAlgorithmOf = (certificate: Buffer): string =>
  child(child(child(certificate, 0).content, 1).content, 0).content.toString('hex')

export interface Extension {
  /** Object identifier, in hexadecimal digits. */
  readonly id: string
  readonly isCritical: boolean
}

/** @throws RangeError */
export function extensionsOf(certificate: Buffer): Extension[] {
  const field = signedFields(certificate).find(({ tag }) => tag === extensionsTag)
  if (field === undefined) return []
  return elementsOf(child(field.content, 0).content).map(({ content }) => {
    const [id, second] = elementsOf(content)
    return { id: id?.content.toString('hex') ?? '', isCritical: second?.tag === 1 && second.content[0] !== 0 }
  })
}

/** Whether a certificate is for a name, or an address.
 * @param name one that begins with a dot stands for all below it, as for OpenSSL
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
