/** Routes by which consumers follow what becomes of messages.
 * Invariant: an outcome counts as seen when the consumer says so: by the `Last-Event-ID` with
 * which it comes back, or by `acknowledge`. What was merely written to a connection may be lost
 * with it. */
import { outcomeKinds, type QueueOutcomeKind } from '../../record/outcome.js'
import type { EventStream } from '../wire/event-stream.js'
import { ProblemError } from '../wire/problem-details.js'
import type { Token } from '../wire/tokens.js'
import { openStream } from './client.js'
import type { ApiParts, ApiRequest, Route } from './route.js'
import { count, list, object, text } from './schemas.js'

const feedsMax = 16
/** Outcomes that are written at once. */
const batchMax = 100

/** Streams under way. */
export class Feeds {
  #count = 0
  /** The one of each consumer, and when it has ended. */
  readonly #named = new Map<string, { readonly stream: EventStream; readonly ended: Promise<void> }>()

  /** Consumers with a stream. */
  get namedCount(): number {
    return this.#named.size
  }

  /** @throws ProblemError TOO_MANY_REQUESTS */
  checkRoom(): void {
    if (this.#count >= feedsMax)
      throw new ProblemError('TOO_MANY_REQUESTS', `${feedsMax} clients follow outcomes already`)
  }

  /** A consumer that comes back takes the place of its connection that was lost. */
  async run(name: string | undefined, stream: EventStream, feed: () => Promise<void>): Promise<void> {
    this.#count++
    try {
      if (name === undefined) return await feed()
      const before = this.#named.get(name)
      before?.stream.end()
      const ended = (before?.ended ?? Promise.resolve()).then(feed)
      const own = { stream, ended: ended.catch(() => undefined) }
      this.#named.set(name, own)
      // The queue may refuse the name, and a client come with another one each time.
      await ended.finally(() => this.#named.get(name) === own && this.#named.delete(name))
    } finally {
      this.#count--
    }
  }
}

interface Followed {
  readonly consumer: string | undefined
  readonly from: number | undefined
  readonly kinds: ReadonlySet<QueueOutcomeKind>
}

export const outcomeRoutes = (parts: ApiParts): Route[] => [
  followRoute(parts, new Feeds()),
  listRoute(parts),
  acknowledgeRoute(parts),
  forgetRoute(parts),
]

const followRoute = (parts: ApiParts, feeds: Feeds): Route => ({
  method: 'GET',
  path: '/v1/outcomes',
  scope: 'read',
  summary: 'Follows what becomes of messages; `Last-Event-ID` is the number of the last one seen',
  query: {
    consumer: {
      ...text,
      description: 'a name under which the queue keeps outcomes until they are seen; default: from now on',
    },
    kinds: { ...text, description: `of ${outcomeKinds.join(', ')}, with commas; default: all` },
  },
  headers: {
    'Last-Event-ID': { ...count, description: 'of the last one seen; it comes behind that' },
  },
  answers: {
    200: {
      means: 'an event for each outcome, named by its kind; `gap` for outcomes that are lost',
      type: 'text/event-stream',
      schema: text,
    },
  },
  handle: async (request, reply) => {
    const followed = await followedBy(parts, request)
    feeds.checkRoom()
    const stream = openStream(parts, request, reply)
    feeds
      .run(followed.consumer, stream, () => follow(parts, followed, stream))
      .then(
        () => stream.end(),
        (error: unknown) => stream.fail(error),
      )
    return reply
  },
})

const listRoute = (parts: ApiParts): Route => ({
  method: 'GET',
  path: '/v1/consumers',
  scope: 'read',
  summary: 'Lists consumers that have a name',
  answers: {
    200: {
      means: 'the number of the last outcome that each has seen, and of the last one that there is',
      schema: object({ consumers: list(object({ name: text, cursor: count, last: count })) }),
    },
  },
  handle: () => ({ consumers: parts.queue.consumers() }),
})

const acknowledgeRoute = (parts: ApiParts): Route => ({
  method: 'POST',
  path: '/v1/consumers/:name/acknowledge',
  scope: 'read',
  summary: 'Says that a consumer has seen all outcomes up to a number',
  body: { 'application/json': object({ number: count }) },
  answers: { 200: { means: 'noted', schema: object({ number: count }) } },
  handle: async (request) => {
    const { params, body } = request
    const { number } = body as { readonly number: number }
    checkConsumer(parts.tokenOf(request), params['name'] ?? '')
    if (!(await parts.queue.acknowledge(params['name'] ?? '', number))) throw noConsumer()
    return { number }
  },
})

const forgetRoute = (parts: ApiParts): Route => ({
  method: 'DELETE',
  path: '/v1/consumers/:name',
  scope: 'operate',
  summary: 'Keeps no outcomes for a consumer any more',
  answers: { 200: { means: 'it is gone', schema: object({ name: text }) } },
  handle: async ({ params }) => {
    const name = params['name'] ?? ''
    if (!(await parts.queue.forgetConsumer(name))) throw noConsumer()
    return { name }
  },
})

/** What a consumer has seen is gone for it: others, the webhook's too, are for operators.
 * @throws ProblemError SCOPE_MISSING */
function checkConsumer({ name, scopes }: Token, consumer: string): void {
  if (scopes.includes('operate') || consumer === name || consumer.startsWith(`${name}-`)) return
  throw new ProblemError(
    'SCOPE_MISSING',
    `a consumer that is not named '${name}' or '${name}-…' is for tokens with operate`,
    { scope: 'operate' },
  )
}

const noConsumer = (): ProblemError => new ProblemError('NOT_FOUND', 'there is no such consumer')

/** @throws ProblemError REQUEST_INVALID; WaybillError OPTION_INVALID */
async function followedBy(parts: ApiParts, request: ApiRequest): Promise<Followed> {
  const { query, headers } = request
  const consumer = query['consumer'] as string | undefined
  if (consumer !== undefined) checkConsumer(parts.tokenOf(request), consumer)
  const given = (query['kinds'] as string | undefined)?.split(',') ?? outcomeKinds
  const kinds = given.map((word) => {
    const kind = outcomeKinds.find((known) => known === word)
    if (kind === undefined)
      throw new ProblemError('REQUEST_INVALID', `'${word}' is none of ${outcomeKinds.join(', ')}`)
    return kind
  })
  const seen = headers['last-event-id']
  if (seen === undefined || seen === '') return { consumer, from: undefined, kinds: new Set(kinds) }
  if (!/^\d{1,15}$/.test(String(seen)))
    throw new ProblemError('REQUEST_INVALID', 'Last-Event-ID is the number of an outcome')
  if (consumer !== undefined) await parts.queue.acknowledge(consumer, Number(seen))
  return { consumer, from: Number(seen) + 1, kinds: new Set(kinds) }
}

/** Writes outcomes until the client leaves. */
async function follow(parts: ApiParts, followed: Followed, stream: EventStream): Promise<void> {
  const { consumer, from, kinds } = followed
  const { signal } = stream
  const request = {
    signal,
    max: batchMax,
    acknowledges: true,
    ...(consumer === undefined ? undefined : { consumer }),
    ...(from === undefined ? undefined : { from }),
  }
  for await (const batch of parts.queue.outcomeBatches(request)) {
    let passedOver = 0
    for (const item of batch) {
      if (item.kind === 'gap') stream.send('gap', { from: item.from, to: item.to }, item.to)
      else if (kinds.has(item.kind)) stream.send(item.kind, item, item.number)
      else {
        passedOver = item.number
        continue
      }
      passedOver = 0
    }
    // Without data it is no event, and the client remembers the number.
    if (passedOver > 0) stream.sendId(passedOver)
    await stream.whenRoom()
  }
}
