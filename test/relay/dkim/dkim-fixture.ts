/** Keys for tests of DKIM, and what comes over the wire of data that is sent. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { DkimKey } from '../../../src/relay/dkim/dkim-keys.js'

export const rsaKey: KeyObject = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
export const ed25519Key: KeyObject = generateKeyPairSync('ed25519').privateKey

export const rsa: DkimKey = { domain: 'example.org', selector: 'mail', privateKey: rsaKey }
export const ed25519: DkimKey = { domain: 'example.org', selector: 'small', privateKey: ed25519Key }

/** As the DNS would have them. */
export const publicKeys: Readonly<Record<string, KeyObject>> = {
  'mail._domainkey.example.org': createPublicKey(rsaKey),
  'small._domainkey.example.org': createPublicKey(ed25519Key),
}

/** Each CR and LF that stands alone leaves as CRLF, and so does an end that is missing. */
export function onTheWire(data: Buffer): Buffer {
  const text = data.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n')
  return Buffer.from(text.endsWith('\r\n') ? text : `${text}\r\n`, 'latin1')
}
