/** Breaks lines that are too long for a message with CR LF and a space, like Postfix and dma. Pure.
 * Invariant: no octet is changed, none but a blank is lost, and no UTF-8 character is split. At a
 * blank the line is broken before it, without a further space; else behind a comma, so that an
 * address in a list stays whole (RFC 5322 §2.2.3). Signed mail is left alone, because breaking a
 * line breaks its signature.
 * Why not encoded: text stays readable. */

/** RFC 5322 §2.1.1, octets without CR LF. */
const lineBytesMax = 998
/** How far back a blank is looked for. */
const blankReach = 200
/** And a comma: longer than an address. */
const commaReach = 600

/** @param lines latin1 text that stands for bytes, with CR LF at line ends */
export function shortLines(lines: string): string {
  const parts: string[] = []
  let taken = 0
  // A regular expression for long lines needs more stack than there is for one of 5 MB.
  for (let start = 0; start < lines.length;) {
    const found = lines.indexOf('\n', start)
    const end = found < 0 ? lines.length : found
    if (end - start > lineBytesMax) {
      parts.push(lines.slice(taken, start), broken(lines.slice(start, end)))
      taken = end
    }
    start = end + 1
  }
  parts.push(lines.slice(taken))
  return parts.join('')
}

function broken(line: string): string {
  const hasEnd = line.endsWith('\r')
  const text = hasEnd ? line.slice(0, -1) : line
  if (text.length <= lineBytesMax) return line
  const parts: string[] = []
  let from = 0
  // The inserted space counts.
  while (text.length - from > lineBytesMax - 1) {
    const at = breakIn(text, from, from + lineBytesMax - 1)
    parts.push(text.slice(from, at))
    from = at
  }
  parts.push(text.slice(from))
  // One of blanks alone would end a header.
  const said = parts.filter((part) => /[^ \t]/.test(part))
  if (said.length === 0) said.push(parts[0]!)
  const joined = said.map((part, i) => (i === 0 || /^[ \t]/.test(part) ? part : ` ${part}`)).join('\r\n')
  return hasEnd ? `${joined}\r` : joined
}

/** @returns where the next line begins, at most at `end` */
function breakIn(text: string, from: number, end: number): number {
  for (let at = end; at > Math.max(from + 1, end - blankReach); at--)
    if (/[ \t]/.test(text[at]!) && /[^ \t]/.test(text[at - 1]!)) return at
  const reach = Math.max(from, end - commaReach)
  const comma = text.slice(reach, end).lastIndexOf(',')
  if (comma >= 0) return reach + comma + 1
  let at = end
  // A continuation octet of UTF-8 belongs to what stands before it.
  while (at > end - 3 && /[\x80-\xbf]/.test(text[at]!)) at--
  return at
}

export const isSigned = (fields: readonly { readonly name: string }[]): boolean =>
  fields.some(({ name }) => name === 'dkim-signature' || name === 'arc-message-signature')
