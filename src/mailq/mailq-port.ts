/** Answers clients that only look: each connection gets one reading, and is closed.
 * Invariant: nothing that a client sends is read. A client takes a bounded share: `clientCountMax`
 * are served, of which the one that has been there for longest gives way to one too many, and one
 * that has not taken all after `wholeMs` is dropped. All that get the same reading share its bytes.
 * Every client that can connect may read: there is no password. */
import { createServer, type Server, type Socket } from 'node:net'
import { systemClock, type Clock } from '../base/clock.js'
import { answerLine } from '../control/protocol.js'
import { bindQueueSocket, mailqSocket } from '../disk/queue-socket.js'
import { listening, type Listener } from '../relay/listening.js'
import { Readings, type Reading, type ReadQueue } from './reading.js'
import { dumpOf } from './zmailer-dump.js'

export interface MailqOptions {
  readonly clock?: Clock
  /** Milliseconds in which a client takes all; default 60 000. */
  readonly wholeMs?: number
  /** What could not be read, and clients that could not be taken. */
  readonly onError?: (error: unknown) => void
}

export const clientCountMax = 20

type Form = (reading: Reading) => string

/** The lines of a listing over the control socket: `waybill mailq` of users that may not read the
 * queue's files. */
const linesOf: Form = ({ messages, isCut }) =>
  messages.map((message) => answerLine({ kind: 'message', message })).join('') +
  answerLine({ kind: 'result', ...(isCut ? { isCut } : undefined) })

/** ZMailer's MAILQ port. @throws the system's error when the port cannot be had */
export async function listenMailq(
  queue: ReadQueue,
  { host, port }: { readonly host: string; readonly port: number },
  options: MailqOptions = {},
): Promise<Listener> {
  const served = new Clients(queue, dumpOf, options)
  const server = serverFor(served)
  const bound = await listening(server, host, port)
  server.on('error', (error) => options.onError?.(error))
  return { ...bound, close: () => closed(server, served) }
}

/** The socket `mailq` in a queue's directory, for all users that may look into it. The caller holds
 * the queue's lock. @returns what closes it @throws WaybillError DISK_FAILED, DISK_FULL */
export async function answerForMailq(
  queue: ReadQueue,
  directory: string,
  options: MailqOptions = {},
): Promise<() => void> {
  const served = new Clients(queue, linesOf, options)
  const server = serverFor(served)
  server.unref()
  await bindQueueSocket(server, directory, mailqSocket)
  server.on('error', (error) => options.onError?.(error))
  return () => closed(server, served)
}

function serverFor(served: Clients): Server {
  const server = createServer({ pauseOnConnect: true }, (socket) => served.take(socket))
  server.maxConnections = 2 * clientCountMax
  return server
}

function closed(server: Server, served: Clients): void {
  server.close()
  served.drop()
}

class Clients {
  /** Those that have been there for longest first. */
  readonly #sockets = new Set<Socket>()
  readonly #readings: Readings
  readonly #form: Form
  readonly #options: Required<Omit<MailqOptions, 'onError'>>
  readonly #bytes = new WeakMap<Reading, Buffer>()

  constructor(queue: ReadQueue, form: Form, options: MailqOptions) {
    const { clock = systemClock, wholeMs = 60_000, onError } = options
    this.#options = { clock, wholeMs }
    this.#form = form
    this.#readings = new Readings(queue, clock, (error) => onError?.(error))
  }

  take(socket: Socket): void {
    const { clock, wholeMs } = this.#options
    this.#sockets.add(socket)
    const timer = clock.after(wholeMs, () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      this.#sockets.delete(socket)
      timer.cancel()
    })
    const [first] = this.#sockets
    if (this.#sockets.size > clientCountMax) first?.destroy()
    void this.#readings.read().then((reading) => {
      socket.write(this.#bytesOf(reading))
      socket.destroySoon()
    })
  }

  drop(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #bytesOf(reading: Reading): Buffer {
    const known = this.#bytes.get(reading)
    if (known !== undefined) return known
    const bytes = Buffer.from(this.#form(reading))
    this.#bytes.set(reading, bytes)
    return bytes
  }
}
