/** Serves one client of the control socket, one request after the other.
 * Invariant: when the client leaves, or sends `stop`, its request is stopped; the session ends only
 * after that. The connection of a client that sends nothing, reads nothing or sends rubbish is
 * closed, without effect on others. */
import { pause, type Clock } from '../base/clock.js'
import { thrownText } from '../base/realms.js'
import { callOptionListener, warnOfListener } from '../engine/life/option-listener.js'
import { isWaybillError, WaybillError } from '../errors.js'
import { carriedOut, type ControlledQueue } from './controlled-queue.js'
import type { ControlChannel } from './channel.js'
import {
  answerLine,
  readRequest,
  type ControlAnswer,
  type ControlRequest,
  type ReloadedFile,
  type Sample,
  type SubmitRequest,
  type ToldProblem,
  type VerbOutcome,
  type VerbRequest,
} from './protocol.js'
import { Submissions, type TakingQueue } from './submissions.js'
import type { Traffic } from './traffic.js'
import type { VerbResult } from '../admin/verbs/tally.js'

export type { ControlledQueue }

/** A listener for requests. */
export interface SessionWitness {
  /** A request is being carried out; of a verb, when it reaches its first message. A request
   * refused before that has `onRefusal` alone. */
  readonly onRequest?: (request: ControlRequest) => void
  /** A verb has ended. */
  readonly onOutcome?: (request: VerbRequest, outcome: VerbOutcome) => void
  /** A request ended with an error. */
  readonly onRefusal?: (request: ControlRequest, error: WaybillError) => void
}

/** The program that has the queue open. */
export interface QueueOwner extends SessionWitness {
  /** Reads its files again, and applies all or none of them. Default: there are none.
   * @throws WaybillError OPTION_INVALID */
  readonly reload?: () => Promise<readonly ReloadedFile[]>
  /** Takes no mail from now on; settles when all that was taken is durable. Default: the
   * request is refused. */
  readonly retire?: () => Promise<void>
  /** Takes what clients submit. Default: the queue does. */
  readonly submit?: TakingQueue['submit']
  /** What is wrong with the queue, the worst first. Default: clients judge by its figures. */
  readonly problems?: () => readonly ToldProblem[]
}

/** How long a client may take to ask. */
const requestWaitMs = 10_000
/** The same for a client that submits mail, which may come slowly. */
const submitWaitMs = 600_000
/** Least time between two reports of progress. */
const progressMs = 100

const nothingDone: VerbResult = { messageCount: 0, recipientCount: 0, missedCount: 0, failedCount: 0 }

export class ControlSession {
  readonly #channel: ControlChannel
  readonly #queue: ControlledQueue
  readonly #traffic: Traffic
  readonly #clock: Clock
  readonly #owner: QueueOwner
  readonly #submissions: Submissions

  constructor(
    channel: ControlChannel,
    queue: ControlledQueue,
    traffic: Traffic,
    clock: Clock,
    owner: QueueOwner,
  ) {
    this.#channel = channel
    this.#queue = queue
    this.#traffic = traffic
    this.#clock = clock
    this.#owner = owner
    const { submit } = owner
    const taking: Partial<TakingQueue> =
      submit === undefined ? queue : { submit: (mail) => answerOf('submit', () => submit(mail)) }
    this.#submissions = new Submissions(taking, (answer) => this.#answer(answer))
  }

  /** Settles when the client has left and its requests have ended. */
  async run(): Promise<void> {
    let upcoming = this.#channel.next()
    for (;;) {
      const silence = this.#clock.after(this.#submissions.hasAny ? submitWaitMs : requestWaitMs, () =>
        this.#channel.destroy(),
      )
      const line = await upcoming
      silence.cancel()
      if (line === undefined) return this.#leave()
      upcoming = this.#channel.next()
      const request = await this.#understood(line)
      if (request === undefined) return this.#channel.end()
      // Too late: the request has ended.
      if (request.do === 'stop') continue
      if (request.do === 'submit') {
        await this.#submissions.take(request)
        continue
      }
      await this.#submissions.ended()
      const stop = new AbortController()
      void upcoming.then((next) => {
        if (next === undefined || isStop(next)) stop.abort()
      })
      try {
        await this.#perform(request, stop.signal)
      } catch (error) {
        if (!isWaybillError(error)) throw error
        callOptionListener('onRefusal', () => this.#owner.onRefusal?.(request, error))
        await this.#fail(error)
      }
    }
  }

  async #leave(): Promise<void> {
    await this.#submissions.ended()
    const { error } = this.#channel
    if (isWaybillError(error)) await this.#fail(error)
    this.#channel.end()
  }

  /** @returns undefined if it is invalid; the client got an error */
  async #understood(line: string): Promise<ControlRequest | undefined> {
    try {
      return readRequest(line)
    } catch (error) {
      if (!isWaybillError(error)) throw error
      await this.#fail(error)
      return undefined
    }
  }

  async #perform(request: Exclude<ControlRequest, SubmitRequest>, stop: AbortSignal): Promise<void> {
    if (!isVerb(request)) this.#tellRequest(request)
    switch (request.do) {
      case 'list':
        for await (const message of this.#queue.list(request.selector, { signal: stop })) {
          if (stop.aborted) break
          await this.#answer({ kind: 'message', message })
        }
        return this.#answer({ kind: 'result' })
      case 'destinations':
        for (const destination of this.#queue.destinations()) {
          if (stop.aborted) break
          await this.#answer({ kind: 'destination', destination })
        }
        return this.#answer({ kind: 'result' })
      case 'routes': {
        const routes = this.#queue.routesOf(request.recipients).map((route) => route ?? null)
        return this.#answer({ kind: 'routes', routes })
      }
      case 'written':
        await this.#queue.written()
        return this.#answer({ kind: 'result' })
      case 'resume':
        return this.#answer({
          kind: 'result',
          resumed: this.#queue.resume(request.transport, request.name),
        })
      case 'suspend': {
        const { do: _, forMs, ...target } = request
        await this.#queue.suspend(target, { forMs })
        return this.#answer({ kind: 'result', suspended: true })
      }
      case 'unsuspend': {
        const { do: _, ...target } = request
        return this.#answer({ kind: 'result', resumed: await this.#queue.unsuspend(target) })
      }
      case 'slow': {
        const { do: _, ...options } = request
        this.#queue.slow(options)
        return this.#answer({ kind: 'result', slowed: true })
      }
      case 'reload':
        return this.#answer({ kind: 'result', reloaded: await this.#reloaded() })
      case 'retire':
        if (this.#owner.retire === undefined)
          throw new WaybillError(
            'OPTION_INVALID',
            'the program that has this queue open cannot close its door',
            {
              option: 'retire',
            },
          )
        await answerOf('retire', this.#owner.retire)
        return this.#answer({ kind: 'result' })
      case 'pin':
        return this.#pin(stop)
      case 'watch':
        return this.#watch(request.intervalMs, stop)
      case 'stop':
        return
      case 'hold':
      case 'release':
      case 'requeue':
      case 'delete':
      case 'expire':
      case 'flush':
      case 'reroute':
        return this.#verb(request, stop)
    }
  }

  async #verb(request: VerbRequest, stop: AbortSignal): Promise<void> {
    let soFar = nothingDone
    let toldAt = -Infinity
    let hasBegun = false
    const begin = (): void => {
      if (!hasBegun) this.#tellRequest(request)
      hasBegun = true
    }
    const onProgress = (counts: VerbResult): void => {
      begin()
      soFar = counts
      const nowMs = this.#clock.monotonicMs()
      // A client that does not read misses it: the next counts are as good.
      if (nowMs - toldAt < progressMs || this.#channel.isFull) return
      toldAt = nowMs
      void this.#answer({ kind: 'progress', counts })
    }
    const end = (outcome: VerbOutcome): Promise<void> => {
      begin()
      callOptionListener('onOutcome', () => this.#owner.onOutcome?.(request, outcome))
      return this.#answer({ kind: 'result', outcome })
    }
    try {
      const counts = await carriedOut(this.#queue, request, { signal: stop, onProgress })
      await end({ ...counts, stopped: false })
    } catch (error) {
      if (isWaybillError(error, 'VERB_ABORTED')) return end({ ...soFar, stopped: true })
      // Damage ends it after everything else.
      if (hasBegun) await this.#answer({ kind: 'progress', counts: soFar })
      throw error
    }
  }

  async #reloaded(): Promise<readonly ReloadedFile[]> {
    const { reload } = this.#owner
    return reload === undefined ? [] : answerOf('reload', reload)
  }

  /** Until the client has copied what it wants, or the files cannot be kept any longer. */
  async #pin(stop: AbortSignal): Promise<void> {
    const pinned = await this.#queue.pinFiles()
    const { journalEnd, lost } = pinned
    try {
      await this.#answer({ kind: 'pinned', journalEnd })
      await new Promise<void>((resolve) => {
        for (const signal of [stop, lost])
          if (signal.aborted) resolve()
          else signal.addEventListener('abort', () => resolve(), { once: true })
      })
      lost.throwIfAborted()
    } finally {
      pinned.release()
    }
    await this.#answer({ kind: 'result' })
  }

  async #watch(intervalMs: number, stop: AbortSignal): Promise<void> {
    const leave = this.#traffic.watch()
    try {
      while (!stop.aborted) {
        await this.#answer({ kind: 'sample', sample: { ...this.#traffic.sample(), ...(await this.#told()) } })
        await pause(this.#clock, intervalMs, stop)
      }
    } finally {
      leave()
    }
    await this.#answer({ kind: 'result' })
  }

  async #told(): Promise<Pick<Sample, 'problems'>> {
    const { problems } = this.#owner
    if (problems === undefined) return {}
    const told = (): ToldProblem[] => problems().map(({ code, severity, text }) => ({ code, severity, text }))
    return { problems: await answerOf('problems', async () => told()) }
  }

  #tellRequest(request: ControlRequest): void {
    callOptionListener('onRequest', () => this.#owner.onRequest?.(request))
  }

  #answer(answer: ControlAnswer): Promise<void> {
    return this.#channel.send(answerLine(answer))
  }

  #fail({ code, message }: WaybillError): Promise<void> {
    return this.#answer({ kind: 'error', code, message })
  }
}

const isVerb = (request: ControlRequest): request is VerbRequest =>
  'selector' in request && request.do !== 'list'

function isStop(line: string): boolean {
  try {
    return readRequest(line).do === 'stop'
  } catch {
    // It is answered when its turn comes.
    return false
  }
}

/** Of the owner's program. Its mistakes are for the client, too, and end nothing.
 * @throws WaybillError of the program; OPTION_INVALID with what else it throws */
async function answerOf<T>(name: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (isWaybillError(error)) throw error
    warnOfListener(name, error)
    throw new WaybillError(
      'OPTION_INVALID',
      `'${name}' failed: ${thrownText(error)}`,
      { option: name },
      error,
    )
  }
}
