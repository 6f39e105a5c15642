/** A server that says when each message was there, by its field `X-Bench`. It greets at once:
 * smtp-server waits for 100 ms, which would be most of what is measured. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

const idOf = /^X-Bench: (\d+)\r$/m
const endOfData = '\r\n.\r\n'

export class Sink {
  readonly port: number
  /** By the number of the message, by performance.now(). */
  readonly arrivals: ReadonlyMap<number, number>
  /** The number of the next message. */
  next = 1_000_000
  readonly #server: Server
  readonly #sockets: ReadonlySet<Socket>

  private constructor(server: Server, arrivals: ReadonlyMap<number, number>, sockets: ReadonlySet<Socket>) {
    this.#server = server
    this.arrivals = arrivals
    this.#sockets = sockets
    this.port = (server.address() as AddressInfo).port
  }

  static async start(): Promise<Sink> {
    const arrivals = new Map<number, number>()
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
      serve(socket, (text) => arrivals.set(Number(idOf.exec(text)?.[1]), performance.now()))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Sink(server, arrivals, sockets)
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

function serve(socket: Socket, arrived: (text: string) => void): void {
  let text = ''
  let isData = false
  const step = (end: string): string | undefined => {
    const at = text.indexOf(end)
    if (at < 0) return undefined
    const part = text.slice(0, at)
    text = text.slice(at + end.length)
    return part
  }
  const answered = (): boolean => {
    const part = step(isData ? endOfData : '\r\n')
    if (part === undefined) return false
    if (isData) arrived(part)
    const isBegun = !isData && /^DATA$/i.test(part)
    isData = isBegun
    if (/^QUIT$/i.test(part)) socket.end('221 bye\r\n')
    else socket.write(isBegun ? '354 go on\r\n' : '250 fine\r\n')
    return true
  }
  socket.setNoDelay(true).write('220 sink\r\n')
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1')
    while (answered());
  })
}
