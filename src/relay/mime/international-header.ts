/** Decides whether the header of a message has letters other than ASCII, which only SMTPUTF8
 * carries (RFC 6532 §3). Pure.
 * Invariant: the body does not matter: it goes as eight bits, and so do the headers of its parts,
 * as they did before there was SMTPUTF8. Nothing behind the empty line is asked for. */
import { isBytes } from '../../base/realms.js'
import { HeaderEnd } from '../../base/header.js'

/** @param data whole, or piece by piece; fails as it fails */
export async function hasInternationalHeader(data: Uint8Array | AsyncIterable<Uint8Array>): Promise<boolean> {
  const headerEnd = new HeaderEnd()
  for await (const piece of isBytes(data) ? [data] : data) {
    const end = headerEnd.find(piece)
    const header = end < 0 ? piece : piece.subarray(0, end)
    if (header.some((octet) => octet > 0x7f)) return true
    if (end >= 0) return false
  }
  return false
}
