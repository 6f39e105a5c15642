/** The route that looks up messages which may have ended. */
import { leftSignal } from './client.js'
import { ProblemError } from '../wire/problem-details.js'
import type { ApiParts, Route } from './route.js'
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
  let searchCount = 0
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
          means: 'a page, oldest first; `next` is null where there is no more',
          schema: object({ entries: list(entry), next: orNull(text) }),
        },
      },
      handle: async ({ query }, reply) => {
        if (searchCount >= searchesMax)
          throw new ProblemError('TOO_MANY_REQUESTS', `${searchesMax} searches are under way already`)
        const {
          limit = limitDefault,
          after,
          ...selector
        } = query as {
          readonly limit?: number
          readonly after?: string
        }
        searchCount++
        try {
          const signal = leftSignal(reply)
          const { entries, next } = await parts.queue.history(selector, { max: limit, after, signal })
          return { entries, next: next ?? null }
        } finally {
          searchCount--
        }
      },
    },
  ]
}
