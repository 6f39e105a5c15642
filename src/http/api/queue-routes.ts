/** Routes that tell how the queue stands. */
import { shownQueues } from '../figures/queues.js'
import { openStream } from './client.js'
import type { ApiParts, ApiRequest, Route } from './route.js'
import { count, instant, list, object, orNull, ref, text } from './schemas.js'

export const queueRoutes = (parts: ApiParts): Route[] => [
  snapshotRoute(parts),
  streamRoute(parts),
  queuesRoute(parts),
  ratesRoute(parts),
  lanesRoute(parts),
]

const destinationsQuery = {
  destinations: { type: 'integer', minimum: 0, maximum: 200, description: 'show so many, by impact' },
}

const destinationsIn = (query: ApiRequest['query']): number | undefined =>
  query['destinations'] as number | undefined

const series = list(orNull(count))

const snapshotRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/queue',
  scope: 'read',
  summary: 'Tells how the queue stands',
  query: destinationsQuery,
  answers: { 200: { means: 'figures of this moment', schema: ref('Figures') } },
  handle: ({ query }) => parts.figures.snapshot(destinationsIn(query)),
})

const streamRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/queue/stream',
  scope: 'read',
  summary: 'Tells it again and again',
  query: {
    ...destinationsQuery,
    intervalMs: { type: 'integer', minimum: 250, maximum: 60_000, default: 1000 },
  },
  answers: { 200: { means: 'events `figures`', type: 'text/event-stream', schema: text } },
  handle: (request, reply) => {
    const { query } = request
    const stream = openStream(parts, request, reply)
    const tell = (figures: string): void => {
      // The next ones are as good.
      if (!stream.isFull) stream.sendText('figures', figures)
    }
    const intervalMs = (query['intervalMs'] as number | undefined) ?? 1000
    const end = parts.figures.watch(intervalMs, destinationsIn(query), tell)
    stream.signal.addEventListener('abort', end)
    if (stream.signal.aborted) end()
    return reply
  },
})

const queuesRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/queues',
  scope: 'read',
  summary: 'Lists all queues of the store that the queue lies in, with their owners; or the only one',
  answers: { 200: { means: 'all of them, by name', schema: ref('Queues') } },
  handle: () => shownQueues(parts.place, () => parts.figures.snapshot()),
})

const ratesRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/rates',
  scope: 'read',
  summary: 'Counts of the last 15 minutes by the second, or of the last day by the minute',
  query: { span: { enum: ['minutes', 'day'], default: 'minutes' } },
  answers: {
    200: {
      means: 'counts of each step, oldest first; null where nobody counted',
      schema: object({
        fromAt: instant,
        stepMs: count,
        accepted: series,
        delivered: series,
        deferred: series,
        failed: series,
      }),
    },
  },
  handle: ({ query }) => parts.figures.rates(query['span'] === 'day' ? 'day' : 'minutes'),
})

const lanesRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/lanes',
  scope: 'read',
  summary: 'Lists the lanes',
  answers: { 200: { means: 'all lanes', schema: object({ lanes: list(ref('Lane')) }) } },
  handle: () => ({ lanes: parts.figures.snapshot().lanes }),
})
