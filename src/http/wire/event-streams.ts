/** All event streams of a server.
 * Invariant: there are at most `streamCountMax`; each ends with the server. */
import type { ServerResponse } from 'node:http'
import { EventStream, type EventStreamOptions } from './event-stream.js'
import { ProblemError } from './problem-details.js'

export const streamCountMax = 64

export class EventStreams {
  readonly #streams = new Set<EventStream>()

  /** @throws ProblemError TOO_MANY_REQUESTS */
  checkRoom(): void {
    if (this.#streams.size >= streamCountMax)
      throw new ProblemError('TOO_MANY_REQUESTS', `the server has ${streamCountMax} event streams already`)
  }

  /** @throws ProblemError TOO_MANY_REQUESTS */
  open(response: ServerResponse, options: EventStreamOptions): EventStream {
    this.checkRoom()
    const stream = new EventStream(response, options)
    if (stream.signal.aborted) return stream
    this.#streams.add(stream)
    stream.signal.addEventListener('abort', () => this.#streams.delete(stream))
    return stream
  }

  endAll(): void {
    for (const stream of this.#streams) stream.end()
  }
}
