/** One route of the API as data, of which the server and the OpenAPI document are made. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.js'
import type { Submission } from '../../engine/accept/submission.js'
import type { Conversation } from '../../delivery/conversation.js'
import type { Accepted } from '../../engine/accept/tickets.js'
import type { Queue } from '../../queue.js'
import type { Figures } from '../figures/figures.js'
import type { QueuePlace } from '../figures/queues.js'
import type { Inspect } from '../inspection/orders.js'
import type { EventStreams } from '../wire/event-streams.js'
import type { Scope, Token, Tokens } from '../wire/tokens.js'
import type { Operations } from './operations.js'

/** JSON Schema (2020-12), as far as OpenAPI 3.1 and ajv both know it. */
export type Schema = Readonly<Record<string, unknown>>

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** `/v1/messages/:id` */
  readonly path: string
  /** What the token must allow; `any`: there must be one; `none`: there need be none. */
  readonly scope: Scope | 'any' | 'none'
  /** Begins with a verb. */
  readonly summary: string
  readonly query?: Readonly<Record<string, Schema>>
  /** Headers that it reads, beside those of every request. */
  readonly headers?: Readonly<Record<string, Schema>>
  /** By media type. Without one a request has no body. */
  readonly body?: Readonly<Record<string, Schema>>
  /** Status and what it means. */
  readonly answers: Readonly<Record<number, Answer>>
  readonly handle: (request: ApiRequest, reply: FastifyReply) => unknown
}

export interface Answer {
  readonly means: string
  readonly type?: string
  /** It comes as server-sent events where `Accept` asks for that. */
  readonly isStreamed?: boolean
  readonly schema?: Schema
}

export type ApiRequest = FastifyRequest<{
  Querystring: Readonly<Record<string, unknown>>
  Params: Readonly<Record<string, string>>
  Body: unknown
}>

/** The client that brings a message: for the log. */
export interface HttpClient {
  readonly address: string
  /** The name of its token. */
  readonly token: string
}

/** Where mail of clients goes in: a queue, or what stands before it. */
export interface SubmitDoor {
  submit(submission: Submission, client: HttpClient): Promise<Accepted>
}

/** What routes stand on. */
export interface ApiParts {
  /** What servers have said about a message. */
  readonly conversationsOf: (id: string) => readonly Conversation[]
  readonly queue: Queue
  readonly door: SubmitDoor
  readonly figures: Figures
  readonly place: QueuePlace
  readonly operations: Operations
  readonly streams: EventStreams
  /** undefined: the queue lies in no directory. */
  readonly inspect: Inspect | undefined
  readonly clock: Clock
  /** Those that are known now. */
  readonly tokens: () => Tokens
  /** Of the request; there is one where the route wants one. */
  readonly tokenOf: (request: ApiRequest) => Token
}
