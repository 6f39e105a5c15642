/** Reads the header of a message or of one of its parts, and rewrites it for a body in seven bits.
 * Pure.
 * Invariant: a header is changed only in its MIME fields; what cannot be read counts as
 * text/plain. */
import { headerFields, leadingFields } from '../../base/header.js'

/** What a body needs. `parts`: a multipart. `message`: another message, header and body. `closed`:
 * nothing in it may change. */
export type Shape =
  | {
      readonly kind: 'parts'
      readonly boundary: string
      readonly isSigned: boolean
      readonly isDigest: boolean
    }
  | { readonly kind: 'message' | 'closed' }
  | { readonly kind: 'leaf'; readonly encoding: 'base64' | 'quoted-printable' | 'none' }

/** @param header with its empty line, if there is one
 * @param isInDigest it is a part of multipart/digest, where a part without a type is a message (RFC
 * 2046 §5.1.5) */
export function shapeOf(header: Buffer, isInDigest = false): Shape {
  const fields = headerFields(header) ?? []
  const valueOf = (name: string): string =>
    fields
      .find((field) => field.name === name)
      ?.value.trim()
      .toLowerCase() ?? ''
  const contentType = fields.find(({ name }) => name === 'content-type')?.value ?? ''
  const [, type, subtype = ''] =
    contentType === '' && isInDigest
      ? ['', 'message', 'rfc822']
      : (/^\s*([\w-]+)\/([\w.+-]+)/.exec(contentType.toLowerCase()) ?? ['', 'text', 'plain'])
  if (type === 'multipart') {
    const boundary = boundaryIn(contentType)
    if (boundary !== undefined)
      return {
        kind: 'parts',
        boundary,
        isSigned: subtype === 'signed' || subtype === 'encrypted',
        isDigest: subtype === 'digest',
      }
  }
  const encoding = valueOf('content-transfer-encoding')
  if (encoding === 'base64' || encoding === 'quoted-printable') return { kind: 'leaf', encoding }
  if (type === 'message' && (subtype === 'rfc822' || subtype === 'global')) return { kind: 'message' }
  // RFC 2046 §5.2: other messages have seven bits, and no encoding.
  if (type === 'message' && !subtype.startsWith('global')) return { kind: 'closed' }
  return { kind: 'leaf', encoding: 'none' }
}

function boundaryIn(contentType: string): string | undefined {
  const [, quoted, word] = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i.exec(contentType) ?? []
  const boundary = quoted?.replace(/\\(.)/g, '$1') ?? word
  return boundary === undefined || boundary === '' ? undefined : boundary
}

/** @param encoding of the body, as it leaves, @param charset for a message without a type */
export function withEncoding(
  header: Buffer,
  encoding: '7bit' | 'quoted-printable',
  charset: string | undefined,
): Buffer {
  const { fields, end } = leadingFields(header)
  const kept = fields.filter(({ name }) => name !== 'content-transfer-encoding')
  const has = (name: string): boolean => fields.some((field) => field.name === name)
  // A field whose line end was cut off with the data.
  const whole = (text: Buffer): Buffer[] =>
    /[\r\n]$/.test(text.toString('latin1')) ? [text] : [text, lineEnd]
  const added = [
    ...(charset === undefined || has('mime-version') ? [] : ['MIME-Version: 1.0']),
    ...(charset === undefined || has('content-type') ? [] : [`Content-Type: text/plain; charset=${charset}`]),
    `Content-Transfer-Encoding: ${encoding}`,
  ]
  return Buffer.concat([
    ...kept.flatMap((field) => whole(header.subarray(field.start, field.end))),
    Buffer.from(added.map((line) => `${line}\r\n`).join('')),
    header.subarray(end),
  ])
}

const lineEnd: Buffer = Buffer.from('\r\n')

/** Does it say that octets over 127 may come? */
export const saysEightBit = (header: Buffer): boolean =>
  headerFields(header)?.some(
    ({ name, value }) => name === 'content-transfer-encoding' && /^\s*(?:8bit|binary)\s*$/i.test(value),
  ) ?? false
