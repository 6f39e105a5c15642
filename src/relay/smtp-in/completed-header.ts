/** What a submission server completes in the header of mail from clients that may relay (RFC 6409
 * §8): Message-ID and Date are added where they are missing, Bcc and Resent-Bcc are taken out.
 * Pure.
 * Invariant: nothing else of the message changes. Postfix does the same: always_add_missing_headers
 * for its own clients, and message_drop_headers. A field that is added stands above the others; one
 * that is there is kept as it is. */
import { leadingFields } from '../../base/header.js'
import { dateText } from './received.js'

export interface Completion {
  /** Left of the @ of an added Message-ID; different for each message. */
  readonly unique: string
  readonly hostname: string
  /** Milliseconds since 1970. */
  readonly atMs: number
}

/** Octets that completion adds at most, with a host's name of 255. */
export const completionBytesMax = 600

const hidden: ReadonlySet<string> = new Set(['bcc', 'resent-bcc'])

/** @param data the message from its first octet on, with its whole header unless that is very long
 * @param prefixBytes of a trace field that stands above what the client sent */
export function completed(data: Buffer, prefixBytes: number, completion: Completion): Buffer {
  const sent = data.subarray(prefixBytes)
  const { fields, end, isCut } = leadingFields(sent)
  const kept: Buffer[] = [data.subarray(0, prefixBytes), addedTo(fields, completion)]
  let from = 0
  for (const field of fields) {
    if (!hidden.has(field.name)) continue
    kept.push(sent.subarray(from, field.start))
    from = field.end
  }
  kept.push(sent.subarray(from, end))
  const rest = sent.subarray(end)
  // A message may begin with its text: an empty line keeps it out of the header.
  const startsBody = !isCut && rest.length > 0 && rest[0] !== 0x0d && rest[0] !== 0x0a
  if (startsBody) kept.push(Buffer.from('\r\n'))
  return Buffer.concat([...kept, rest])
}

function addedTo(fields: readonly { readonly name: string }[], completion: Completion): Buffer {
  const { unique, hostname, atMs } = completion
  const has = (name: string): boolean => fields.some((field) => field.name === name)
  return Buffer.from(
    (has('date') ? '' : `Date: ${dateText(atMs)}\r\n`) +
      (has('message-id') ? '' : `Message-ID: <${unique}@${hostname}>\r\n`),
  )
}
