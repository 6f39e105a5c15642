/** Shapes that several routes share, as JSON Schema. */
import type { Schema } from './route.js'

export const text: Schema = { type: 'string' }
export const count: Schema = { type: 'integer', minimum: 0 }
export const instant: Schema = { type: 'integer', description: 'milliseconds since 1970' }
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
export const list = (items: Schema): Schema => ({ type: 'array', items })
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

/** @param members all of them required, except for `optional` */
export function object(members: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(members).filter((name) => !optional.includes(name))
  return {
    type: 'object',
    properties: members,
    additionalProperties: false,
    ...(required.length === 0 ? undefined : { required }),
  }
}

/** Members are checked by the library, whose errors name them: an unknown one is refused. */
export const selector: Schema = {
  type: 'object',
  description: 'which messages are meant: every member that is given must hold',
  properties: {
    id: text,
    sender: { ...text, description: 'exactly; empty is the null sender' },
    recipient: { ...text, description: 'one of the recipients that still wait' },
    domain: { ...text, description: 'the domain of one of them' },
    nexthop: { ...text, description: 'where one of them goes now' },
    lane: { description: 'incoming, active, deferred, hold or the number of a lane' },
    olderThan: { type: 'number', minimum: 0, description: 'accepted more than so many milliseconds ago' },
    lastStatus: { ...text, description: 'the status of the last outcome begins with this: 4.4' },
    tag: { ...text, description: 'one of its tags' },
    all: { const: true, description: 'every message' },
  },
}

const counts = object({
  messageCount: count,
  recipientCount: count,
  missedCount: count,
  failedCount: count,
})

const rates = object({
  accepted: { type: 'number' },
  delivered: { type: 'number' },
  deferred: { type: 'number' },
  failed: { type: 'number' },
})

const note: Schema = {
  type: 'object',
  properties: { kind: text, status: text, text },
}

const message = object(
  {
    id: text,
    sender: text,
    recipients: { ...list(text), description: 'those that still wait, at most 1000 of them' },
    recipientCount: count,
    queue: { enum: ['incoming', 'active', 'deferred', 'hold'] },
    lane: count,
    acceptedAt: instant,
    attempts: count,
    dataBytes: count,
    dueAt: { ...orNull(instant), description: '0: due now; null: on hold' },
    notes: list(note),
    dsn: { type: 'object' },
  },
  ['dsn'],
)

const problemDetails = object(
  {
    type: text,
    title: text,
    status: { type: 'integer' },
    detail: text,
    code: text,
    place: { type: 'object' },
    scope: text,
  },
  ['place', 'scope'],
)

const operation = object({
  id: text,
  do: text,
  selector,
  dryRun: { type: 'boolean' },
  by: text,
  startedAt: instant,
  endedAt: orNull(instant),
  state: { enum: ['running', 'done', 'stopped', 'failed'] },
  counts,
  sample: list(ref('Message')),
  problem: orNull(ref('Problem')),
})

const trouble = object({
  code: text,
  severity: { enum: ['critical', 'warning', 'notice'] },
  text,
  subject: { type: 'object' },
  help: orNull(text),
})

const lane = object({
  lane: count,
  queue: text,
  intervalMs: orNull(count),
  waitingBytes: count,
  segmentCount: count,
  markCount: count,
  nextDueAt: orNull(instant),
  damage: orNull(text),
})

const destination = object({
  transport: text,
  nexthop: text,
  name: text,
  window: count,
  busy: count,
  todo: count,
  state: { type: 'object', required: ['kind'] },
  recovery: text,
  rate: { type: 'number' },
  limit: orNull(
    object({
      kind: { enum: ['nexthop', 'tag', 'sender', 'source', 'reply', 'order'] },
      name: text,
      count,
      perMs: count,
      untilAt: instant,
    }),
  ),
  perSecond: object({
    delivered: { type: 'number' },
    deferred: { type: 'number' },
    failed: { type: 'number' },
  }),
  lastReply: orNull(object({ at: instant, kind: text, status: text, text, remote: orNull(text) })),
})

const figures = object(
  {
    at: instant,
    version: text,
    hostname: text,
    startedAt: instant,
    recovering: { type: 'boolean' },
    rates,
    totals: rates,
    active: object({ count, max: count }),
    damagedCount: count,
    sync: object({
      count,
      perSecond: { type: 'number' },
      meanMs: { type: 'number' },
      lastMs: { type: 'number' },
      underWayMs: { type: 'number' },
    }),
    deliveries: object({ isHeld: { type: 'boolean' }, heldMs: { type: 'number' } }),
    journal: { type: 'object' },
    lanes: list(ref('Lane')),
    room: orNull({ type: 'object' }),
    destinationCount: count,
    deadCount: count,
    suspendedCount: count,
    problems: list(ref('Trouble')),
    destinations: list(ref('Destination')),
  },
  ['destinations'],
)

const silence = (bound: string): Schema => ({
  ...orNull(count),
  description: `milliseconds since its owner renewed its ownership, ${bound}, as looks from here saw it`,
})

const queues = object({
  store: { ...orNull(text), description: 'null: the queue lies in a directory' },
  timeline: orNull(count),
  standbyCount: { ...orNull(count), description: 'null: not visible, or there is no store' },
  unsafe: { ...list(text), description: 'why a commit may be on one machine only' },
  queues: list(
    object({
      name: text,
      isHere: { type: 'boolean', description: 'the one behind this API' },
      home: { ...orNull(text), description: 'the node whose queue it is' },
      owner: { ...orNull(text), description: 'the node that has it now' },
      address: orNull(text),
      epoch: orNull(count),
      state: { enum: ['beats', 'silent', 'none'], description: 'none: nobody has had it yet' },
      silentMsMin: silence('at least'),
      silentMsMax: silence('at most; null: no renewal was seen'),
      usedBytes: orNull(count),
      quotaBytes: orNull(count),
      activeCount: { ...orNull(count), description: 'messages in memory; null: the queue is elsewhere' },
      waitingBytes: { ...orNull(count), description: 'in lanes; null: the queue is elsewhere' },
    }),
  ),
})

/** By their names in the OpenAPI document. */
export const components: Readonly<Record<string, Schema>> = {
  Selector: selector,
  Message: message,
  Problem: problemDetails,
  Operation: operation,
  Trouble: trouble,
  Lane: lane,
  Destination: destination,
  Figures: figures,
  Queues: queues,
}
