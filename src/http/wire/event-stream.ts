/** Server-sent events to one client.
 * Invariant: what waits for the client is bounded: the sender looks at `isFull`, or waits for
 * `whenRoom`. A client that reads nothing for `stallMs` is dropped, and so is one whose token is
 * taken back. */
import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../../base/clock.js'
import { internalProblem, problemOf } from './problem-details.js'

export interface EventStreamOptions {
  readonly clock: Clock
  /** Throws when the client may not go on. */
  readonly checkStill: () => void
}

const heartbeatMs = 15_000
const stallMs = 30_000

export class EventStream {
  readonly #response: ServerResponse
  readonly #options: EventStreamOptions
  readonly #over = new AbortController()
  #heartbeat: Timer | undefined
  #stall: Timer | undefined

  constructor(response: ServerResponse, options: EventStreamOptions) {
    this.#response = response
    this.#options = options
    // The client has left while its request waited: nothing tells that again.
    if (response.destroyed) {
      this.#over.abort()
      return
    }
    response.on('close', () => this.#ended())
    response.on('drain', () => this.#endStall())
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // For nginx, which would keep events until there are many.
      'x-accel-buffering': 'no',
    })
    // So that the client has the header at once.
    this.#write(': open\n\n')
    this.#beat()
  }

  /** Aborted when the client has left, or was dropped. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  get isFull(): boolean {
    return this.#response.writableNeedDrain
  }

  /** @param text JSON without line ends */
  sendText(event: string, text: string, id?: number): void {
    this.#write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${text}\n\n`)
  }

  /** How far the stream has come, without an event. */
  sendId(id: number): void {
    this.#write(`id: ${id}\n\n`)
  }

  send(event: string, data: unknown, id?: number): void {
    this.sendText(event, JSON.stringify(data), id)
  }

  /** Settles when there is room for more, or the client has left. */
  async whenRoom(): Promise<void> {
    if (!this.isFull || this.signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#response.off('drain', done)
        this.signal.removeEventListener('abort', done)
        resolve()
      }
      this.#response.once('drain', done)
      this.signal.addEventListener('abort', done)
    })
  }

  end(): void {
    this.#response.end()
    this.#ended()
  }

  /** The last event says why. */
  fail(error: unknown): void {
    if (this.signal.aborted) return
    this.send('error', problemOf(error) ?? internalProblem())
    this.end()
  }

  #write(text: string): void {
    if (this.signal.aborted || this.#response.write(text)) return
    this.#stall ??= this.#options.clock.after(stallMs, () => this.#response.destroy())
  }

  #beat(): void {
    this.#heartbeat = this.#options.clock.after(heartbeatMs, () => {
      try {
        this.#options.checkStill()
      } catch (error) {
        return this.fail(error)
      }
      this.#write(': alive\n\n')
      this.#beat()
    })
  }

  #endStall(): void {
    this.#stall?.cancel()
    this.#stall = undefined
  }

  #ended(): void {
    if (this.signal.aborted) return
    this.#heartbeat?.cancel()
    this.#endStall()
    this.#over.abort()
  }
}
