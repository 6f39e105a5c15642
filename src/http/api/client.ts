/** The client of a request: its event stream, and whether it has left. */
import type { FastifyReply } from 'fastify'
import type { EventStream } from '../wire/event-stream.js'
import type { ApiParts, ApiRequest } from './route.js'

/** Opens an event stream, which ends when the token does. @throws ProblemError TOO_MANY_REQUESTS */
export function openStream(parts: ApiParts, request: ApiRequest, reply: FastifyReply): EventStream {
  const token = parts.tokenOf(request)
  parts.streams.checkRoom()
  // The framework writes nothing more.
  reply.hijack()
  return parts.streams.open(reply.raw, {
    clock: parts.clock,
    checkStill: () => parts.tokens().checkStill(token, parts.clock.wallMs()),
  })
}

/** The message of the path. Ids are shown in capitals, and typed as it comes. */
export const idOf = ({ params }: ApiRequest): string => (params['id'] ?? '').toUpperCase()

/** Aborted when the client leaves before it has its answer. */
export function leftSignal(reply: FastifyReply): AbortSignal {
  const left = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort()
  })
  return left.signal
}
