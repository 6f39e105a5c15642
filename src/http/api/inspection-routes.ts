/** Routes that read the queue's files: they report progress to a client that asks for
 * `text/event-stream`. */
import type { FastifyReply } from 'fastify'
import type { InspectionOrder } from '../inspection/orders.js'
import { ProblemError } from '../wire/problem-details.js'
import { idOf, leftSignal, openStream } from './client.js'
import type { ApiParts, ApiRequest, Route } from './route.js'
import { count, instant, list, object, orNull, text } from './schemas.js'

const finding = object(
  { log: text, segment: count, offsetBytes: count, bytes: count, reason: text, lost: text },
  ['segment', 'offsetBytes'],
)
const findings = { ...list(finding), description: 'damage that was met' }

const segment = object({
  index: count,
  fileBytes: count,
  contentBytes: count,
  state: { enum: ['live', 'pinned', 'garbage', 'unused'] },
  pinnedBy: list(text),
})

const log = object({
  name: text,
  segments: list(segment),
  floor: count,
  end: count,
  fileBytes: count,
  liveBytes: count,
  pinnedBytes: count,
  garbageBytes: count,
  spareCount: count,
  spareBytes: count,
  segmentBytes: count,
  marks: list(object({ name: { enum: ['suffix', 'runner', 'floor', 'end'] }, position: count })),
})

const queueNames = ['incoming', 'active', 'deferred', 'hold']

export const inspectionRoutes = (parts: ApiParts): Route[] => [
  {
    method: 'GET',
    path: '/v1/qshape',
    scope: 'read',
    summary: 'Counts messages by domain and age, as qshape of Postfix does',
    query: {
      by: { enum: ['recipient', 'sender'], default: 'recipient' },
      lane: { ...list(text), description: 'repeated: incoming, active, deferred, hold or a number' },
      buckets: { type: 'integer', minimum: 2, maximum: 60, default: 10 },
      firstMs: { type: 'integer', minimum: 1, maximum: 31_536_000_000, default: 300_000 },
      linear: { type: 'boolean', default: false },
      limit: { type: 'integer', minimum: 1, maximum: 1000, default: 50 },
    },
    answers: {
      200: {
        means: 'the total, and the largest domains',
        isStreamed: true,
        schema: object({
          heads: { ...list(text), description: 'where each bucket ends, minutes' },
          rows: list(object({ domain: text, total: count, buckets: list(count) })),
          domainCount: { ...count, description: 'all of them' },
          findings,
        }),
      },
    },
    handle: (request, reply) => inspect(parts, request, reply, qshapeOrder(request, parts.clock.wallMs())),
  },
  {
    method: 'GET',
    path: '/v1/log/segments',
    scope: 'read',
    summary: 'Shows what the segments of all logs hold, and what a start would read',
    answers: {
      200: {
        means: 'logs with their segments and positions',
        isStreamed: true,
        schema: object({
          logs: list(log),
          restart: object({ life: count, suffix: count, end: count, suffixBytes: count, activeCount: count }),
          findings,
        }),
      },
    },
    handle: (request, reply) => inspect(parts, request, reply, { kind: 'segments' }),
  },
  {
    method: 'GET',
    path: '/v1/log/verify',
    scope: 'read',
    summary: 'Checks every checksum, link and promise that can be checked from outside',
    answers: {
      200: {
        means: 'sound, or what is damaged',
        isStreamed: true,
        schema: object({
          isSound: { type: 'boolean' },
          batchCount: count,
          recordCount: count,
          messageCount: count,
          dataBytes: count,
          tornTailBytes: count,
          leftoverSpoolFileCount: count,
          findings,
        }),
      },
    },
    handle: (request, reply) => inspect(parts, request, reply, { kind: 'verify' }),
  },
  {
    method: 'GET',
    path: '/v1/log/at',
    scope: 'read',
    summary: 'Counts the queue as it was when the journal ended at a position',
    query: { position: { type: 'integer', minimum: 0, description: 'absent: where it ends now' } },
    answers: {
      200: {
        means: 'messages by lane',
        isStreamed: true,
        schema: object({
          position: count,
          activeCount: count,
          lanes: list(object({ lane: count, queue: text, intervalMs: orNull(count), messageCount: count })),
          findings,
        }),
      },
    },
    handle: (request, reply) =>
      inspect(parts, request, reply, {
        kind: 'at',
        position: request.query['position'] as number | undefined,
      }),
  },
  {
    method: 'GET',
    path: '/v1/messages/:id/history',
    scope: 'read',
    summary: 'Shows all records of a message that are still on disk',
    answers: {
      200: {
        means: 'in order of time; none is left of a message that ended long ago',
        isStreamed: true,
        schema: object({
          records: list({
            type: 'object',
            properties: { at: instant, kind: text, log: text, position: count, fields: { type: 'object' } },
          }),
          findings,
        }),
      },
    },
    handle: (request, reply) =>
      inspect(parts, request, reply, {
        kind: 'history',
        id: idOf(request),
      }),
  },
]

function qshapeOrder({ query }: ApiRequest, nowMs: number): InspectionOrder {
  const given = query as {
    readonly by?: 'recipient' | 'sender'
    readonly lane?: readonly string[]
    readonly buckets?: number
    readonly firstMs?: number
    readonly linear?: boolean
    readonly limit?: number
  }
  const { by = 'recipient', lane: lanes = ['incoming', 'active'] } = given
  const { buckets = 10, firstMs = 300_000, linear = false, limit = 50 } = given
  for (const name of lanes)
    if (!queueNames.includes(name) && !/^\d{1,9}$/.test(name))
      throw new ProblemError('REQUEST_INVALID', `a lane is ${queueNames.join(', ')} or a number`)
  return { kind: 'qshape', by, lanes, buckets, firstMs, linear, limit, nowMs }
}

async function inspect(
  parts: ApiParts,
  request: ApiRequest,
  reply: FastifyReply,
  order: InspectionOrder,
): Promise<unknown> {
  const run = parts.inspect
  if (run === undefined)
    throw new ProblemError('NOT_READY', 'the queue lies in no directory that this server could read')
  if (request.headers.accept?.includes('text/event-stream') !== true)
    return run(order, () => undefined, leftSignal(reply))
  const stream = openStream(parts, request, reply)
  const onProgress = (done: number, all: number): void => {
    if (!stream.isFull) stream.send('progress', { done, all })
  }
  run(order, onProgress, stream.signal).then(
    (answer) => {
      stream.send('result', answer)
      stream.end()
    },
    (error: unknown) => stream.fail(error),
  )
  return reply
}
