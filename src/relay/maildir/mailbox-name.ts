/** The directory of an address's Maildir. Pure.
 * Invariant: a name is one path component that every file system takes: no separator, no leading
 * dot, no control character, one case, at most 255 bytes; different addresses have different names,
 * except for case and a final dot, which do not matter. */
import { createHash } from 'node:crypto'

const nameBytesMax = 255
const plain = /^[a-z0-9_@+=-][a-z0-9._@+=-]*$/

export function mailboxName(recipient: string): string {
  const folded = recipient.normalize('NFC').toLowerCase().replace(/\.$/, '')
  if (plain.test(folded) && folded.length <= nameBytesMax) return folded
  let name = ''
  for (const byte of Buffer.from(folded)) {
    const char = String.fromCharCode(byte)
    const keeps = byte < 0x80 && plain.test(name === '' ? char : `a${char}`)
    name += keeps ? char : `%${byte.toString(16).padStart(2, '0')}`
  }
  if (name.length <= nameBytesMax) return name
  // `~` is never kept, so that no other address has this name.
  const hash = createHash('sha256').update(folded).digest('hex')
  return `${name.slice(0, nameBytesMax - hash.length - 1)}~${hash}`
}
