/** Routes that list destinations, and hold back or revive them. */
import type { SlowOptions } from '../../admin/verbs/slow.js'
import type { SuspensionTarget } from '../../engine/life/suspensions.js'
import type { ApiParts, Route } from './route.js'
import { count, list, object, ref, text } from './schemas.js'

export const destinationRoutes = (parts: ApiParts): Route[] => [
  destinationsRoute(parts),
  resumeRoute(parts),
  suspendRoute(parts),
  slowRoute(parts),
  unsuspendRoute(parts),
]

/** What a suspension is of, or a slowing. */
const target = {
  transport: { ...text, description: 'absent: every one; one of the two is there' },
  nexthop: { ...text, description: 'absent: every one; one of the two is there' },
}

const destinationsRoute = (parts: ApiParts): Route => ({
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
})

const resumeRoute = (parts: ApiParts): Route => ({
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
})

const suspendRoute = (parts: ApiParts): Route => ({
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
})

const slowRoute = (parts: ApiParts): Route => ({
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
})

const unsuspendRoute = (parts: ApiParts): Route => ({
  method: 'POST',
  path: '/v1/destinations/unsuspend',
  scope: 'operate',
  summary: 'Ends the suspension of just this target, durably',
  body: { 'application/json': object(target, ['transport', 'nexthop']) },
  answers: {
    200: { means: 'false: it was not suspended', schema: object({ resumed: { type: 'boolean' } }) },
  },
  handle: async ({ body }) => ({ resumed: await parts.queue.unsuspend(body as SuspensionTarget) }),
})
