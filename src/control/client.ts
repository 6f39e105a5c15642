/** Operating a queue that another process has open, through its control socket.
 * Invariant: what a method returns was said by the relay. When the connection is lost first, the error is QUEUE_CRASHED: what was asked
 * may or may not have been done. Requests follow one another; leaving a listing early ends the connection. */
import { systemClock } from '../base/clock.js'
import { connectQueueSocket, controlSocket } from '../disk/queue-socket.js'
import type { ListedMessage } from '../admin/select/listing.js'
import type { Selector } from '../admin/select/selector.js'
import { WaybillError } from '../errors.js'
import type { DestinationSnapshot } from '../scheduler/scheduler.js'
import { ControlChannel } from './channel.js'
import {
  answerBytesMax,
  readAnswer,
  requestLine,
  type ControlAnswer,
  type ControlRequest,
  type ReloadedFile,
  type Sample,
  type VerbOutcome,
  type VerbRequest,
} from './protocol.js'
import type { VerbOptions } from '../admin/verbs/tally.js'

const stallMs = 30_000

export class ControlClient {
  readonly #channel: ControlChannel

  private constructor(channel: ControlChannel) {
    this.#channel = channel
  }

  /** @returns undefined when no relay runs there
   * @throws WaybillError QUEUE_LOCKED when it has too many clients, DISK_FAILED when this user may not */
  static async connect(directory: string): Promise<ControlClient | undefined> {
    const socket = await connectQueueSocket(directory, controlSocket)
    if (socket === undefined) return undefined
    const bounds = { lineBytesMax: answerBytesMax, clock: systemClock, stallMs }
    return new ControlClient(new ControlChannel(socket, bounds))
  }

  /** @param options `signal` asks the relay to stop; then the outcome says how far it came
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

  /** @returns false when there was nothing to resume */
  async resume(transport: string, name: string): Promise<boolean> {
    await this.#ask({ do: 'resume', transport, name })
    const answer = await this.#answer()
    if (answer.kind !== 'result' || answer.resumed === undefined) throw unexpected(answer)
    return answer.resumed
  }

  /** @returns what was taken up @throws WaybillError OPTION_INVALID when something is wrong with a file, and nothing was */
  async reload(): Promise<readonly ReloadedFile[]> {
    await this.#ask({ do: 'reload' })
    const answer = await this.#answer()
    if (answer.kind !== 'result' || answer.reloaded === undefined) throw unexpected(answer)
    return answer.reloaded
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

  async #answer(): Promise<ControlAnswer> {
    const line = await this.#channel.next()
    if (line === undefined)
      throw new WaybillError('QUEUE_CRASHED', 'the relay has gone away', {}, this.#channel.error)
    const answer = readAnswer(line)
    if (answer.kind === 'error') throw new WaybillError(answer.code, answer.message)
    return answer
  }
}

const unexpected = ({ kind }: ControlAnswer): WaybillError =>
  new WaybillError('QUEUE_CRASHED', `the relay answered with '${kind}', which was not asked for`)
