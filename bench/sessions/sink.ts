/** A server that says when each message was there, by its field `X-Bench`, and for how many
 * recipients. It greets at once:
 * smtp-server waits for 100 ms, which would be most of what is measured. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { TLSSocket } from 'node:tls'

const idOf = /^X-Bench: (\d+)\r$/m
/** As nearly every server has them. */
const extensions = '250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n'
const endOfData = '\r\n.\r\n'
/** A header with its signature is shorter. */
const headerCharactersMax = 4000

export interface Certificate {
  readonly key: Buffer
  readonly cert: Buffer
}

export class Sink {
  readonly port: number
  /** By the number of the message, by performance.now(). */
  readonly arrivals: ReadonlyMap<number, number>
  /** The number of the next message. */
  next = 1_000_000
  /** Of all messages that are there; a relay may send a message in parts. */
  recipientCount = 0
  /** The header of the last message. */
  lastHeader = ''
  readonly #server: Server
  readonly #sockets: ReadonlySet<Socket>

  private constructor(server: Server, arrivals: ReadonlyMap<number, number>, sockets: ReadonlySet<Socket>) {
    this.#server = server
    this.arrivals = arrivals
    this.#sockets = sockets
    this.port = (server.address() as AddressInfo).port
  }

  /** @param certificate with it the server takes mail over TLS alone */
  static async start(
    certificate?: Certificate,
    { host, port }: { readonly host: string; readonly port: number } = { host: '127.0.0.1', port: 0 },
  ): Promise<Sink> {
    const arrivals = new Map<number, number>()
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
      socket.setNoDelay(true).write('220 sink\r\n')
      serve(socket, certificate, (text, recipientCount) => {
        const header = text.slice(0, headerCharactersMax)
        arrivals.set(Number(idOf.exec(header)?.[1]), performance.now())
        sink.recipientCount += recipientCount
        sink.lastHeader = header
      })
    }).listen(port, host)
    await once(server, 'listening')
    const sink = new Sink(server, arrivals, sockets)
    return sink
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** @param certificate to go on with over TLS; without, mail is taken */
function serve(
  socket: Socket,
  certificate: Certificate | undefined,
  arrived: (text: string, recipientCount: number) => void,
): void {
  let text = ''
  let lookedUntil = 0
  let isData = false
  let recipientCount = 0
  const step = (end: string): string | undefined => {
    // Behind what was looked at before: data come in many pieces.
    const at = text.indexOf(end, Math.max(0, lookedUntil - end.length))
    lookedUntil = at < 0 ? text.length : 0
    if (at < 0) return undefined
    const part = text.slice(0, at)
    text = text.slice(at + end.length)
    return part
  }
  const answered = (): boolean => {
    const part = step(isData ? endOfData : '\r\n')
    if (part === undefined) return false
    if (isData) arrived(part, recipientCount)
    const word = isData ? '' : part.slice(0, 8).trim().toUpperCase()
    recipientCount = word.startsWith('MAIL') ? 0 : recipientCount + Number(word.startsWith('RCPT'))
    isData = word === 'DATA' && certificate === undefined
    if (word === 'STARTTLS' && certificate !== undefined) {
      socket.off('data', hear).write('220 begin\r\n')
      const secure = new TLSSocket(socket, { isServer: true, ...certificate })
      secure.on('error', () => socket.destroy())
      serve(secure, undefined, arrived)
      return false
    }
    if (word === 'QUIT') socket.end('221 bye\r\n')
    else if (isData) socket.write('354 go on\r\n')
    else if (certificate === undefined) socket.write(word.startsWith('EHLO') ? extensions : '250 fine\r\n')
    else
      socket.write(word.startsWith('EHLO') ? '250-sink\r\n250 STARTTLS\r\n' : '530 5.7.0 STARTTLS first\r\n')
    return true
  }
  const hear = (piece: Buffer): void => {
    text += piece.toString('latin1')
    while (answered());
  }
  socket.on('data', hear)
}
