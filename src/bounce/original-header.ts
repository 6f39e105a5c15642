/** The header of the message that a report is about.
 * Invariant: only header fields, whole ones, at most headerBytesMax of them, with CR LF line ends and without control characters.
 * Nothing of the body: the sender has it, and a report must not carry a stranger's content to a forged sender. Who has asked for it gets it by original-message.ts. */

/** Octets; what lies behind is cut at the beginning of a field. */
export const headerBytesMax = 65_536

/** Octets of a line on the way, RFC 5322; longer ones are split. */
const lineBytesMax = 998

/** But tabs, and but what is half of a UTF-8 character when bytes are read as latin1. */
const controls = /[^\P{Cc}\t\x80-\x9f]/gu

const fieldName = /^[\x21-\x39\x3b-\x7e]+[ \t]*:/

/** @param data the message or its beginning; a field that its end cuts short is left out, unless it is all there is
 * @param dataBytes length of the whole message */
export function originalHeader(data: Buffer, dataBytes: number): Buffer {
  const text = data.toString('latin1', 0, Math.min(data.length, headerBytesMax))
  const isCut = text.length < dataBytes
  const fields: string[][] = []
  for (const source of text.split('\n')) {
    const line = source.replace(controls, '')
    if (/^[ \t]/.test(line) && fields.length > 0) fields.at(-1)?.push(...split(line))
    else if (fieldName.test(line)) fields.push(split(line))
    else return join(fields)
  }
  return join(isCut && fields.length > 1 ? fields.slice(0, -1) : fields)
}

function split(line: string): string[] {
  const lines = [line.slice(0, lineBytesMax)]
  for (let at = lineBytesMax; at < line.length; at += lineBytesMax - 1)
    lines.push(` ${line.slice(at, at + lineBytesMax - 1)}`)
  return lines
}

const join = (fields: readonly (readonly string[])[]): Buffer =>
  Buffer.from(
    fields
      .flat()
      .map((line) => `${line}\r\n`)
      .join(''),
    'latin1',
  )
