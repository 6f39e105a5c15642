/** Routes that read the queue's files.
 * Invariant: each answers what it found with the damage that it met, and reports progress to a
 * client that asks for `text/event-stream`. */
import type { FastifyReply } from 'fastify'
import type { InspectionOrder } from '../inspection/orders.js'
import { ProblemError } from '../wire/problem-details.js'
import { idOf, leftSignal, openStream } from './client.js'
import type { ApiParts, ApiRequest, Route, Schema } from './route.js'
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

/** One look at the files: its route, and what it orders. */
interface Look {
  readonly path: string
  readonly summary: string
  readonly query?: Readonly<Record<string, Schema>>
  readonly means: string
  /** What it answers, beside findings. */
  readonly shown: Readonly<Record<string, Schema>>
  /** @throws ProblemError REQUEST_INVALID */
  readonly orderOf: (request: ApiRequest, nowMs: number) => InspectionOrder
}

const looks: readonly Look[] = [
  {
    path: '/v1/qshape',
    summary: 'Counts messages by domain and age, as qshape of Postfix does',
    query: {
      by: { enum: ['recipient', 'sender'], default: 'recipient' },
      lane: { ...list(text), description: 'repeated: incoming, active, deferred, hold or a number' },
      buckets: { type: 'integer', minimum: 2, maximum: 60, default: 10 },
      firstMs: { type: 'integer', minimum: 1, maximum: 31_536_000_000, default: 300_000 },
      linear: { type: 'boolean', default: false },
      limit: { type: 'integer', minimum: 1, maximum: 1000, default: 50 },
    },
    means: 'the total, and the largest domains',
    shown: {
      heads: { ...list(text), description: 'where each bucket ends, minutes' },
      rows: list(object({ domain: text, total: count, buckets: list(count) })),
      domainCount: { ...count, description: 'all of them' },
    },
    orderOf: qshapeOrder,
  },
  {
    path: '/v1/log/segments',
    summary: 'Shows what the segments of all logs hold, and what a start would read',
    means: 'logs with their segments and positions',
    shown: {
      logs: list(log),
      restart: object({ life: count, suffix: count, end: count, suffixBytes: count, activeCount: count }),
    },
    orderOf: () => ({ kind: 'segments' }),
  },
  {
    path: '/v1/log/verify',
    summary: 'Checks every checksum, link and promise that can be checked from outside',
    means: 'sound, or what is damaged',
    shown: {
      isSound: { type: 'boolean' },
      batchCount: count,
      recordCount: count,
      messageCount: count,
      dataBytes: count,
      tornTailBytes: count,
      leftoverSpoolFileCount: count,
    },
    orderOf: () => ({ kind: 'verify' }),
  },
  {
    path: '/v1/log/at',
    summary: 'Counts the queue as it was when the journal ended at a position',
    query: { position: { type: 'integer', minimum: 0, description: 'absent: where it ends now' } },
    means: 'messages by lane',
    shown: {
      position: count,
      activeCount: count,
      lanes: list(object({ lane: count, queue: text, intervalMs: orNull(count), messageCount: count })),
    },
    orderOf: ({ query }) => ({ kind: 'at', position: query['position'] as number | undefined }),
  },
  {
    path: '/v1/messages/:id/history',
    summary: 'Shows all records of a message that are still on disk',
    means: 'in order of time; none is left of a message that ended long ago',
    shown: {
      records: list({
        type: 'object',
        properties: { at: instant, kind: text, log: text, position: count, fields: { type: 'object' } },
      }),
    },
    orderOf: (request) => ({ kind: 'history', id: idOf(request) }),
  },
]

export const inspectionRoutes = (parts: ApiParts): Route[] =>
  looks.map(({ path, summary, query, means, shown, orderOf }) => ({
    method: 'GET',
    path,
    scope: 'read',
    summary,
    ...(query && { query }),
    answers: { 200: { means, isStreamed: true, schema: object({ ...shown, findings }) } },
    handle: (request, reply) => inspect(parts, request, reply, orderOf(request, parts.clock.wallMs())),
  }))

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
