/** The HTTP API of one queue: what all addresses at which it answers have in common.
 * Invariant: made in the turn in which the queue was opened, its counts miss nothing. */
import { systemClock, type Clock } from '../base/clock.js'
import type { Conversation } from '../delivery/conversation.js'
import type { Queue } from '../queue.js'
import type { Certificate } from '../relay/smtp-in/session-server.js'
import type { SubmitDoor } from './api/route.js'
import { Operations, type OperationWitness } from './api/operations.js'
import { Figures } from './figures/figures.js'
import type { Problem, RelayFacts } from './figures/problems.js'
import type { QueuePlace } from './figures/queues.js'
import { threadedInspect } from './inspection/inspector.js'
import type { Inspect } from './inspection/orders.js'
import { listenHttp, type HttpListener } from './http-server.js'
import type { HttpPage } from './wire/pages.js'
import type { Tokens } from './wire/tokens.js'

export interface HttpApiOptions extends OperationWitness {
  /** Those that are known at the moment: each request asks. */
  readonly tokens: () => Tokens
  /** Where mail goes in. Default: the queue. */
  readonly door?: SubmitDoor
  readonly version: string
  readonly hostname: string
  /** What is known beside the queue. */
  readonly facts?: () => RelayFacts
  /** Where the queue lies, for lists. Default: in a directory, and it is called `queue`. */
  readonly place?: QueuePlace
  /** The queue's, for what is read from its files. Default: the API does not read them. */
  readonly directory?: string
  /** What was said with servers about a message, as far as it is known. Default: nothing. */
  readonly conversationsOf?: (id: string) => readonly Conversation[]
  /** Where the counts of a day are kept over restarts. Default: nowhere. */
  readonly rateFile?: string
  /** Mistakes in a program, and what the system refuses. */
  readonly onError?: (error: unknown) => void
  readonly clock?: Clock
}

export interface HttpPlace {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  readonly tls?: Certificate | undefined
  /** Shown beside the API, without a token. */
  readonly pages?: readonly HttpPage[]
}

export class HttpApi {
  readonly #queue: Queue
  readonly #options: HttpApiOptions
  readonly #figures: Figures
  readonly #operations: Operations
  readonly #inspect: Inspect | undefined

  constructor(queue: Queue, options: HttpApiOptions) {
    const { clock = systemClock, version, hostname, facts, rateFile, onError } = options
    this.#queue = queue
    this.#options = options
    this.#figures = new Figures(queue, {
      clock,
      version,
      hostname,
      ...(facts === undefined ? undefined : { facts }),
      ...(rateFile === undefined ? undefined : { rateFile }),
      ...(onError === undefined ? undefined : { onError }),
    })
    const { directory } = options
    this.#inspect = directory === undefined ? undefined : threadedInspect(directory)
    this.#operations = new Operations(queue, clock, {
      ...(onError === undefined ? undefined : { onDefect: onError }),
      ...options,
    })
  }

  /** What is wrong with the queue, the worst first. */
  problems(): Problem[] {
    return this.#figures.problems()
  }

  /** Reads what earlier processes have counted. */
  begin(): Promise<void> {
    return this.#figures.begin()
  }

  /** Resolves when it answers there. @throws the system's error when the port cannot be had */
  listen(place: HttpPlace): Promise<HttpListener> {
    const { tokens, door, version, hostname, onError, clock, place: lies, conversationsOf } = this.#options
    return listenHttp(this.#queue, {
      ...place,
      tokens,
      door,
      figures: this.#figures,
      operations: this.#operations,
      place: lies,
      inspect: this.#inspect,
      conversationsOf,
      version,
      hostname,
      ...(onError === undefined ? undefined : { onError }),
      ...(clock === undefined ? undefined : { clock }),
    })
  }

  /** Counts no more, and writes the day down. Listeners are closed by their owners. */
  end(): Promise<void> {
    return this.#figures.end()
  }
}
