/** The control socket of a running queue, `control` in its directory.
 * Users that may open the queue's files may operate it.
 * Invariant: the socket serves a bounded number of clients, keeps no process alive, and stays
 * behind at the end as after a crash. */
import { createServer } from 'node:net'
import { systemClock, type Clock } from '../base/clock.js'
import { checkOptionNames, integerOption, waitMsMax, type OptionNames } from '../base/options.js'
import { callOptionListener } from '../engine/life/option-listener.js'
import { bindQueueSocket, controlSocket } from '../disk/queue-socket.js'
import { ControlChannel, type ControlStream } from './channel.js'
import { answerLine, requestBytesMax } from './protocol.js'
import { ControlSession, type ControlledQueue, type QueueOwner } from './session.js'
import { Traffic } from './traffic.js'

export interface ControlOptions extends QueueOwner {
  /** Clients at once, 1 … 1000; more are refused for now. Default 16. */
  readonly clientCountMax?: number | undefined
  /** How long a client may leave an answer unread before its connection is closed, milliseconds, up
   * to a day. Default 30 000. */
  readonly stallMs?: number | undefined
  /** The socket could not take a client. */
  readonly onError?: ((error: Error) => void) | undefined
  readonly clock?: Clock | undefined
}

export interface ControlServer {
  /** Closes all connections; to be called when the queue has crashed and the process goes on. */
  close(): void
}

const names: OptionNames<ControlOptions> = {
  onRequest: true,
  onOutcome: true,
  onRefusal: true,
  reload: true,
  retire: true,
  submit: true,
  problems: true,
  clientCountMax: true,
  stallMs: true,
  onError: true,
  clock: true,
}
const clientCountDefault = 16
const stallMsDefault = 30_000

/** Lets the `waybill` command operate a queue that this process has open. Replaces the socket that
 * an earlier process left.
 * @param directory of the queue, whose lock the queue holds
 * @throws WaybillError OPTION_INVALID; DISK_FAILED when the file system has no sockets */
export async function serveControl(
  queue: ControlledQueue,
  directory: string,
  options: ControlOptions = {},
): Promise<ControlServer> {
  const clients = new ControlClients(queue, options)
  const server = createServer((socket) => void clients.serve(socket))
  server.unref()
  await bindQueueSocket(server, directory, controlSocket)
  server.on('error', (error) => callOptionListener('onError', () => options.onError?.(error)))
  return {
    close: () => {
      server.close()
      clients.close()
    },
  }
}

/** The clients of a queue, however they reach it. */
export class ControlClients {
  readonly #queue: ControlledQueue
  readonly #options: ControlOptions
  readonly #clock: Clock
  readonly #clientCountMax: number
  readonly #stallMs: number
  readonly #traffic: Traffic
  readonly #channels = new Set<ControlChannel>()

  /** @throws WaybillError OPTION_INVALID */
  constructor(queue: ControlledQueue, options: ControlOptions) {
    checkOptionNames(options, names)
    const { clock = systemClock, clientCountMax = clientCountDefault, stallMs = stallMsDefault } = options
    this.#clientCountMax = integerOption('clientCountMax', clientCountMax, 1, 1000)
    this.#stallMs = integerOption('stallMs', stallMs, 1, waitMsMax)
    this.#queue = queue
    this.#options = options
    this.#clock = clock
    this.#traffic = new Traffic(queue, clock)
  }

  /** Settles when the client has left. */
  async serve(stream: ControlStream): Promise<void> {
    const channel = new ControlChannel(stream, {
      lineBytesMax: requestBytesMax,
      clock: this.#clock,
      stallMs: this.#stallMs,
    })
    if (this.#channels.size >= this.#clientCountMax) {
      const message = `the relay serves ${this.#clientCountMax} control clients already`
      await channel.send(answerLine({ kind: 'error', code: 'QUEUE_LOCKED', message }))
      return channel.end()
    }
    this.#channels.add(channel)
    const session = new ControlSession(channel, this.#queue, this.#traffic, this.#clock, this.#options)
    await session.run()
    this.#channels.delete(channel)
  }

  close(): void {
    for (const channel of this.#channels) channel.destroy()
  }
}
