/** The connections of the HTTP server, so that no client has more than its bounded share.
 * Invariant: there are at most `countMax`. One too many takes the place of the one that has been
 * idle for longest, and is dropped itself when all others have a request under way. A client that
 * sends its next request before it has the answer to the one before is dropped: each costs it a
 * turn. So is one that is silent, except while it waits for us. One that has closed its half of the
 * connection gets its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import type { Clock } from '../../base/clock.js'

/** A client that has closed its half may wait for an answer, or may have left: what only reads, and
 * has no whole answer yet (a stream, a search of all files), goes on for so long. */
const lastReadMs = 1000

export class Connections {
  readonly #countMax: number
  readonly #clock: Clock
  readonly #all = new Map<string, Socket>()
  /** Without a request under way, the longest first. */
  readonly #idle = new Set<string>()
  readonly #underWay = new Map<string, Exchange>()
  #left: (() => void) | undefined

  constructor(countMax: number, clock: Clock) {
    this.#countMax = countMax
    this.#clock = clock
  }

  get count(): number {
    return this.#all.size
  }

  watch(server: Server): void {
    // Node's types lack it. Without it a request ends with the half of its client.
    Object.assign(server, { httpAllowHalfOpen: true })
    server.on('connection', (socket: Socket) => this.#opened(socket))
    server.on('secureConnection', (socket: Socket) => this.#secured(socket))
    server.on('timeout', (socket: Socket) => this.#silent(socket))
  }

  /** A request has come. @returns for `ends`; undefined when the connection was dropped for it */
  begins(request: IncomingMessage, response: ServerResponse): string | undefined {
    const { socket } = request
    const key = keyOf(socket)
    if (this.#idle.delete(key)) {
      this.#underWay.set(key, { request, response })
      return key
    }
    socket.destroy()
    return undefined
  }

  /** It is answered, or nobody waits for that any more. */
  ends(key: string): void {
    this.#underWay.delete(key)
    if (this.#all.has(key)) this.#idle.add(key)
  }

  /** They end with their answers from now on. */
  get isLeaving(): boolean {
    return this.#left !== undefined
  }

  /** The server takes no more connections. Settles when those have ended that change something. */
  leave(): Promise<void> {
    return new Promise((resolve) => {
      this.#left = resolve
      for (const [key, socket] of this.#all) {
        const exchange = this.#underWay.get(key)
        if (exchange === undefined || !changes(exchange)) socket.destroy()
      }
      if (this.#all.size === 0) resolve()
    })
  }

  closeAll(): void {
    for (const socket of this.#all.values()) socket.destroy()
  }

  /** With TLS only the socket above the connection's says that its client has closed its half. A
   * client that does so within the handshake has left. */
  #secured(socket: Socket): void {
    socket.allowHalfOpen = true
    socket.once('end', () => this.#halfClosed(socket))
  }

  /** The client sends nothing more. */
  #halfClosed(socket: Socket): void {
    const exchange = this.#underWay.get(keyOf(socket))
    if (exchange === undefined || changes(exchange)) return
    const timer = this.#clock.after(lastReadMs, () => {
      if (!exchange.response.writableEnded) socket.destroy()
    })
    socket.once('close', () => timer.cancel())
  }

  /** For as long as a silent client may be. A slow disk, a verb and a whole log that is verified
   * take longer, and a client that was dropped meanwhile would not learn what it submitted. */
  #silent(socket: Socket): void {
    const exchange = this.#underWay.get(keyOf(socket))
    // The next octet that comes or goes begins the time anew.
    if (exchange === undefined || !isOurTurn(exchange)) socket.destroy()
  }

  #opened(socket: Socket): void {
    // With TLS a request's socket is another object, of the same client's port.
    const key = keyOf(socket)
    this.#all.set(key, socket)
    this.#idle.add(key)
    socket.once('end', () => this.#halfClosed(socket))
    socket.once('close', () => {
      if (this.#all.get(key) !== socket) return
      this.#all.delete(key)
      this.#idle.delete(key)
      this.#underWay.delete(key)
      if (this.#all.size === 0) this.#left?.()
    })
    if (this.#all.size <= this.#countMax) return
    const [idlest] = this.#idle
    this.#all.get(idlest ?? key)?.destroy()
  }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Without an answer its client would make the request again. */
const changes = ({ request: { method } }: Exchange): boolean => method !== 'GET' && method !== 'HEAD'

/** Nothing that the client should send, or read, is missing. */
const isOurTurn = ({ request, response }: Exchange): boolean =>
  (request.complete || request.readableLength > 0) && response.writableLength === 0

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
