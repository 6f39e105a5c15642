/** Routes that show what messages say.
 * Invariant: nothing of a message comes as a type that a browser would run in this server's
 * name. */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { StoredMessage } from '../../admin/select/stored-message.js'
import { decodedPart, structureOf, textBytesMax, textOf, type DecodedPart } from '../content/mime-parts.js'
import { viewHeaders, type Views } from '../content/views.js'
import { ProblemError } from '../wire/problem-details.js'
import { RequestLimit } from '../wire/request-limit.js'
import { idOf, leftSignal } from './client.js'
import type { ApiParts, ApiRequest, Route } from './route.js'
import { count, instant, list, object, orNull, text } from './schemas.js'

/** Messages that are taken apart at once. */
const readingMax = 4
const downloadBytesMax = 10 * 1024 * 1024
const htmlTypes = ['text/html', 'application/xhtml+xml']

const quiet = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
}

const conversation = object({
  at: instant,
  server: text,
  lines: list(
    object(
      {
        by: { enum: ['client', 'server'] },
        text,
        command: {
          ...count,
          description: 'of a command its number, of a reply that of the command which it answers',
        },
      },
      ['command'],
    ),
  ),
  leftOutCount: { type: 'integer', minimum: 0, description: 'lines between the first ones and the last' },
})

export function contentRoutes(parts: ApiParts, views: Views): Route[] {
  const readings = new Readings(parts)
  return [
    dataRoute(parts),
    conversationsRoute(parts),
    structureRoute(readings),
    partRoute(readings),
    viewRoute(readings, views),
    shownViewRoute(views),
  ]
}

/** Messages that are being taken apart, `readingMax` of them at once. */
class Readings {
  readonly #parts: ApiParts
  readonly #limit = new RequestLimit(readingMax, 'messages are being read')

  constructor(parts: ApiParts) {
    this.#parts = parts
  }

  /** @throws ProblemError TOO_MANY_REQUESTS, NOT_FOUND */
  use<T>(request: ApiRequest, reply: FastifyReply, take: (stored: StoredMessage) => Promise<T>): Promise<T> {
    return this.#limit.run(async () => take(await storedOf(this.#parts, request, reply)))
  }

  /** The part that the request names, decoded.
   * @throws ProblemError TOO_MANY_REQUESTS, NOT_FOUND */
  part(request: ApiRequest, reply: FastifyReply, bytesMax: number): Promise<DecodedPart> {
    return this.use(request, reply, async (stored) => {
      const part = await decodedPart(stored.data(), request.params['part'] ?? '', bytesMax)
      if (part === undefined) throw new ProblemError('NOT_FOUND', 'the message has no such part')
      return part
    })
  }
}

const dataRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/messages/:id/data',
  scope: 'content',
  summary: 'Gives a message as it is',
  answers: { 200: { means: 'the message', type: 'message/rfc822', schema: text } },
  handle: async (request, reply) => {
    const stored = await storedOf(parts, request, reply)
    const { id, dataBytes } = stored.message
    reply.headers({
      ...quiet,
      'content-type': 'message/rfc822',
      'content-length': dataBytes,
      'content-disposition': `attachment; filename="${id}.eml"`,
    })
    return reply.send(Readable.from(stored.data(), { objectMode: false }))
  },
})

const conversationsRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/messages/:id/conversations',
  scope: 'read',
  summary: 'Shows what was said with servers in the last attempts on a message',
  answers: {
    200: {
      means: 'oldest first, at most 4; kept in memory: none after a restart, nor when others have come',
      schema: object({ conversations: list(conversation) }),
    },
  },
  handle: (request) => ({ conversations: parts.conversationsOf(idOf(request)) }),
})

const structureRoute = (readings: Readings): Route => ({
  method: 'GET',
  path: '/v1/messages/:id/structure',
  scope: 'content',
  summary: 'Shows the header of a message, and its MIME parts',
  answers: {
    200: {
      means: 'as far as the first 10 MiB say',
      schema: object({
        header: list(object({ name: text, value: text })),
        tree: orNull({ type: 'object', required: ['part', 'type', 'bytes'] }),
        isTruncated: { type: 'boolean' },
      }),
    },
  },
  handle: (request, reply) => readings.use(request, reply, (stored) => structureOf(stored.data())),
})

const partRoute = (readings: Readings): Route => ({
  method: 'GET',
  path: '/v1/messages/:id/parts/:part',
  scope: 'content',
  summary: 'Gives a part of a message, decoded: as text, or its octets',
  query: { download: { type: 'boolean', default: false, description: 'octets, for a file' } },
  answers: {
    200: { means: 'at most 1 MiB of text, or 10 MiB of octets', type: 'text/plain', schema: text },
  },
  handle: async (request, reply) => {
    const isFile = request.query['download'] === true
    const part = await readings.part(request, reply, isFile ? downloadBytesMax : textBytesMax)
    reply.headers({ ...quiet, ...(part.isTruncated ? { 'x-truncated': 'true' } : undefined) })
    if (!isFile) return reply.header('content-type', 'text/plain; charset=utf-8').send(textOf(part))
    const name = encodeURIComponent(wellFormed(part.filename ?? 'part'))
    reply.headers({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename*=UTF-8''${name.replace(/['()*]/g, '_')}`,
    })
    return reply.send(part.data)
  },
})

const viewRoute = (readings: Readings, views: Views): Route => ({
  method: 'POST',
  path: '/v1/messages/:id/parts/:part/view',
  scope: 'content',
  summary: 'Makes a path at which a frame shows the HTML of a part, once within a minute',
  answers: { 201: { means: 'the path', schema: object({ href: text, expiresAt: instant }) } },
  handle: async (request, reply) => {
    const part = await readings.part(request, reply, textBytesMax)
    if (!htmlTypes.includes(part.type)) throw new ProblemError('REQUEST_INVALID', 'the part is no HTML')
    const { key, expiresAt } = views.add(textOf(part))
    reply.status(201)
    return { href: `/v1/views/${key}`, expiresAt }
  },
})

const shownViewRoute = (views: Views): Route => ({
  method: 'GET',
  path: '/v1/views/:key',
  scope: 'none',
  summary: 'Shows the HTML of a part, sandboxed',
  answers: { 200: { means: 'the HTML', type: 'text/html', schema: text } },
  handle: ({ params }, reply) => {
    const html = views.take(params['key'] ?? '')
    if (html === undefined) throw new ProblemError('NOT_FOUND', 'there is no such view, or no more')
    return reply.headers(viewHeaders).send(html)
  },
})

/** Half a surrogate pair has no encoding. */
const wellFormed = (name: string): string => name.replace(/\p{Cs}/gu, '_').slice(0, 200)

async function storedOf(parts: ApiParts, request: ApiRequest, reply: FastifyReply): Promise<StoredMessage> {
  const id = idOf(request)
  const stored = await parts.queue.message(id, { signal: leftSignal(reply) })
  if (stored === undefined) throw new ProblemError('NOT_FOUND', 'the message is not in the queue')
  if (stored.ref !== undefined)
    throw new ProblemError('NOT_FOUND', `the queue keeps the data elsewhere, as ${stored.ref}`)
  return stored
}
