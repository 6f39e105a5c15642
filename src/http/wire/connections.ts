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
  /** With one under way that changes something. */
  readonly #changing = new Set<string>()
  #left: (() => void) | undefined

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  get count(): number {
    return this.#all.size
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#opened(socket))
  }

  /** A request has come. @param changes its client would make it again without an answer
   * @returns for `ends`; undefined when the connection was dropped for it */
  begins(socket: Socket, changes: boolean): string | undefined {
    const key = keyOf(socket)
    if (this.#idle.delete(key)) {
      if (changes) this.#changing.add(key)
      return key
    }
    socket.destroy()
    return undefined
  }

  /** It is answered, or nobody waits for that any more. */
  ends(key: string): void {
    this.#changing.delete(key)
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
      for (const [key, socket] of this.#all) if (!this.#changing.has(key)) socket.destroy()
      if (this.#all.size === 0) resolve()
    })
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
      this.#changing.delete(key)
      if (this.#all.size === 0) this.#left?.()
    })
    if (this.#all.size <= this.#countMax) return
    const [idlest] = this.#idle
    this.#all.get(idlest ?? key)?.destroy()
  }
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
