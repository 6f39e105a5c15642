/** The one reader of a message's header. Pure.
 * Invariant: CR, LF and CR LF each end a line, because each leaves as CR LF (smtp-delivery.ts). So
 * no reader takes for header what the next server takes for the body. */

const LF = 0x0a
const CR = 0x0d

/** A field as it stands in the data: octets from `start` up to `end`, behind its line end. */
export interface LeadingField {
  /** In lower case. */
  readonly name: string
  readonly start: number
  readonly end: number
}

export interface LeadingFields {
  readonly fields: readonly LeadingField[]
  /** Where the last field ends. */
  readonly end: number
  /** The last field, or the header, goes on behind the data that was given. */
  readonly isCut: boolean
  /** CRs alone behind which text continues a field; none unless `joinsText`. */
  readonly joints: readonly number[]
}

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

  /** @returns where the body begins, in this piece or behind its last octet; -1 for a piece
   * that is all header */
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

/** The fields at the beginning of a message. A line that is no field ends the header; one of blanks
 * continues a field (RFC 5322 §4.2).
 * @param joinsText text that is no field continues one behind a CR alone, too, for a caller that
 * puts blanks in place of these CRs */
export function leadingFields(data: Buffer, joinsText = false): LeadingFields {
  const fields: { name: string; start: number; end: number }[] = []
  const joints: number[] = []
  let start = 0
  let lf = -1
  while (start < data.length) {
    // Looked for once: lines that end with CR alone would be gone through again for each of them.
    if (lf < start) lf = data.indexOf(LF, start)
    if (lf < 0) lf = data.length
    const textEnd = lineTextEnd(data, start, lf)
    const line = data.toString('latin1', start, textEnd)
    const end = behindLineEnd(data, textEnd)
    const name = fieldStart.exec(line)?.[1]
    const last = fields.at(-1)
    if (name !== undefined) fields.push({ name: name.toLowerCase(), start, end })
    else if (last !== undefined && /^[ \t]/.test(line)) last.end = end
    else if (joinsText && last !== undefined && line !== '' && data[start - 1] === CR) {
      joints.push(start - 1)
      last.end = end
    } else return { fields, end: start, isCut: false, joints }
    start = end
  }
  return { fields, end: start, isCut: true, joints }
}

function lineTextEnd(data: Buffer, start: number, lineEnd: number): number {
  const cr = data.subarray(start, lineEnd).indexOf(CR)
  return cr < 0 ? lineEnd : start + cr
}

const behindLineEnd = (data: Buffer, at: number): number =>
  at >= data.length ? at : data[at] === CR && data[at + 1] === LF ? at + 2 : at + 1

const fieldStart = /^([!-9;-~]+)[ \t]*:/

/** @param header with the empty line behind it, if there is one
 * @returns undefined when something in it is no field: some readers would begin the body
 * there, some a field */
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

/** Longer ones are nobody's. */
const messageIdLengthMax = 300

/** @param data the message, or its beginning @param fields those of `data`, where they are known
 * @returns `<…>`; undefined where there is none */
export function messageIdIn(
  data: Buffer,
  fields: readonly LeadingField[] = leadingFields(data).fields,
): string | undefined {
  const field = fields.find(({ name }) => name === 'message-id')
  if (field === undefined) return undefined
  const messageId = /<[^<>\s]+>/.exec(data.toString('utf8', field.start, field.end))?.[0]
  return messageId === undefined || messageId.length > messageIdLengthMax ? undefined : messageId
}
