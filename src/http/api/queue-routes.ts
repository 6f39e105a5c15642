/** Routes that tell how the queue stands. */
import type { ApiParts, ApiRequest, Route } from './route.js'
import { openStream } from './client.js'
import type { SlowOptions } from '../../admin/verbs/slow.js'
import type { SuspensionTarget } from '../../engine/life/suspensions.js'
import { shownQueues } from '../figures/queues.js'
import { count, instant, list, object, orNull, ref, text } from './schemas.js'

const destinationsQuery = {
  destinations: { type: 'integer', minimum: 0, maximum: 200, description: 'show so many, by impact' },
}

const series = list(orNull(count))

export const queueRoutes = (parts: ApiParts): Route[] => [
  {
    method: 'GET',
    path: '/v1/queue',
    scope: 'read',
    summary: 'Tells how the queue stands',
    query: destinationsQuery,
    answers: { 200: { means: 'figures of this moment', schema: ref('Figures') } },
    handle: ({ query }) => parts.figures.snapshot(destinationsIn(query)),
  },
  {
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
  },
  {
    method: 'GET',
    path: '/v1/queues',
    scope: 'read',
    summary: 'Lists all queues of the store that the queue lies in, with their owners; or the only one',
    answers: { 200: { means: 'all of them, by name', schema: ref('Queues') } },
    handle: () => shownQueues(parts.place, () => parts.figures.snapshot()),
  },
  {
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
  },
  {
    method: 'GET',
    path: '/v1/lanes',
    scope: 'read',
    summary: 'Lists the lanes',
    answers: { 200: { means: 'all lanes', schema: object({ lanes: list(ref('Lane')) }) } },
    handle: () => ({ lanes: parts.figures.snapshot().lanes }),
  },
  {
    method: 'GET',
    path: '/v1/destinations',
    scope: 'read',
    summary: 'Lists destinations, those first that keep the most mail',
    query: { limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 } },
    answers: {
      200: {
        means: 'the first of them, and how many there are',
        schema: object({ count, destinations: list(ref('Destination')) }),
      },
    },
    handle: ({ query }) => parts.figures.destinations((query['limit'] as number | undefined) ?? 100),
  },
  {
    method: 'POST',
    path: '/v1/destinations/resume',
    scope: 'operate',
    summary: 'Revives a dead destination, or ends its wait for its rate, and that it is slowed',
    body: { 'application/json': object({ transport: text, name: text }) },
    answers: {
      200: {
        means: 'false: there was nothing to resume',
        schema: object({ resumed: { type: 'boolean' } }),
      },
    },
    handle: ({ body }) => {
      const { transport, name } = body as { readonly transport: string; readonly name: string }
      return { resumed: parts.queue.resume(transport, name) }
    },
  },
  {
    method: 'POST',
    path: '/v1/destinations/suspend',
    scope: 'operate',
    summary: 'Lets no delivery begin to a nexthop, by a transport, or both; durable when it answers',
    body: {
      'application/json': object(
        {
          ...target,
          forMs: { type: 'integer', minimum: 1, description: 'ends by itself; absent: when unsuspended' },
        },
        ['transport', 'nexthop', 'forMs'],
      ),
    },
    answers: {
      200: { means: 'it is suspended', schema: object({ suspended: { const: true } }) },
    },
    handle: async ({ body }) => {
      const { forMs, ...what } = body as SuspensionTarget & { readonly forMs?: number }
      await parts.queue.suspend(what, { forMs })
      return { suspended: true }
    },
  },
  {
    method: 'POST',
    path: '/v1/destinations/slow',
    scope: 'operate',
    summary:
      'Lets at most so many deliveries to a nexthop begin in a time, until it is resumed or the relay ends',
    body: {
      'application/json': object(
        {
          ...target,
          count: { type: 'integer', minimum: 1, description: 'deliveries' },
          perMs: { type: 'integer', minimum: 1 },
          forMs: { type: 'integer', minimum: 1, default: 3_600_000, description: 'ends by itself' },
        },
        ['transport', 'forMs'],
      ),
    },
    answers: {
      200: { means: 'it is slowed', schema: object({ slowed: { const: true } }) },
    },
    handle: ({ body }) => {
      parts.queue.slow(body as SlowOptions)
      return { slowed: true }
    },
  },
  {
    method: 'POST',
    path: '/v1/destinations/unsuspend',
    scope: 'operate',
    summary: 'Ends the suspension of just this target, durably',
    body: { 'application/json': object(target, ['transport', 'nexthop']) },
    answers: {
      200: { means: 'false: it was not suspended', schema: object({ resumed: { type: 'boolean' } }) },
    },
    handle: async ({ body }) => ({ resumed: await parts.queue.unsuspend(body as SuspensionTarget) }),
  },
]

const target = {
  transport: { ...text, description: 'absent: every one; one of the two is there' },
  nexthop: { ...text, description: 'absent: every one; one of the two is there' },
}

const destinationsIn = (query: ApiRequest['query']): number | undefined =>
  query['destinations'] as number | undefined
