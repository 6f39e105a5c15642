/** Whether the header of a message has other letters than ASCII, which only SMTPUTF8 carries (RFC 6532 §3). Pure.
 * Invariant: the body does not matter: it goes as eight bits, and so do the headers of its parts, as they did before there was
 * SMTPUTF8. Nothing behind the empty line is asked for. */

const LF = 0x0a
const CR = 0x0d

/** @param data whole, or piece by piece; fails as it fails */
export async function hasInternationalHeader(data: Uint8Array | AsyncIterable<Uint8Array>): Promise<boolean> {
  let lineLength = 0
  for await (const piece of data instanceof Uint8Array ? [data] : data) {
    for (const octet of piece) {
      if (octet > 0x7f) return true
      if (octet !== LF) {
        if (octet !== CR) lineLength++
      } else if (lineLength === 0) return false
      else lineLength = 0
    }
  }
  return false
}
