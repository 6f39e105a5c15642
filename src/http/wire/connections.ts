/** The connections of the HTTP server, so that no client has more than its bounded share.
 * Invariant: there are at most `countMax`. One too many takes the place of the one that has been
 * idle for longest, and is dropped itself when all others have a request under way. A client that
 * sends its next request before it has the answer to the one before is dropped: each costs it a
 * turn. */
import type { Server, Socket } from 'node:net'

export class Connections {
  readonly #countMax: number
  readonly #all = new Map<string, Socket>()
  /** Without a request under way, the longest first. */
  readonly #idle = new Set<string>()

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  get count(): number {
    return this.#all.size
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#opened(socket))
  }

  /** A request has come. @returns for `ends`; undefined when the connection was dropped for it */
  begins(socket: Socket): string | undefined {
    const key = keyOf(socket)
    if (this.#idle.delete(key)) return key
    socket.destroy()
    return undefined
  }

  /** It is answered, or nobody waits for that any more. */
  ends(key: string): void {
    if (this.#all.has(key)) this.#idle.add(key)
  }

  closeAll(): void {
    for (const socket of this.#all.values()) socket.destroy()
  }

  #opened(socket: Socket): void {
    // With TLS a request's socket is another object, of the same client's port.
    const key = keyOf(socket)
    this.#all.set(key, socket)
    this.#idle.add(key)
    socket.once('close', () => {
      if (this.#all.get(key) !== socket) return
      this.#all.delete(key)
      this.#idle.delete(key)
    })
    if (this.#all.size <= this.#countMax) return
    const [idlest] = this.#idle
    this.#all.get(idlest ?? key)?.destroy()
  }
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
