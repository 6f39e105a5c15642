/** Decides how a body is decoded, by the header of its request.
 * Invariant: a body that would be read as something else than was sent is refused before it is
 * read. */
import type { IncomingHttpHeaders } from 'node:http'
import { ProblemError } from './problem-details.js'

/** Of JSON: RFC 8259 §8.1 has UTF-8 alone; US-ASCII is a part of it. */
const charsets: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/** @param taken media types that the route takes: a schema is held against these alone
 * @throws ProblemError MEDIA_TYPE_UNKNOWN */
export function checkCoding(headers: IncomingHttpHeaders, taken: readonly string[]): void {
  // Node takes the frames of `gzip, chunked`, and leaves what is in them compressed.
  const transfer = headers['transfer-encoding']?.trim().toLowerCase() ?? 'chunked'
  if (transfer !== 'chunked')
    throw new ProblemError(
      'MEDIA_TYPE_UNKNOWN',
      `a body with transfer-encoding ${transfer} is not taken here`,
    )
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (coding !== '' && coding !== 'identity')
    throw new ProblemError('MEDIA_TYPE_UNKNOWN', `a body with content-encoding ${coding} is not taken here`)
  const type = headers['content-type'] ?? ''
  const essence = type.split(';', 1)[0]!.trim().toLowerCase()
  if (!taken.includes(essence))
    throw new ProblemError(
      'MEDIA_TYPE_UNKNOWN',
      `the request has a body, and its Content-Type is ${taken.join(' or ')}`,
    )
  if (!/^\s*application\/json\b/i.test(type)) return
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1]?.toLowerCase() ?? 'utf-8'
  if (!charsets.has(charset))
    throw new ProblemError('MEDIA_TYPE_UNKNOWN', `JSON is UTF-8: charset ${charset} is not taken here`)
}

/** Of a route without a body: clients have a type as a default for all their requests, and the
 * framework would miss what it promises. */
export function forgetTypeOfNothing(headers: IncomingHttpHeaders): void {
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (isEmpty) delete headers['content-type']
}
