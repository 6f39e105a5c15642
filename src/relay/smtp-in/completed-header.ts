/** Completes the header of mail from clients that may relay, as a submission server does (RFC 6409
 * §8). Pure. It adds a missing Date, Message-ID and From, and the domain of an address without one.
 * It removes Bcc, Resent-Bcc, Return-Path and Content-Length, makes a field of a mailbox's `From `
 * line and blanks of CRs within a field, and shows senders as the world knows them.
 * Invariant: nothing else of the message changes; the whole header was seen, however it came. An
 * added field stands above the others; one that is there is kept.
 * @see Postfix always_add_missing_headers, message_drop_headers, append_at_myorigin */
import { leadingFields, type LeadingField } from '../../base/header.js'
import { WaybillError } from '../../errors.js'
import { addressFields, qualifiedField, senderFields, shownField } from '../mime/header-addresses.js'
import { dateText } from './received.js'

export interface Completion {
  /** The envelope's; '' is the null sender. */
  readonly sender: string
  /** Left of the @ of an added Message-ID; different for each message. */
  readonly unique: string
  readonly hostname: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** What a sender is to the world (senders.ts), the envelope's too. Default: itself. */
  readonly shown?: ((address: string) => string) | undefined
}

/** Octets that completion adds at most, with a host's name of 255 and a sender of 512. */
export const completionBytesMax = 1100

/** Octets that added domains and longer senders take; a field that would add more stays as it
 * is. */
export const domainsBytesMax: number = 16 << 10

/** A longer header is refused, octets: it is held in memory until it is whole. */
const headerBytesMax = 1 << 20

/** They show who gets the message unseen. */
const blindFields: ReadonlySet<string> = new Set(['bcc', 'resent-bcc'])

/** In lower case. */
export const removedFields: ReadonlySet<string> = new Set([...blindFields, 'return-path', 'content-length'])

/** Waits for the end of a header that comes in pieces. It is looked at again when it has doubled,
 * so all looks together cost as much as one at twice the header. */
export class HeaderWait {
  #lookAtBytes: number

  /** @param bytesMin before the first look */
  constructor(bytesMin: number) {
    this.#lookAtBytes = bytesMin
  }

  /** @param bytes come so far, @param held the same octets
   * @returns whether the header is whole
   * @throws WaybillError MESSAGE_TOO_LARGE */
  isOver(bytes: number, held: () => Buffer): boolean {
    if (bytes <= this.#lookAtBytes) return false
    const sent = held()
    if (isHeaderWhole(sent)) {
      checkHeader(sent)
      return true
    }
    if (bytes > headerBytesMax) throw longHeader()
    this.#lookAtBytes = Math.min(2 * bytes, headerBytesMax)
    return false
  }
}

const longHeader = (): WaybillError =>
  new WaybillError('MESSAGE_TOO_LARGE', `the header is longer than ${headerBytesMax} bytes`)

/** A whole message has the bound of one that comes in pieces. @throws WaybillError
 * MESSAGE_TOO_LARGE */
export function checkHeader(data: Buffer): void {
  if (data.length > headerBytesMax && leadingFields(withMailboxLines(data)).end > headerBytesMax)
    throw longHeader()
}

/** Whatever comes next belongs to the body. */
function isHeaderWhole(beginning: Buffer): boolean {
  const sent = withMailboxLines(beginning)
  const { end, isCut } = leadingFields(sent, true)
  if (isCut) return false
  return !mayBecomeField.test(sent.toString('latin1', end))
}

const mayBecomeField = /^[!-9;-~]*[ \t]*$/

/** @param data the message from its first octet on, whole or as far as `HeaderWait` asks for it
 * @param prefixBytes of a trace field that stands above what the client sent */
export function completed(data: Buffer, prefixBytes: number, completion: Completion): Buffer {
  const written = withMailboxLines(data.subarray(prefixBytes))
  const { fields, end, isCut, joints } = leadingFields(written, true)
  const sent = withBlanks(written, joints)
  const kept: Buffer[] = [data.subarray(0, prefixBytes), addedTo(fields, completion)]
  let from = 0
  let domainsBytes = 0
  for (const { name, start, end } of fields) {
    const isRemoved = removedFields.has(name)
    if (!isRemoved && !addressFields.has(name)) continue
    kept.push(sent.subarray(from, start))
    from = isRemoved ? end : start
    if (isRemoved) continue
    const text = sent.toString('latin1', start, end)
    const changed = changedField(name, text, completion)
    const addedBytes = Math.max(0, changed.length - text.length)
    if (changed === text || domainsBytes + addedBytes > domainsBytesMax) continue
    domainsBytes += addedBytes
    kept.push(Buffer.from(changed, 'latin1'))
    from = end
  }
  kept.push(sent.subarray(from, end))
  const rest = sent.subarray(end)
  // A message may begin with its text: an empty line keeps it out of the header.
  const startsBody = !isCut && rest.length > 0 && rest[0] !== 0x0d && rest[0] !== 0x0a
  if (startsBody) kept.push(Buffer.from('\r\n'))
  return Buffer.concat([...kept, rest])
}

/** A CR alone, such as that of a command's output in the subject, leaves as the end of a line. Text
 * behind it would end the header, and all fields behind that would be text. */
function withBlanks(sent: Buffer, joints: readonly number[]): Buffer {
  if (joints.length === 0) return sent
  const joined = Buffer.from(sent)
  for (const at of joints) joined[at] = 0x20
  return joined
}

/** The beginning of a stranger's message, which is completed by nobody: a sender that left `Bcc` in
 * would show its blind recipients to the others. A field that a signature covers stays, because
 * without it the signature is broken. Return-Path stays: RFC 5321 §4.4 leaves it to the mailbox.
 * @param isWhole otherwise more data follows; a field that it continues stays
 * @see Postfix message_drop_headers; RFC 6376 §5.4.1, which signs no Bcc */
export function withoutBlindCopies(beginning: Buffer, isWhole: boolean): Buffer {
  const { fields, isCut, end: headerEnd } = leadingFields(beginning)
  const blind = fields.filter(
    ({ name, end }) => blindFields.has(name) && (isWhole || !isCut || end < headerEnd),
  )
  if (blind.length === 0) return beginning
  const covered = new Set(
    fields.filter(({ name }) => signatureFields.has(name)).flatMap((field) => signedNames(beginning, field)),
  )
  const kept: Buffer[] = []
  let from = 0
  for (const { name, start, end } of blind) {
    if (covered.has(name)) continue
    kept.push(beginning.subarray(from, start))
    from = end
  }
  return Buffer.concat([...kept, beginning.subarray(from)])
}

const signatureFields: ReadonlySet<string> = new Set(['dkim-signature', 'arc-message-signature'])

/** In lower case: the tag `h=` of a signature. RFC 6376 §3.5 */
function signedNames(data: Buffer, { start, end }: LeadingField): string[] {
  const text = data.toString('latin1', start, end)
  const tags = text.slice(text.indexOf(':') + 1).split(';')
  const names = tags.flatMap((tag) => /^\s*h\s*=(.*)$/s.exec(tag)?.[1] ?? [])
  return names
    .join(':')
    .split(':')
    .map((name) => name.trim().toLowerCase())
}

function changedField(name: string, text: string, { hostname, shown }: Completion): string {
  const qualified = addressFields.has(name) ? qualifiedField(text, hostname) : text
  return shown !== undefined && senderFields.has(name) ? shownField(qualified, shown) : qualified
}

/** Programs that send pieces of a mailbox send its `From ` line, too. It is no field, and would end
 * the header before it began. @see Postfix smtpd(8), X-Mailbox-Line */
function withMailboxLines(sent: Buffer): Buffer {
  const lines = mailboxLines.exec(sent.toString('latin1', 0, mailboxBytesMax))?.[0]
  if (lines === undefined) return sent
  const fields = Buffer.from(lines.replace(/[^\r\n]+/g, 'X-Mailbox-Line: $&'), 'latin1')
  return Buffer.concat([fields, sent.subarray(lines.length)])
}

/** Of all `From ` lines. */
const mailboxBytesMax = 4096
const mailboxLines = /^(?:>{0,9}From [^\r\n]*(?:\r\n|\r|\n|$)){1,8}/

function addedTo(fields: readonly { readonly name: string }[], completion: Completion): Buffer {
  const { sender, unique, hostname, atMs } = completion
  const has = (name: string): boolean => fields.some((field) => field.name === name)
  const author = sender === '' ? `MAILER-DAEMON@${hostname}` : sender
  return Buffer.from(
    (has('date') ? '' : `Date: ${dateText(atMs)}\r\n`) +
      (has('message-id') ? '' : `Message-ID: <${unique}@${hostname}>\r\n`) +
      (has('from') ? '' : `From: ${author}\r\n`),
  )
}
