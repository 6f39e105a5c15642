/** The memory that bodies of requests may take together.
 * Invariant: bytes are reserved before a body is read, and given back when its request has ended. A
 * body that is streamed takes none. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from './problem-details.js'

const bytesMax = 64 * 1024 * 1024

export class BodyBudget {
  #bytes = 0

  /** @param most of a body whose length the client does not say
   * @throws ProblemError NOT_READY; BODY_TOO_LARGE */
  reserve({ headers }: FastifyRequest, reply: FastifyReply, most: number): void {
    if (headers['content-type']?.toLowerCase().startsWith('application/json') !== true) return
    const bytes = Number(headers['content-length'] ?? most)
    if (bytes > most)
      throw new ProblemError(
        'BODY_TOO_LARGE',
        `a body of JSON has at most ${most} bytes; message/rfc822 is streamed`,
      )
    if (this.#bytes + bytes > bytesMax)
      throw new ProblemError('NOT_READY', 'the server has as many bodies in memory as it takes')
    this.#bytes += bytes
    reply.raw.once('close', () => (this.#bytes -= bytes))
  }
}
