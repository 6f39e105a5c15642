/** Lines as quoted-printable, RFC 2045 §6.7.
 * Invariant: no line is longer than 76 characters, a blank is never the last one of a line, and
 * every line end of the source is one of the result. */

const lineCharsMax = 76
const TAB = 0x09
const BLANK = 0x20
const EQUALS = 0x3d

const coded: readonly string[] = Array.from(
  { length: 256 },
  (_, octet) => `=${octet.toString(16).toUpperCase().padStart(2, '0')}`,
)

export class QuotedPrintable {
  #column = 0

  /** @param keepsEquals the octets are quoted-printable already, except those over 127 */
  chunk(octets: Uint8Array, isEnd: boolean, keepsEquals = false): string {
    let text = ''
    for (let i = 0; i < octets.length; i++) {
      const octet = octets[i]!
      const isBlank = octet === BLANK || octet === TAB
      const isPlain = isBlank ? i < octets.length - 1 : octet > BLANK && octet < 0x7f
      const word =
        keepsEquals && octet < 0x80
          ? String.fromCharCode(octet)
          : isPlain && octet !== EQUALS
            ? String.fromCharCode(octet)
            : coded[octet]!
      // A line that goes on leaves room for the `=` that says so.
      if (!keepsEquals && this.#column + word.length > lineCharsMax - 1) {
        text += '=\r\n'
        this.#column = 0
      }
      text += word
      this.#column += word.length
    }
    if (isEnd) {
      text += '\r\n'
      this.#column = 0
    }
    return text
  }
}
