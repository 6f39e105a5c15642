/** Makes foreign text safe for a report.
 * Invariant: the result has no control characters, no line breaks except ours, no marks that turn
 * the direction of writing, and no line that is too long. So neither a reply nor an address can
 * begin a header field, a body part or a paragraph. */

/** Octets of a folded line, where there is a space to fold at. */
const lineBytes = 76

/** Octets of a word that is not split; RFC 5322 allows a line of 998. */
const wordBytesMax = 900

/** One line of well-formed text; line breaks and tabs become spaces. @param bytesMax octets kept;
 * more end in `...` */
export function oneLine(text: string, bytesMax: number): string {
  const clean = Buffer.from(text)
    .toString()
    .replace(/[\s\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, '')
    .trim()
  return Buffer.byteLength(clean) <= bytesMax ? clean : `${cut(clean, bytesMax - 3)}...`
}

/** ASCII only; everything else becomes `?`. */
export const asciiOnly = (text: string): string => text.replace(/[^\x20-\x7e]/gu, '?')

export const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text)

/** Lines of at most 76 octets, as far as there are spaces, and 900 at most; those after the first
 * begin with `indent`.
 * @param text one line */
export function fold(text: string, indent: string): string {
  if (!text.startsWith(' ') && Buffer.byteLength(text) <= lineBytes) return text
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ').flatMap(pieces)) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && Buffer.byteLength(longer) > lineBytes) {
      lines.push(line)
      line = indent + word
    } else line = longer
  }
  return [...lines, line].join('\r\n')
}

function pieces(word: string): string[] {
  const found: string[] = []
  let rest = word
  while (Buffer.byteLength(rest) > wordBytesMax) {
    const piece = cut(rest, wordBytesMax)
    found.push(piece)
    rest = rest.slice(piece.length)
  }
  return [...found, rest]
}

/** The longest beginning of at most `bytesMax` octets that splits no character. */
function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  let end = Math.min(bytesMax, bytes.length)
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
