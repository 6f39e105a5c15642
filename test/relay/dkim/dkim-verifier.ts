/** A verifier of DKIM signatures for tests, written from RFC 6376 and RFC 8463 and from nothing of
 * ours: relaxed/relaxed, SHA-256. */
import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto'

export interface Verdict {
  readonly domain: string
  readonly selector: string
  readonly algorithm: string
  /** The names in h=, in their order. */
  readonly names: readonly string[]
  readonly signedAt: number
  readonly isRight: boolean
}

/** @param message as it came over the wire, dots undone
 * @param keys by `SELECTOR._domainkey.DOMAIN`
 * @returns one verdict for each signature, from the top */
export function verdictsOf(message: Buffer, keys: Readonly<Record<string, KeyObject>>): Verdict[] {
  const text = message.toString('latin1')
  if (/\r(?!\n)|(?<!\r)\n/.test(text)) throw new Error('a CR or LF by itself came over the wire')
  const empty = text.startsWith('\r\n') ? 0 : text.indexOf('\r\n\r\n') + 2
  const header = empty === 1 ? text : text.slice(0, empty)
  const body = empty === 1 ? '' : text.slice(empty + 2)
  const fields = header.split(/\r\n(?![ \t])/).filter((field) => field !== '')
  return fields
    .filter((field) => nameOf(field) === 'dkim-signature')
    .map((field) => verdict(field, fields, body, keys))
}

function verdict(
  field: string,
  fields: readonly string[],
  body: string,
  keys: Readonly<Record<string, KeyObject>>,
): Verdict {
  const unfolded = field.slice(field.indexOf(':') + 1).replaceAll('\r\n', '')
  const tags = new Map<string, string>()
  let isList = true
  for (const tag of unfolded.split(';')) {
    const [, name, value] = /^\s*([a-z]+)\s*=\s*(.*?)\s*$/i.exec(tag) ?? []
    isList &&= name !== undefined && !tags.has(name)
    tags.set(name ?? '', value ?? '')
  }
  const tag = (name: string): string => tags.get(name) ?? ''
  const packed = (name: string): string => tag(name).replace(/\s/g, '')
  const names = packed('h').split(':')
  const left = fields.filter((other) => other !== field)
  let data = ''
  for (const name of names) {
    const at = left.findLastIndex((other) => nameOf(other) === name.toLowerCase())
    if (at < 0) continue
    data += `${relaxedField(left.splice(at, 1)[0]!)}\r\n`
  }
  data += relaxedField(field).replace(/([; :]b=)[^;]*/, '$1')
  const key = keys[`${tag('s')}._domainkey.${tag('d')}`]
  const hash = createHash('sha256').update(relaxedBody(body), 'latin1').digest('base64')
  return {
    domain: tag('d'),
    selector: tag('s'),
    algorithm: tag('a'),
    names,
    signedAt: Number(tag('t')),
    isRight:
      isList &&
      tag('v') === '1' &&
      tag('c') === 'relaxed/relaxed' &&
      names.includes('from') &&
      key !== undefined &&
      packed('bh') === hash &&
      isSignature(tag('a'), Buffer.from(data, 'latin1'), key, Buffer.from(packed('b'), 'base64')),
  }
}

const nameOf = (field: string): string => field.slice(0, field.indexOf(':')).trim().toLowerCase()

function relaxedField(field: string): string {
  const value = field.slice(field.indexOf(':') + 1).replaceAll('\r\n', '')
  return `${nameOf(field)}:${value.replace(/[\t ]+/g, ' ').replace(/^ | $/g, '')}`
}

export function relaxedBody(body: string): string {
  const lines = body.split('\r\n').map((line) => line.replace(/[\t ]+/g, ' ').replace(/ $/, ''))
  while (lines.length > 0 && lines.at(-1) === '') lines.pop()
  return lines.map((line) => `${line}\r\n`).join('')
}

function isSignature(algorithm: string, data: Buffer, key: KeyObject, signature: Buffer): boolean {
  if (algorithm === 'rsa-sha256') return verify('sha256', data, key, signature)
  if (algorithm !== 'ed25519-sha256') throw new Error(`no algorithm: ${algorithm}`)
  return verify(null, createHash('sha256').update(data).digest(), key, signature)
}

/** The key in the text of a TXT record. */
export function keyOfRecord(text: string): KeyObject {
  const tags = new Map(text.split(';').map((tag) => tag.trim().split(/=(.*)/s) as [string, string]))
  if (tags.get('v') !== 'DKIM1') throw new Error(`no record of DKIM: ${text}`)
  const bytes = Buffer.from(tags.get('p') ?? '', 'base64')
  // RFC 8463 has the bare key, and X.509 the same behind these octets.
  const head = Buffer.from('302a300506032b6570032100', 'hex')
  const key = tags.get('k') === 'ed25519' ? Buffer.concat([head, bytes]) : bytes
  return createPublicKey({ key, format: 'der', type: 'spki' })
}
