/** Prepares the message that `sendmail` reads from standard input. Pure.
 * Invariant: any input becomes a message. Line ends become CRLF; NULs, a mailbox's `From ` line,
 * Bcc, Resent-Bcc, Return-Path and Content-Length are removed; lines over 998 octets are broken;
 * addresses get a domain; a CR alone in the header, which would leave as a line end, becomes a
 * blank. Missing Date, Message-ID and From are added. Nothing else changes. */
import { removedFields } from '../../../src/relay/smtp-in/completed-header.js'
import { isSigned, shortLines } from './long-lines.js'
import { addressesIn, addressFields, qualifiedField } from '../../../src/relay/mime/header-addresses.js'

export interface Authorship {
  readonly sender: string
  /** The domain of addresses without one. */
  readonly origin: string
  /** After the @ of a Message-ID. To filters one without a dot is a sign of spam. */
  readonly hostname: string
  /** Before it; different for each message. */
  readonly unique: string
  readonly now: Date
  /** Real name for an added From. */
  readonly name: string | undefined
}

interface Field {
  /** In lower case. */
  readonly name: string
  /** As it was written, with its line ends. */
  readonly text: string
}

/** Removes the line `From …` of a mailbox or git. A line ends with LF and all CRs before it: some
 * programs turn each LF of CRLF text into CRLF again. NULs are invalid (RFC 5322 §2.1) and removed.
 * @param dotEnds a line with a single dot ends the message (without `-i`) */
export function unixLines(input: Buffer, dotEnds: boolean): string {
  const text = withoutFromLines(withCrlf(input))
  const end = dotEnds ? /(?<![^\n])\.\r\n/.exec(text)?.index : undefined
  const cut = end === undefined ? text : text.slice(0, end)
  return cut === '' || cut.endsWith('\r\n') ? cut : `${cut}\r\n`
}

/** Byte by byte: a regular expression takes quadratic time for a run of CRs without LF. */
function withCrlf(input: Buffer): string {
  let lineCount = 0
  for (let at = input.indexOf(LF); at >= 0; at = input.indexOf(LF, at + 1)) lineCount++
  const lines = Buffer.allocUnsafe(input.length + lineCount)
  let length = 0
  // CRs at the end of what is written so far.
  let crCount = 0
  for (const octet of input) {
    if (octet === 0) continue
    if (octet === LF) {
      length -= crCount
      lines[length++] = CR
    }
    crCount = octet === CR ? crCount + 1 : 0
    lines[length++] = octet
  }
  return lines.toString('latin1', 0, length)
}

const LF = 0x0a
const CR = 0x0d

function withoutFromLines(lines: string): string {
  let start = 0
  while (lines.startsWith('From ', start) || lines.startsWith('>From ', start)) {
    const end = lines.indexOf('\n', start)
    if (end < 0) break
    start = end + 1
  }
  return lines.slice(start)
}

/** Latin-1 text stands for bytes here, so that no byte is changed. */
export function messageOf(lines: string, authorship: Authorship): Buffer {
  const { fields, body } = split(lines)
  const { sender, origin, hostname, unique, now, name } = authorship
  const has = (field: string): boolean => fields.some((other) => other.name === field)
  const date = now.toUTCString().replace('GMT', '+0000')
  // @see Postfix: the null sender is MAILER-DAEMON there
  const author = sender === '' ? `MAILER-DAEMON@${origin}` : sender
  const from = name === undefined ? author : `${quoted(name)} <${author}>`
  const added = [
    ...(has('date') ? [] : [`Date: ${date}\r\n`]),
    ...(has('message-id') ? [] : [`Message-ID: <${unique}@${hostname}>\r\n`]),
    ...(has('from') ? [] : [`From: ${from}\r\n`]),
  ]
  const kept = fields
    .filter((field) => !removedFields.has(field.name))
    .map((field) => (addressFields.has(field.name) ? qualifiedField(field.text, origin) : field.text))
    .map((field) => field.replace(/\r(?!\n)/g, ' '))
  const addedBytes = Buffer.from(added.join(''))
  const text = `${kept.join('')}\r\n${body}`
  return Buffer.concat([addedBytes, Buffer.from(isSigned(fields) ? text : shortLines(text), 'latin1')])
}

/** The addresses of To, Cc and Bcc, for `-t`; of a resent message, those of Resent-To,
 * Resent-Cc and Resent-Bcc alone: the others have it already. @param origin the domain of
 * addresses without one */
export function recipientsOf(lines: string, origin: string): string[] {
  const { fields } = split(lines)
  const resent = fields.filter(({ name }) => /^resent-(?:to|b?cc)$/.test(name))
  const named = resent.length > 0 ? resent : fields.filter(({ name }) => /^(?:to|b?cc)$/.test(name))
  return named
    .map(({ text }) => qualifiedField(text, origin))
    .map((text) => Buffer.from(text.slice(text.indexOf(':') + 1), 'latin1').toString())
    .flatMap(addressesIn)
}

/** A field's name and its colon are in one line (RFC 5322 §2.1.1). */
const fieldNameReach = 998

/** A message may begin with its body: a line that is no field ends the header. */
function split(lines: string): { fields: Field[]; body: string } {
  const fields: Field[] = []
  let end = 0
  for (;;) {
    const name = /^([!-9;-~]+)[ \t]*:/.exec(lines.slice(end, end + fieldNameReach))?.[1]
    // A line goes on behind a CR that stands alone.
    let next = name === undefined ? -1 : lines.indexOf('\r\n', end)
    while (next >= 0 && (lines[next + 2] === ' ' || lines[next + 2] === '\t'))
      next = lines.indexOf('\r\n', next + 2)
    if (name === undefined || next < 0) break
    fields.push({ name: name.toLowerCase(), text: lines.slice(end, next + 2) })
    end = next + 2
  }
  return { fields, body: lines.slice(lines.startsWith('\r\n', end) ? end + 2 : end) }
}

const quoted = (name: string): string =>
  /^[\w !#-'*+/=?^`{|}~-]*$/.test(name)
    ? name
    : `"${name.replace(/["\\\r\n]/g, (char) => (char < ' ' ? ' ' : `\\${char}`))}"`
