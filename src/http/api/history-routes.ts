/** The route that looks up messages which may have ended. */
import type { FastifyReply } from 'fastify'
import { RequestLimit } from '../wire/request-limit.js'
import { leftSignal } from './client.js'
import type { ApiParts, ApiRequest, Route } from './route.js'
import { count, instant, list, object, orNull, text } from './schemas.js'

/** Searches at once: each may read all files. */
const searchesMax = 4
const limitDefault = 100

const entry = object(
  {
    number: count,
    kind: text,
    at: instant,
    id: text,
    sender: text,
    recipients: list(text),
    recipientCount: count,
    status: text,
    text,
    remote: text,
    attempt: count,
    messageId: text,
    tags: list(text),
    transport: text,
    nexthop: text,
    tls: text,
    report: text,
  },
  ['messageId', 'tags', 'transport', 'nexthop', 'tls', 'report'],
)

export function historyRoutes(parts: ApiParts): Route[] {
  const searches = new RequestLimit(searchesMax, 'searches are under way')
  return [
    {
      method: 'GET',
      path: '/v1/history',
      scope: 'read',
      summary: 'Looks up what became of messages, ended ones too, by one of id, messageId, recipient and tag',
      query: {
        id: text,
        messageId: { ...text, description: 'of the header; finds what was accepted' },
        recipient: { ...text, description: 'named by the entry' },
        tag: text,
        limit: { type: 'integer', minimum: 1, maximum: 1000, default: limitDefault },
        after: { ...text, description: '`next` of the page before' },
      },
      answers: {
        200: {
          means:
            'a page, oldest first; `next` is null where there is no more; `isKept` is false in a queue that keeps no history',
          schema: object({ entries: list(entry), next: orNull(text), isKept: { type: 'boolean' } }),
        },
      },
      handle: (request, reply) => searches.run(() => search(parts, request, reply)),
    },
  ]
}

async function search(parts: ApiParts, { query }: ApiRequest, reply: FastifyReply): Promise<unknown> {
  const given = query as { readonly limit?: number; readonly after?: string }
  const { limit = limitDefault, after, ...selector } = given
  const { entries, next, isKept } = await parts.queue.history(selector, {
    max: limit,
    after,
    signal: leftSignal(reply),
  })
  return { entries, next: next ?? null, isKept }
}
