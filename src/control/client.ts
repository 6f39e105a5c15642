/** Operating a queue that another process has open, through its control socket.
 * Invariant: every result comes from the relay. If the connection is lost first, the error is
 * QUEUE_CRASHED: the request may or may not have been carried out. Requests follow one another;
 * leaving a listing early ends the connection. */
import { position } from '../base/position.js'
import type { PinnedFiles } from '../engine/checkpoint/pinned-files.js'
import { systemClock } from '../base/clock.js'
import type { Route } from '../engine/life/options.js'
import { connectQueueSocket, controlSocket } from '../disk/queue-socket.js'
import type { ListedMessage } from '../admin/select/listing.js'
import type { Selector } from '../admin/select/selector.js'
import { WaybillError } from '../errors.js'
import type { DestinationSnapshot } from '../scheduler/scheduler.js'
import type { SlowOptions } from '../admin/verbs/slow.js'
import type { SuspendOptions } from '../admin/verbs/suspend.js'
import type { SuspensionTarget } from '../engine/life/suspensions.js'
import { loadStore } from '../store/load-store.js'
import { isStoreUrl } from '../store/is-store-url.js'
import { ControlChannel, type ControlStream } from './channel.js'
import {
  answerBytesMax,
  readAnswer,
  requestBytesMax,
  requestLine,
  type ControlAnswer,
  type ControlRequest,
  type ReloadedFile,
  type Sample,
  type VerbOutcome,
  type VerbRequest,
} from './protocol.js'
import { callOwner } from './store-client.js'
import type { VerbOptions } from '../admin/verbs/tally.js'

const stallMs = 30_000
/** After so long without an answer, another connection asks whether the relay lives, and waits as
 * long for a reply. */
export interface Patience {
  readonly silenceMs: number
  readonly aliveMs: number
}
const patienceDefault: Patience = { silenceMs: 20_000, aliveMs: 5000 }

type SubmittedAnswer = Extract<ControlAnswer, { kind: 'submitted' }>

interface Asker {
  readonly resolve: (answer: SubmittedAnswer) => void
  readonly reject: (error: unknown) => void
}

export class ControlClient {
  readonly #channel: ControlChannel
  readonly #reach: () => Promise<ControlStream | undefined>
  readonly #place: WaybillError['place']
  readonly #patience: Patience
  readonly #submitting = new Map<number, Asker>()
  #submittedCount = 0

  private constructor(
    channel: ControlChannel,
    reach: () => Promise<ControlStream | undefined>,
    place: WaybillError['place'],
    patience: Patience,
  ) {
    this.#channel = channel
    this.#reach = reach
    this.#place = place
    this.#patience = patience
  }

  /** @param place a directory, or the URL of a queue in a store
   * @returns undefined if no relay runs there
   * @throws WaybillError QUEUE_LOCKED if it has too many clients, DISK_FAILED if this user may not,
   * STORE_UNREACHABLE */
  static connect(place: string, patience: Patience = patienceDefault): Promise<ControlClient | undefined> {
    return ControlClient.over(() => connectOwner(place), isStoreUrl(place) ? {} : { path: place }, patience)
  }

  /** @param reach makes a connection to the relay; undefined: there is none */
  static async over(
    reach: () => Promise<ControlStream | undefined>,
    place: WaybillError['place'],
    patience: Patience = patienceDefault,
  ): Promise<ControlClient | undefined> {
    const stream = await reach()
    if (stream === undefined) return undefined
    const bounds = { lineBytesMax: answerBytesMax, clock: systemClock, stallMs }
    return new ControlClient(new ControlChannel(stream, bounds), reach, place, patience)
  }

  /** @param signal asks the relay to stop; then the outcome has the counts so far
   * @throws WaybillError as the queue's verb does */
  async verb(request: VerbRequest, { signal, onProgress }: VerbOptions = {}): Promise<VerbOutcome> {
    const stop = (): void => void this.#channel.send(requestLine({ do: 'stop' }))
    await this.#ask(request)
    if (signal?.aborted === true) stop()
    signal?.addEventListener('abort', stop)
    try {
      for (;;) {
        const answer = await this.#answer()
        if (answer.kind === 'progress') onProgress?.(answer.counts)
        else if (answer.kind === 'result' && answer.outcome !== undefined) return answer.outcome
        else throw unexpected(answer)
      }
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  /** Many may be under way at once; nothing else may be asked meanwhile.
   * @throws WaybillError as the queue's submit does */
  async submit({ data, ...submission }: { readonly data: Buffer }): Promise<SubmittedAnswer> {
    const number = this.#submittedCount++
    const request = { ...submission, data: data.toString('base64') }
    const line = requestLine({ do: 'submit', number, submission: request })
    if (Buffer.byteLength(line) > requestBytesMax)
      throw new WaybillError('MESSAGE_TOO_LARGE', `${data.length} bytes are too many for the control socket`)
    const answered = new Promise<SubmittedAnswer>((resolve, reject) =>
      this.#submitting.set(number, { resolve, reject }),
    )
    void this.#channel.send(line)
    if (this.#submitting.size === 1) void this.#takeAnswers()
    return answered
  }

  async #takeAnswers(): Promise<void> {
    try {
      while (this.#submitting.size > 0) {
        const answer = await this.#answer()
        if (answer.kind !== 'submitted' && answer.kind !== 'refused') throw unexpected(answer)
        const asker = this.#submitting.get(answer.number)
        this.#submitting.delete(answer.number)
        if (answer.kind === 'submitted') asker?.resolve(answer)
        else asker?.reject(new WaybillError(answer.code, answer.message))
      }
    } catch (error) {
      for (const { reject } of this.#submitting.values()) reject(error)
      this.#submitting.clear()
    }
  }

  async *list(selector: Selector): AsyncGenerator<ListedMessage> {
    for await (const answer of this.#answers({ do: 'list', selector })) {
      if (answer.kind !== 'message') throw unexpected(answer)
      yield answer.message
    }
  }

  async *destinations(): AsyncGenerator<DestinationSnapshot> {
    for await (const answer of this.#answers({ do: 'destinations' })) {
      if (answer.kind !== 'destination') throw unexpected(answer)
      yield answer.destination
    }
  }

  /** Where mail to these would go now. @param recipients at most `routesMax` */
  async routes(recipients: readonly string[]): Promise<readonly (Route | undefined)[]> {
    await this.#ask({ do: 'routes', recipients })
    const answer = await this.#answer()
    if (answer.kind !== 'routes') throw unexpected(answer)
    return recipients.map((_, index) => answer.routes[index] ?? undefined)
  }

  /** Settles when all that has happened by now stands in the queue's files. */
  async written(): Promise<void> {
    await this.#ask({ do: 'written' })
    const answer = await this.#answer()
    if (answer.kind !== 'result') throw unexpected(answer)
  }

  /** @returns false if there was nothing to resume */
  async resume(transport: string, name: string): Promise<boolean> {
    return this.#resumed({ do: 'resume', transport, name })
  }

  /** Settles when it is durable. @throws WaybillError as the queue's suspend */
  async suspend(target: SuspensionTarget, { forMs }: SuspendOptions = {}): Promise<void> {
    await this.#ask({ do: 'suspend', ...target, forMs })
    const answer = await this.#answer()
    if (answer.kind !== 'result' || answer.suspended === undefined) throw unexpected(answer)
  }

  /** @returns false if it was not suspended @throws WaybillError as the queue's unsuspend */
  unsuspend(target: SuspensionTarget): Promise<boolean> {
    return this.#resumed({ do: 'unsuspend', ...target })
  }

  /** @throws WaybillError as the queue's slow */
  async slow(options: SlowOptions): Promise<void> {
    await this.#ask({ do: 'slow', ...options })
    const answer = await this.#answer()
    if (answer.kind !== 'result' || answer.slowed === undefined) throw unexpected(answer)
  }

  async #resumed(request: ControlRequest): Promise<boolean> {
    await this.#ask(request)
    const answer = await this.#answer()
    if (answer.kind !== 'result' || answer.resumed === undefined) throw unexpected(answer)
    return answer.resumed
  }

  /** @returns what was applied @throws WaybillError OPTION_INVALID for a wrong file; then
   * nothing was applied */
  async reload(): Promise<readonly ReloadedFile[]> {
    await this.#ask({ do: 'reload' })
    const answer = await this.#answer()
    if (answer.kind !== 'result' || answer.reloaded === undefined) throw unexpected(answer)
    return answer.reloaded
  }

  /** The relay takes no mail any more, and delivers what it has; settles when all that it took
   * before is durable. */
  async retire(): Promise<void> {
    await this.#ask({ do: 'retire' })
    const answer = await this.#answer()
    if (answer.kind !== 'result') throw unexpected(answer)
  }

  /** Has the relay keep all files for a copy. Nothing else can be asked until it is released.
   * @throws WaybillError DISK_FULL, QUEUE_CRASHED */
  async pin(): Promise<PinnedFiles> {
    await this.#ask({ do: 'pin' })
    const answer = await this.#answer()
    if (answer.kind !== 'pinned') throw unexpected(answer)
    const lost = new AbortController()
    let isReleased = false
    const ended = this.#answer().then((end) => {
      if (end.kind !== 'result' || !isReleased) throw unexpected(end)
    })
    ended.catch((error: unknown) => isReleased || lost.abort(error))
    return {
      journalEnd: position(answer.journalEnd),
      lost: lost.signal,
      // Only the relay knows: its answer may be on the way.
      confirm: async () => {
        isReleased = true
        await this.#ask({ do: 'stop' })
        await ended
      },
      release: () => {
        isReleased = true
        this.close()
      },
    }
  }

  /** Samples for ever. @param intervalMs 100 … 60 000 */
  async *watch(intervalMs: number): AsyncGenerator<Sample> {
    for await (const answer of this.#answers({ do: 'watch', intervalMs })) {
      if (answer.kind !== 'sample') throw unexpected(answer)
      yield answer.sample
    }
  }

  close(): void {
    this.#channel.destroy()
  }

  /** All up to the result. */
  async *#answers(request: ControlRequest): AsyncGenerator<ControlAnswer> {
    let isWhole = false
    try {
      await this.#ask(request)
      for (;;) {
        const answer = await this.#answer()
        if (answer.kind === 'result') {
          isWhole = true
          return
        }
        yield answer
      }
    } finally {
      if (!isWhole) this.close()
    }
  }

  #ask(request: ControlRequest): Promise<void> {
    return this.#channel.send(requestLine(request))
  }

  /** A verb may work for long without output; a stopped relay, or one whose event loop hangs,
   * answers no client.
   * @throws WaybillError QUEUE_LOCKED */
  async #line(): Promise<string | undefined> {
    const next = this.#channel.next()
    const { silenceMs, aliveMs } = this.#patience
    for (;;) {
      const first = await within(
        silenceMs,
        next.then((line) => ({ line })),
      )
      if (first !== undefined) return first.line
      if (await answers(this.#reach, aliveMs)) continue
      this.close()
      next.catch(() => undefined)
      throw new WaybillError(
        'QUEUE_LOCKED',
        `the relay has not answered for ${(silenceMs + aliveMs) / 1000} seconds: it is stopped, or hangs`,
        this.#place,
      )
    }
  }

  async #answer(): Promise<ControlAnswer> {
    const line = await this.#line()
    if (line === undefined)
      throw new WaybillError('QUEUE_CRASHED', 'the relay has gone away', {}, this.#channel.error)
    const answer = readAnswer(line)
    if (answer.kind === 'error') throw new WaybillError(answer.code, answer.message)
    return answer
  }
}

async function connectOwner(place: string): Promise<ControlStream | undefined> {
  if (!isStoreUrl(place)) return connectQueueSocket(place, controlSocket)
  const { pgStore, storePlaceOf } = await loadStore()
  const { queue } = storePlaceOf(place)
  return queue === undefined ? undefined : callOwner(pgStore(place), queue, systemClock)
}

/** Does the relay answer at all? */
async function answers(reach: () => Promise<ControlStream | undefined>, aliveMs: number): Promise<boolean> {
  const socket = await reach().catch(() => undefined)
  if (socket === undefined) return false
  const answered = new Promise<boolean>((resolve) => {
    socket.once('data', () => resolve(true)).once('close', () => resolve(false))
    socket.on('error', () => undefined).write('?\n')
  })
  const isAlive = await within(aliveMs, answered)
  socket.destroy()
  return isAlive === true
}

/** @returns undefined if it takes longer */
function within<T>(ms: number, result: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = systemClock.after(ms, () => resolve(undefined))
    result.then(resolve, reject).finally(() => timer.cancel())
  })
}

const unexpected = ({ kind }: ControlAnswer): WaybillError =>
  new WaybillError('QUEUE_CRASHED', `unexpected answer '${kind}' of the relay`)
