/** Routes that carry out verbs: each is a resource that can be looked at, watched and stopped. */
import type { FastifyReply } from 'fastify'
import { checkSelector, type Selector } from '../../admin/select/selector.js'
import type { VerbRequest } from '../../control/protocol.js'
import { ProblemError } from '../wire/problem-details.js'
import { openStream } from './client.js'
import type { ShownOperation } from './operations.js'
import type { ApiParts, ApiRequest, Route } from './route.js'
import { list, object, orNull, ref, text } from './schemas.js'

const verbs = ['hold', 'release', 'requeue', 'delete', 'expire', 'flush', 'reroute'] as const

const order = object(
  {
    do: { enum: verbs },
    selector: ref('Selector'),
    dryRun: { type: 'boolean', description: 'counts exactly, and does nothing' },
    sampleMax: { type: 'integer', minimum: 0, maximum: 100, default: 20 },
    perSecond: {
      ...orNull({ type: 'number', exclusiveMinimum: 0 }),
      description: 'of flush: messages a second; null: all at once; default 100',
    },
    nexthop: { ...text, description: 'of reroute' },
    transport: { ...text, description: 'of reroute' },
  },
  ['dryRun', 'sampleMax', 'perSecond', 'nexthop', 'transport'],
)

interface Order {
  readonly do: (typeof verbs)[number]
  readonly selector: Selector
  readonly dryRun?: boolean
  readonly sampleMax?: number
  readonly perSecond?: number | null
  readonly nexthop?: string
  readonly transport?: string
}

const sampleDefault = 20
const waitSecondsMax = 60

export const operationRoutes = (parts: ApiParts): Route[] => [
  beginRoute(parts),
  listRoute(parts),
  showRoute(parts),
  stopRoute(parts),
  streamRoute(parts),
]

const beginRoute = (parts: ApiParts): Route => ({
  method: 'POST',
  path: '/v1/operations',
  scope: 'operate',
  summary: 'Carries out a verb on the messages that a selector means, or counts them',
  headers: {
    Prefer: { ...text, description: `wait=SECONDS, up to ${waitSecondsMax}: answer when it has ended` },
  },
  body: { 'application/json': order },
  answers: {
    200: {
      means: 'it has ended within the time of `Prefer: wait=SECONDS`',
      schema: ref('Operation'),
    },
    202: { means: 'it is under way', schema: ref('Operation') },
  },
  handle: (request, reply) => begin(parts, request, reply),
})

const listRoute = ({ operations }: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/operations',
  scope: 'operate',
  summary: 'Lists operations that are under way, and the last 50',
  answers: {
    200: { means: 'the newest first', schema: object({ operations: list(ref('Operation')) }) },
  },
  handle: () => ({ operations: operations.all() }),
})

const showRoute = ({ operations }: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/operations/:id',
  scope: 'operate',
  summary: 'Shows an operation',
  answers: { 200: { means: 'as it stands', schema: ref('Operation') } },
  handle: ({ params }) => operations.one(params['id'] ?? ''),
})

const stopRoute = ({ operations }: ApiParts): Route => ({
  method: 'DELETE',
  path: '/v1/operations/:id',
  scope: 'operate',
  summary: 'Stops an operation: what is done stays done',
  answers: { 202: { means: 'it stops between two messages', schema: ref('Operation') } },
  handle: ({ params }, reply) => {
    reply.status(202)
    return operations.stop(params['id'] ?? '')
  },
})

const streamRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/operations/:id/stream',
  scope: 'operate',
  summary: 'Tells how far an operation has come, until it ends',
  answers: { 200: { means: 'events `operation`', type: 'text/event-stream', schema: text } },
  handle: (request, reply) => follow(parts, request, reply),
})

/** Answers when the operation has ended, or the time of `Prefer` has.
 * @throws ProblemError, WaybillError: as `verbOf` and `Operations.begin` do */
async function begin(
  { operations, tokenOf }: ApiParts,
  request: ApiRequest,
  reply: FastifyReply,
): Promise<ShownOperation> {
  const { dryRun = false, sampleMax = sampleDefault, ...given } = request.body as Order
  const by = tokenOf(request).name
  const { id } = operations.begin({ request: verbOf(given), dryRun, sampleMax, by })
  const waitMs = waitMsOf(request)
  const shown = await operations.whenEnded(id, waitMs)
  reply.header('location', `/v1/operations/${id}`)
  if (waitMs > 0) reply.header('preference-applied', `wait=${waitMs / 1000}`)
  reply.status(shown.state === 'running' ? 202 : 200)
  return shown
}

/** Sends the operation as it stands, at each change and when it has ended.
 * @throws ProblemError NOT_FOUND */
function follow(parts: ApiParts, request: ApiRequest, reply: FastifyReply): FastifyReply {
  const { operations } = parts
  const id = request.params['id'] ?? ''
  operations.one(id)
  const stream = openStream(parts, request, reply)
  const tell = (): void => {
    const shown = operations.one(id)
    if (shown.state === 'running' && stream.isFull) return
    stream.send('operation', shown)
    if (shown.state !== 'running') stream.end()
  }
  stream.signal.addEventListener('abort', operations.watch(id, tell))
  tell()
  return reply
}

/** @throws WaybillError OPTION_INVALID; ProblemError REQUEST_INVALID */
function verbOf(given: Omit<Order, 'dryRun' | 'sampleMax'>): VerbRequest {
  const { do: verb, selector, perSecond, nexthop, transport } = given
  checkSelector(selector)
  if (perSecond !== undefined && verb !== 'flush') throw misplaced('perSecond', 'flush')
  if ((nexthop ?? transport) !== undefined && verb !== 'reroute') throw misplaced('nexthop', 'reroute')
  switch (verb) {
    case 'flush':
      return { do: verb, selector, perSecond: perSecond === null ? Infinity : perSecond }
    case 'reroute':
      if (nexthop === undefined) throw new ProblemError('REQUEST_INVALID', 'a reroute has a nexthop')
      return { do: verb, selector, nexthop, transport }
    case 'hold':
    case 'release':
    case 'requeue':
    case 'delete':
    case 'expire':
      return { do: verb, selector }
  }
}

const misplaced = (name: string, verb: string): ProblemError =>
  new ProblemError('REQUEST_INVALID', `${name} is for ${verb}`)

/** RFC 7240 §4.3. */
function waitMsOf({ headers }: ApiRequest): number {
  const [, seconds] = /(?:^|,)\s*wait\s*=\s*(\d{1,5})\s*(?:,|;|$)/.exec(String(headers['prefer'] ?? '')) ?? []
  return Math.min(Number(seconds ?? 0), waitSecondsMax) * 1000
}
