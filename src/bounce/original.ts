/** The part of a report that returns the message: its header, or all of it for a sender that asked
 * for that (RET=FULL, RFC 3461).
 * Invariants: of the header only whole fields, at most headerBytesMax of them, with CR LF line ends
 * and without control characters; of a whole message only line ends change.
 * Why nothing of the body else: a report must not carry a stranger's content to a forged sender. A
 * client that may relay can ask for it in such a name; messageBytesMax limits what it gains. */
import { leadingFields } from '../base/header.js'

/** Octets; the rest is cut at the beginning of a field. */
export const headerBytesMax = 65_536

/** Octets of a line on the way, RFC 5322; longer ones are split. */
const lineBytesMax = 998

/** Except line ends, tabs, and halves of a UTF-8 character in bytes read as latin1. */
const controls = /[^\P{Cc}\t\r\n\x80-\x9f]/gu

/** @param data the message or its beginning; a field that its end cuts short is left out, unless it
 * is all there is
 * @param dataBytes length of the whole message */
export function originalHeader(data: Buffer, dataBytes: number): Buffer {
  const text = data.toString('latin1', 0, headerBytesMax)
  const beginning = Buffer.from(text.replace(controls, ''), 'latin1')
  const { fields, isCut } = leadingFields(beginning)
  const isLastCut = isCut && text.length < dataBytes && fields.length > 1
  const whole = isLastCut ? fields.slice(0, -1) : fields
  return join(whole.map(({ start, end }) => linesOf(beginning.toString('latin1', start, end))))
}

const linesOf = (field: string): string[] =>
  field
    .replace(/(?:\r\n|\r|\n)$/, '')
    .split(/\r\n|\r|\n/)
    .flatMap(split)

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

/** Octets; of a larger message the header is returned. @see Postfix bounce_size_limit */
export const messageBytesMax = 50_000

/** @param data the whole message */
export const originalMessage = (data: Buffer): Buffer =>
  Buffer.from(data.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1')
