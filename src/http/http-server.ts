/** The HTTP API of a queue at one address.
 * Invariant: what a request may do is decided by its token before its body is read. Whatever
 * clients send or leave unread, connections, requests, bodies and streams have bounds, and mail
 * goes on. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { systemClock, type Clock } from '../base/clock.js'
import { utf8Text } from '../base/text.js'
import type { Queue } from '../queue.js'
import { listening, type Listener } from '../relay/listening.js'
import type { Certificate } from '../relay/smtp-in/session-server.js'
import { aboutRoutes } from './api/about-routes.js'
import { contentRoutes } from './api/content-routes.js'
import { destinationRoutes } from './api/destination-routes.js'
import { inspectionRoutes } from './api/inspection-routes.js'
import { historyRoutes } from './api/history-routes.js'
import { messageRoutes } from './api/message-routes.js'
import { operationRoutes } from './api/operation-routes.js'
import type { Operations } from './api/operations.js'
import { outcomeRoutes } from './api/outcome-routes.js'
import { queueRoutes } from './api/queue-routes.js'
import { isDecodable, typedQuery } from './api/query.js'
import type { ApiParts, ApiRequest, Route, SubmitDoor } from './api/route.js'
import { components } from './api/schemas.js'
import { submitRoutes } from './api/submit-routes.js'
import type { Inspect } from './inspection/orders.js'
import { Views } from './content/views.js'
import type { Figures } from './figures/figures.js'
import type { QueuePlace } from './figures/queues.js'
import { checkCoding, forgetTypeOfNothing } from './wire/body-coding.js'
import { BodyBudget } from './wire/body-budget.js'
import { Connections } from './wire/connections.js'
import { EventStreams } from './wire/event-streams.js'
import { pageHeaders, readyPage, type HttpPage, type ReadyPage } from './wire/pages.js'
import {
  internalProblem,
  ProblemError,
  problemHeaders,
  problemOf,
  problemType,
  unparsedAnswer,
} from './wire/problem-details.js'
import { checkScope, type Token, type Tokens } from './wire/tokens.js'

export interface HttpOptions {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  readonly tls?: Certificate | undefined
  /** Those that are known at the moment. */
  readonly tokens: () => Tokens
  /** Where mail goes in. Default: the queue. */
  readonly door?: SubmitDoor | undefined
  readonly figures: Figures
  /** Where the queue lies. Default: in a directory, and it is called `queue`. */
  readonly place?: QueuePlace | undefined
  readonly operations: Operations
  /** Reads the queue's files. Default: nobody does, and routes that want it say so. */
  readonly inspect?: Inspect | undefined
  /** Default: nothing is known. */
  readonly conversationsOf?: ApiParts['conversationsOf'] | undefined
  readonly version: string
  readonly hostname: string
  /** Shown beside the API, without a token. */
  readonly pages?: readonly HttpPage[]
  /** Mistakes in a program, which clients see as INTERNAL; and clients that could not be taken. */
  readonly onError?: (error: unknown) => void
  readonly clock?: Clock
  /** Silence that ends a connection, and time for the header of a request, milliseconds.
   * Default 30 000. */
  readonly idleMs?: number
  /** Connections at once. Default 200. */
  readonly clientCountMax?: number
}

export interface HttpListener extends Listener {
  /** For connections that begin from now on. */
  takeUp(tls: Certificate): void
  /** Drops the port and every connection, those last whose request changes something: settles when
   * these have their answers. */
  leave(): Promise<void>
}

const headerBytesMax = 16 * 1024
const jsonBytesMax = 16 * 1024 * 1024
/** For one request with its body. */
const requestMsMax = 10 * 60_000
const requestsPerConnectionMax = 1000
const idleMsDefault = 30_000
const clientCountDefault = 200

/** That the framework knows. */
const allMethods = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE']

const nothingHere = 'there is nothing at this path'

/** Resolves when the server answers. @throws the system's error when the port cannot be had */
export async function listenHttp(queue: Queue, options: HttpOptions): Promise<HttpListener> {
  const server = new HttpServer(queue, options)
  return server.listen()
}

class HttpServer {
  readonly #options: HttpOptions
  readonly #clock: Clock
  readonly #app: FastifyInstance
  readonly #connections: Connections
  readonly #bodies = new BodyBudget()
  readonly #streams = new EventStreams()
  readonly #views: Views
  readonly #tokens = new WeakMap<object, Token>()
  readonly #routes: readonly Route[]

  constructor(queue: Queue, options: HttpOptions) {
    const { clock = systemClock, idleMs = idleMsDefault, tls, figures, operations, tokens } = options
    this.#options = options
    this.#clock = clock
    this.#views = new Views(clock)
    this.#connections = new Connections(options.clientCountMax ?? clientCountDefault, clock)
    const bounds = {
      maxHeaderSize: headerBytesMax,
      headersTimeout: idleMs,
      requestTimeout: requestMsMax,
      connectionsCheckingInterval: Math.ceil(idleMs / 2),
    }
    this.#app = fastify({
      ...(tls === undefined ? { http: bounds } : { https: { ...bounds, cert: tls.cert, key: tls.key } }),
      bodyLimit: jsonBytesMax,
      requestTimeout: requestMsMax,
      connectionTimeout: idleMs,
      keepAliveTimeout: idleMs,
      maxRequestsPerSocket: requestsPerConnectionMax,
      exposeHeadRoutes: false,
      forceCloseConnections: true,
      frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) =>
        this.#refuse(error, reply),
      clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
        if (socket.writable) socket.end(unparsedAnswer(error))
        else socket.destroy()
      },
      ajv: {
        customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false, allErrors: false },
      },
    } as object) as unknown as FastifyInstance
    const parts: ApiParts = {
      queue,
      door: options.door ?? queue,
      figures,
      place: options.place ?? { name: 'queue' },
      operations,
      streams: this.#streams,
      inspect: options.inspect,
      conversationsOf: options.conversationsOf ?? (() => []),
      clock,
      tokens,
      tokenOf: (request) => this.#tokenOf(request),
    }
    this.#routes = [
      ...queueRoutes(parts),
      ...destinationRoutes(parts),
      ...messageRoutes(parts),
      ...historyRoutes(parts),
      ...submitRoutes(parts, options.hostname),
      ...operationRoutes(parts),
      ...outcomeRoutes(parts),
      ...inspectionRoutes(parts),
      ...contentRoutes(parts, this.#views),
      ...aboutRoutes(parts, options.version, () => this.#routes),
    ]
    this.#prepare()
  }

  async listen(): Promise<HttpListener> {
    const { host, port, onError = (): void => undefined } = this.#options
    await this.#app.ready()
    const server = this.#app.server as Server
    this.#connections.watch(server)
    const bound = await listening(server, host, port)
    server.on('error', onError)
    return {
      ...bound,
      takeUp: (tls) => {
        if ('setSecureContext' in server && typeof server.setSecureContext === 'function')
          server.setSecureContext({ cert: tls.cert, key: tls.key })
      },
      leave: () => {
        this.#closePort(server)
        return this.#connections.leave()
      },
      close: () => {
        this.#closePort(server)
        this.#connections.closeAll()
      },
    }
  }

  #closePort(server: Server): void {
    this.#streams.endAll()
    this.#views.end()
    server.close()
  }

  #prepare(): void {
    const app = this.#app
    app.removeAllContentTypeParsers()
    const parsed = app.getDefaultJsonParser('error', 'error')
    app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
      const text = utf8Text(body)
      if (text === undefined) done(new ProblemError('REQUEST_INVALID', 'the body is not UTF-8'))
      else void parsed(request, text, done)
    })
    app.addContentTypeParser('message/rfc822', (_request, payload, done) => done(null, payload))
    app.setErrorHandler((error, _request, reply) => this.#refuse(error, reply))
    app.setNotFoundHandler((_request, reply) =>
      this.#refuse(new ProblemError('NOT_FOUND', nothingHere), reply),
    )
    app.addHook('onRequest', (request, reply, done) => {
      const key = this.#connections.begins(request.raw, reply.raw)
      if (key === undefined) return void reply.hijack()
      reply.raw.once('close', () => this.#connections.ends(key))
      // Before its body is read: it would be parsed, outside the budget.
      if (request.is404) done(new ProblemError('NOT_FOUND', nothingHere))
      else if (!isDecodable(request.raw.url ?? ''))
        done(new ProblemError('REQUEST_INVALID', 'the query is not UTF-8 in percent-encoding'))
      else done()
    })
    app.addHook('onSend', (_request, reply, _payload, done) => {
      if (this.#connections.isLeaving) reply.header('connection', 'close')
      done()
    })
    for (const route of this.#routes) this.#add(route)
    for (const [path, methods] of methodsByPath(this.#routes)) this.#refuseOthers(path, methods)
    for (const page of (this.#options.pages ?? []).map(readyPage)) this.#addPage(page)
  }

  #addPage(page: ReadyPage): void {
    const method = ['GET', 'HEAD']
    this.#app.route({
      method: method as 'GET'[],
      url: page.path,
      handler: (request, reply) => {
        reply.headers(pageHeaders(page))
        if (request.headers['if-none-match'] === page.etag) return reply.status(304).send()
        return reply.send(page.body)
      },
    })
    this.#refuseOthers(page.path, method)
  }

  #add({ method, path, scope, query = {}, body, handle }: Route): void {
    this.#app.route({
      method,
      url: path,
      schema: {
        querystring: { type: 'object', properties: query, additionalProperties: false },
        ...(body === undefined ? undefined : { body: { content: contentOf(body) } }),
      },
      onRequest: (request, reply, done) => {
        if (scope !== 'none') this.#admit(request, scope)
        if (body === undefined) forgetTypeOfNothing(request.raw.headers)
        else checkCoding(request.headers, Object.keys(body))
        if (body !== undefined) this.#bodies.reserve(request, reply, jsonBytesMax)
        reply.header('cache-control', 'no-store')
        done()
      },
      preValidation: (request, _reply, done) => {
        request.query = typedQuery(request.query as Record<string, unknown>, query)
        done()
      },
      handler: async (request, reply) => handle(request as ApiRequest, reply),
    })
  }

  /** @throws ProblemError */
  #admit(request: FastifyRequest, scope: Exclude<Route['scope'], 'none'>): void {
    const token = this.#options.tokens().tokenIn(request.headers.authorization, this.#clock.wallMs())
    if (scope !== 'any') checkScope(token, scope)
    this.#tokens.set(request.raw, token)
  }

  #tokenOf({ raw }: ApiRequest): Token {
    const token = this.#tokens.get(raw)
    if (token === undefined) throw new ProblemError('TOKEN_MISSING', 'the route wants a token')
    return token
  }

  #refuseOthers(path: string, methods: readonly string[]): void {
    const allow = methods.join(', ')
    const others = allMethods.filter((method) => !methods.includes(method))
    this.#app.route({
      method: others as 'GET'[],
      url: path,
      onRequest: (_request, _reply, done) =>
        done(new ProblemError('METHOD_NOT_ALLOWED', `here are ${allow}`, { allow })),
      handler: () => undefined,
    })
  }

  #refuse(error: unknown, reply: FastifyReply): FastifyReply {
    const problem = problemOf(error)
    if (problem === undefined) this.#options.onError?.(error)
    const told = problem ?? internalProblem()
    return reply
      .status(told.status)
      .headers({ 'cache-control': 'no-store', ...problemHeaders(told, error) })
      .header('content-type', problemType)
      .send(Buffer.from(JSON.stringify(told)))
  }
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>()
  for (const { path, method } of routes) methods.set(path, [...(methods.get(path) ?? []), method])
  return methods
}

/** The schema of a body without its references, which ajv resolves by other names. */
function contentOf(body: NonNullable<Route['body']>): Record<string, { schema: unknown }> {
  return Object.fromEntries(
    Object.entries(body)
      .filter(([type]) => type === 'application/json')
      .map(([type, schema]) => [type, { schema: resolved(schema) }]),
  )
}

const refPattern = /^#\/components\/schemas\/(\w+)$/

function resolved(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(resolved)
  if (typeof schema !== 'object' || schema === null) return schema
  if ('$ref' in schema) return resolved(components[refPattern.exec(String(schema.$ref))?.[1] ?? ''])
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, resolved(value)]))
}
