/** The header of a message, field by field. Pure.
 * Invariant: what is read here everybody reads so: CR, LF and both together end a line, for each leaves as CRLF (smtp-delivery.ts), and a header
 * with anything in it that is no field is not read at all. Some would begin the body there, some a field. */

const LF = 0x0a
const CR = 0x0d

export interface HeaderField {
  /** In lower case. */
  readonly name: string
  /** What stands behind the colon, unfolded, a character for each octet. */
  readonly value: string
}

/** Looks for the end of the first empty line, piece by piece. */
export class HeaderEnd {
  #lineLength = 0
  #isBehindCr = false
  #isBehindEmptyLine = false

  /** @returns where the body begins, in this piece or behind its last octet; -1 for a piece that is all header */
  find(piece: Uint8Array): number {
    for (let i = 0; i < piece.length; i++) {
      const octet = piece[i]!
      if (this.#isBehindEmptyLine) return octet === LF ? i + 1 : i
      const isSecondHalf = octet === LF && this.#isBehindCr
      this.#isBehindCr = octet === CR
      if (isSecondHalf) continue
      if (octet !== CR && octet !== LF) this.#lineLength++
      else if (this.#lineLength > 0) this.#lineLength = 0
      else if (octet === LF) return i + 1
      else this.#isBehindEmptyLine = true
    }
    return -1
  }
}

const fieldStart = /^([!-9;-~]+)[ \t]*:/

/** @param header with the empty line behind it, if there is one
 * @returns undefined for what is no header, or not to everybody */
export function headerFields(header: Buffer): HeaderField[] | undefined {
  const lines = header.toString('latin1').split(/\r\n|\r|\n/)
  const fields: { name: string; value: string }[] = []
  for (const line of lines) {
    // Behind the last end of a line there is nothing.
    if (line === '') continue
    const isFolded = line.startsWith(' ') || line.startsWith('\t')
    const match = isFolded ? null : fieldStart.exec(line)
    if (match !== null) {
      fields.push({ name: match[1]!.toLowerCase(), value: line.slice(match[0].length) })
      continue
    }
    const field = fields.at(-1)
    // A line of blanks is an empty one to some.
    if (field === undefined || !isFolded || /^[ \t]+$/.test(line)) return undefined
    field.value += line
  }
  return fields
}
