/** Routes that list messages. */
import type { FastifyReply } from 'fastify'
import { ProblemError, problemOf } from '../wire/problem-details.js'
import { RequestLimit } from '../wire/request-limit.js'
import { idOf, leftSignal } from './client.js'
import { selectorInQuery, selectorQuery, shownMessage } from './message-json.js'
import type { ApiParts, ApiRequest, Route } from './route.js'
import { count, list, object, orNull, ref, text } from './schemas.js'

const limitDefault = 100
/** Pages that are made at once: each looks at thousands of messages. */
const pagesMax = 8

export function messageRoutes(parts: ApiParts): Route[] {
  const pages = new RequestLimit(pagesMax, 'pages are being made')
  return [
    {
      method: 'GET',
      path: '/v1/messages',
      scope: 'read',
      summary: 'Lists messages page by page: active ones, then lane by lane as they are due',
      query: {
        ...selectorQuery,
        limit: { type: 'integer', minimum: 1, maximum: 500, default: limitDefault },
        after: { ...text, description: '`next` of the page before' },
      },
      answers: {
        200: {
          means: 'a page, which may be short or empty before the last one; `next` is null there',
          schema: object({
            messages: list(ref('Message')),
            next: orNull(text),
            lookedAt: { ...count, description: 'messages that the page looked at' },
            damage: { ...orNull(ref('Problem')), description: 'what could not be read' },
          }),
        },
      },
      handle: (request, reply) => pages.run(() => page(parts, request, reply)),
    },
    {
      method: 'GET',
      path: '/v1/messages/:id',
      scope: 'read',
      summary: 'Shows one message of the queue',
      answers: { 200: { means: 'the message', schema: ref('Message') } },
      handle: async (request, reply) => {
        const stored = await parts.queue.message(idOf(request), { signal: leftSignal(reply) })
        if (stored === undefined)
          throw new ProblemError('NOT_FOUND', 'the message is not in the queue; its history may be on disk')
        return shownMessage(stored.message)
      },
    },
  ]
}

async function page(parts: ApiParts, { query }: ApiRequest, reply: FastifyReply): Promise<unknown> {
  const after = query['after'] as string | undefined
  const { messages, next, lookedAtCount, damage } = await parts.queue.page(selectorInQuery(query), {
    max: (query['limit'] as number | undefined) ?? limitDefault,
    after,
    signal: leftSignal(reply),
  })
  return {
    messages: messages.map(shownMessage),
    next: next ?? null,
    lookedAt: lookedAtCount,
    damage: damage === undefined ? null : (problemOf(damage) ?? null),
  }
}
