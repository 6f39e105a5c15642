/** An SMTP session of a bench: says what it is given, and waits for the reply. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** Of several lines the last one has no hyphen. */
const wholeReply = /^(?:\d{3}-[^\n]*\n)*(\d{3}) [^\n]*\n/

const hello = 'EHLO bench.example.org\r\n'

export interface Login {
  readonly name: string
  readonly password: string
}

export class Client {
  #socket: Socket
  #text = ''
  #waiting: { readonly resolve: (code: number) => void; readonly reject: (error: Error) => void } | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#listen()
  }

  /** Greeted and introduced. @param isTls behind STARTTLS, whatever the certificate */
  static async open(port: number, isTls: boolean = false): Promise<Client> {
    const socket = connect(port, '127.0.0.1')
    const client = new Client(socket)
    await once(socket, 'connect')
    await client.#reply(220)
    await client.ask(hello, 250)
    if (isTls) await client.#startTls()
    return client
  }

  /** @param count of the replies that come; lines in `text` are pipelined
   * @throws Error for another reply than this */
  async ask(text: string, code: number, count: number = 1): Promise<void> {
    this.#socket.write(text)
    for (let i = 0; i < count; i++) await this.#reply(code)
  }

  async login({ name, password }: Login): Promise<void> {
    await this.ask(
      `AUTH PLAIN ${Buffer.from(`\0${name}\0${password}`, 'latin1').toString('base64')}\r\n`,
      235,
    )
  }

  async #startTls(): Promise<void> {
    await this.ask('STARTTLS\r\n', 220)
    this.#socket.removeAllListeners('data')
    this.#socket = connectTls({ socket: this.#socket, rejectUnauthorized: false })
    this.#listen()
    await once(this.#socket, 'secureConnect')
    await this.ask(hello, 250)
  }

  #listen(): void {
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (piece: Buffer) => {
      this.#text += piece.toString('latin1')
      this.#answer()
    })
    this.#socket.on('error', (error) => this.#waiting?.reject(error))
    this.#socket.on('close', () => this.#waiting?.reject(new Error('the relay has closed the session')))
  }

  close(): void {
    this.#socket.destroy()
  }

  async #reply(wanted: number): Promise<void> {
    const code = await new Promise<number>((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#answer()
    })
    if (code !== wanted) throw new Error(`the relay said ${code}, and not ${wanted}`)
  }

  #answer(): void {
    const match = this.#waiting === undefined ? null : wholeReply.exec(this.#text)
    if (match === null) return
    this.#text = this.#text.slice(match[0].length)
    const { resolve } = this.#waiting!
    this.#waiting = undefined
    resolve(Number(match[1]))
  }
}
