/** A DKIM-Signature field (RFC 6376), canonical forms relaxed/relaxed.
 * Invariant: if a field is signed, every instance of it is. A field whose meaning a second instance
 * would change is signed once more than it is there: a server that adds one breaks the signature.
 * Fields that servers write (Received, Return-Path) or take out (Bcc) are never signed. */
import { createHash, sign } from 'node:crypto'
import { promisify } from 'node:util'
import RelaxedBody from 'nodemailer/lib/dkim/relaxed-body'
import type { HeaderField } from '../../base/header.js'
import type { SigningKey } from './dkim-keys.js'

/** `always`: one more is signed than there are, also when there is none. `if there`: only when
 * there is one, for a server on the way may add what is missing. `never`: the existing ones; a
 * server on the way may add others above them. As rspamd has it. RFC 6376 §5.4.1, RFC 8058 §4 */
const oneMore: Readonly<Record<string, 'always' | 'if there' | 'never'>> = {
  from: 'always',
  to: 'always',
  cc: 'always',
  subject: 'always',
  'reply-to': 'always',
  sender: 'if there',
  date: 'if there',
  'message-id': 'if there',
  'in-reply-to': 'if there',
  references: 'if there',
  'mime-version': 'if there',
  'content-type': 'if there',
  'content-transfer-encoding': 'if there',
  'content-id': 'if there',
  'content-description': 'if there',
  'list-id': 'never',
  'list-help': 'never',
  'list-unsubscribe': 'never',
  'list-unsubscribe-post': 'never',
  'list-subscribe': 'never',
  'list-post': 'never',
  'list-owner': 'never',
  'list-archive': 'never',
  'resent-date': 'never',
  'resent-from': 'never',
  'resent-sender': 'never',
  'resent-to': 'never',
  'resent-cc': 'never',
  'resent-message-id': 'never',
}

/** Instances of all fields, those included that must not come. Mail has thirty; a signature that
 * names thousands is no field any more. */
const namesMax = 200

/** Of a line of the field. RFC 5322 §2.1.1 */
const lineLengthMax = 78

const signed = promisify(sign)

/** What of a header is signed. */
export interface SignedHeader {
  /** One for each instance, and one for each that must not come. */
  readonly names: readonly string[]
  /** The fields in the form "relaxed", in the order of their names. */
  readonly text: string
}

/** @returns undefined when it is too much to name */
export function signedHeader(fields: readonly HeaderField[]): SignedHeader | undefined {
  const byName = new Map<string, HeaderField[]>(Object.keys(oneMore).map((name) => [name, []]))
  // From the bottom upwards. RFC 6376 §5.4.2
  for (const field of fields.toReversed()) byName.get(field.name)?.push(field)
  const names: string[] = []
  let text = ''
  for (const [name, instances] of byName) {
    if (names.length + instances.length >= namesMax) return undefined
    for (const field of instances) {
      names.push(name)
      text += `${relaxed(field)}\r\n`
    }
    const when = oneMore[name]
    if (when === 'always' || (when === 'if there' && instances.length > 0)) names.push(name)
  }
  return { names, text }
}

/** RFC 6376 §3.4.2 */
const relaxed = ({ name, value }: HeaderField): string =>
  `${name}:${value.replace(/[ \t]+/g, ' ').replace(/^ | $/g, '')}`

/** @param bodyHash in base64
 * @param atMs when it is signed, milliseconds since 1970
 * @returns the field with its line ends */
export async function signatureField(
  { names, text }: SignedHeader,
  bodyHash: string,
  { domain, selector, privateKey, algorithm }: SigningKey,
  atMs: number,
): Promise<string> {
  const lines = [
    ` v=1; a=${algorithm}; c=relaxed/relaxed; t=${Math.floor(atMs / 1000)};`,
    ` d=${domain}; s=${selector};`,
    ...folded(`h=${names.join(':')};`.match(/[^:]+:?/g)!),
    ` bh=${bodyHash};`,
    ' b=',
  ]
  const data = Buffer.from(text + relaxed({ name: 'dkim-signature', value: lines.join('') }), 'latin1')
  const signature =
    algorithm === 'rsa-sha256'
      ? await signed('sha256', data, privateKey)
      : // What is signed is the hash. RFC 8463 §3
        await signed(null, createHash('sha256').update(data).digest(), privateKey)
  const [first = '', ...rest] = folded(signature.toString('base64').match(/.{1,8}/g)!)
  return `DKIM-Signature:${lines.join('\r\n')}${[first.trimStart(), ...rest].join('\r\n')}\r\n`
}

/** @returns lines, each with a blank before it */
function folded(parts: readonly string[]): string[] {
  const lines: string[] = []
  let line = ''
  for (const part of parts) {
    if (line !== '' && line.length + part.length >= lineLengthMax) {
      lines.push(` ${line}`)
      line = ''
    }
    line += part
  }
  return [...lines, ` ${line}`]
}

const LF = 0x0a
const CR = 0x0d

/** The hash of a body in the form "relaxed" (RFC 6376 §3.4.4), nodemailer's, piece by piece.
 * Invariant: it is the hash of what leaves. A CR that stands alone leaves as CRLF
 * (smtp-delivery.ts), and nodemailer takes it for a letter: it is shown an LF instead, which it
 * takes for the end of a line, as it is. */
export class BodyHash {
  readonly #body = new RelaxedBody()
  /** It is not known yet whether an LF follows. */
  #owesCr = false

  update(piece: Buffer): void {
    const data = this.#owesCr && piece.length > 0 ? Buffer.concat([Buffer.of(CR), piece]) : piece
    if (data.length === 0) return
    this.#owesCr = data.at(-1) === CR
    this.#body.updateHash(withoutBareCr(this.#owesCr ? data.subarray(0, -1) : data))
  }

  /** @returns the hash in base64, when all has been seen */
  digest(): string {
    // The end that the last line has not, or an empty line more, which is nothing.
    this.#body.updateHash(Buffer.of(CR, LF))
    return this.#body.bodyHash.digest('base64')
  }
}

function withoutBareCr(data: Buffer): Buffer {
  let mended = data
  for (let at = data.indexOf(CR); at >= 0; at = data.indexOf(CR, at + 1)) {
    if (data[at + 1] === LF) continue
    if (mended === data) mended = Buffer.from(data)
    mended[at] = LF
  }
  return mended
}
