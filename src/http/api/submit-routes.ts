/** The route by which applications send: a message as it is, or its parts to be composed.
 * Invariant: an answer with an id means that the message is durable. Nothing of a request makes the
 * server read a file or a URL. */
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { newMessageId } from '../../base/message-id.js'
import { WaybillError } from '../../errors.js'
import type { Submission } from '../../engine/accept/submission.js'
import { isTraceparent, isTracestate } from '../../engine/accept/submission-terms.js'
import { completed, HeaderWait } from '../../relay/smtp-in/completed-header.js'
import { dateText } from '../../relay/smtp-in/received.js'
import { distinctMailboxes } from '../../relay/tables/address-pattern.js'
import { ProblemError } from '../wire/problem-details.js'
import { leftSignal } from './client.js'
import { composed, mailSchema, termsSchema, type MailParts, type Terms } from './composed-mail.js'
import type { ApiParts, ApiRequest, Route } from './route.js'
import { list, object, text } from './schemas.js'

const rawType = 'message/rfc822'
/** As much of a streamed message, and its whole header, is held to complete the header. */
const headBytesMin = 64 * 1024

const queued = object(
  {
    id: text,
    messageId: { ...text, description: 'its Message-ID, when this request has composed it' },
    isDuplicate: { type: 'boolean', description: 'the key was used before, and this is that id' },
  },
  ['messageId'],
)

const { tags, ...otherTerms } = termsSchema
/** As in JSON; `tag` is repeated. */
const termsInQuery = { tag: tags!, ...otherTerms }

/** @param hostname in fields that are added to a header */
export const submitRoutes = (parts: ApiParts, hostname: string): Route[] => [
  {
    method: 'POST',
    path: '/v1/messages',
    scope: 'submit',
    summary: 'Submits a message; `Idempotency-Key` makes it safe to repeat',
    query: {
      sender: { ...text, description: `of ${rawType}: empty is the null sender` },
      recipient: { ...list(text), description: `of ${rawType}, repeated` },
      ...termsInQuery,
    },
    headers: {
      'Idempotency-Key': { ...text, description: 'the same key again makes no second message' },
      traceparent: { ...text, description: 'the trace that the submission belongs to (W3C)' },
      tracestate: text,
    },
    body: { [rawType]: text, 'application/json': mailSchema },
    answers: {
      200: { means: 'a submission with this key was accepted before', schema: queued },
      202: { means: 'it is durable', schema: queued },
    },
    handle: async (request, reply) => {
      const id = newMessageId()
      const { messageId, ...mail } = await mailOf(request, hostname, id, parts.clock.wallMs())
      const key = keyOf(request)
      const signal = leftSignal(reply)
      const client = { address: request.ip, token: parts.tokenOf(request).name }
      const submission = { ...mail, id, idempotencyKey: key, signal, ...traceOf(request) }
      const accepted = await parts.door.submit(submission, client)
      const isDuplicate = accepted.isDuplicate === true
      reply.status(isDuplicate ? 200 : 202).header('location', `/v1/messages/${accepted.id}`)
      // What this request has composed is not what the queue has of the one before it.
      const isComposed = messageId !== undefined && !isDuplicate
      return { id: accepted.id, ...(isComposed ? { messageId } : undefined), isDuplicate }
    },
  },
]

interface Mail extends Terms, Pick<Submission, 'sender' | 'recipients' | 'data' | 'longLines'> {
  readonly messageId?: string
}

async function mailOf(request: ApiRequest, hostname: string, id: string, atMs: number): Promise<Mail> {
  const { body, query } = request
  const received = Buffer.from(`Received: by ${hostname} with HTTP id ${id};\r\n\t${dateText(atMs)}\r\n`)
  const complete = (head: Buffer, sender: string): Buffer =>
    completed(Buffer.concat([received, head]), received.length, { sender, unique: id, hostname, atMs })
  if (!(body instanceof Readable)) {
    const mail = await composed(body as MailParts)
    return { ...mail, data: complete(mail.data, mail.sender) }
  }
  const {
    sender,
    recipient,
    tag: ofTag,
    ...terms
  } = query as Omit<Terms, 'tags'> & {
    readonly sender?: string
    readonly recipient?: readonly string[]
    readonly tag?: readonly string[]
  }
  if (sender === undefined || recipient === undefined)
    throw new ProblemError('REQUEST_INVALID', `${rawType} wants ?sender=…&recipient=… in the query`)
  // A line that is broken breaks a signature: long ones stay as they are.
  return {
    ...terms,
    tags: ofTag,
    sender,
    recipients: distinctMailboxes(recipient),
    data: await withHead(body, (head) => complete(head, sender)),
    longLines: true,
  }
}

/** The stream's data, of which the beginning is changed. */
async function withHead(body: Readable, change: (head: Buffer) => Buffer): Promise<Buffer | Readable> {
  const pieces = untilCut(body.iterator() as AsyncIterable<Buffer>)
  const read: Buffer[] = []
  let bytes = 0
  let next = await pieces.next()
  const header = new HeaderWait(headBytesMin)
  const held = (): Buffer => Buffer.concat(read)
  for (; next.done !== true && !header.isOver(bytes, held); next = await pieces.next()) {
    read.push(next.value)
    bytes += next.value.length
  }
  const head = change(held())
  if (next.done === true) return head
  const rest = next.value
  return Readable.from(
    (async function* () {
      yield head
      yield rest
      yield* pieces
    })(),
    { objectMode: false },
  )
}

/** @throws WaybillError DATA_INCOMPLETE when the client leaves before the end */
async function* untilCut(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  try {
    yield* body
  } catch (error) {
    throw new WaybillError('DATA_INCOMPLETE', 'the client left before the end', {}, error)
  }
}

/** One that is malformed is no error of the message. @see W3C Trace Context §4.3 */
function traceOf({ headers }: ApiRequest): Pick<Submission, 'traceparent' | 'tracestate'> {
  const { traceparent, tracestate } = headers
  if (!isTraceparent(traceparent)) return {}
  const state = Array.isArray(tracestate) ? tracestate.join(',') : tracestate
  return { traceparent, tracestate: isTracestate(state) ? state : undefined }
}

/** `Idempotency-Key`, bare or as the string of a structured field (RFC 8941). Node reads headers as
 * Latin-1; a key in UTF-8 is the one that a program in the same process gives. */
function keyOf({ headers }: ApiRequest): string | undefined {
  const value = headers['idempotency-key']
  if (value === undefined) return undefined
  const bytes = Buffer.from(String(value), 'latin1')
  const given = (isUtf8(bytes) ? bytes.toString() : String(value)).trim()
  const [, quoted] = /^"((?:[^"\\]|\\["\\])*)"$/.exec(given) ?? []
  return quoted === undefined ? given : quoted.replace(/\\(.)/g, '$1')
}
