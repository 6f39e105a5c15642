/** Many SMTP clients at once, for tests and measurements.
 * A message counts as settled only when its 250 was read. When a connection breaks before that,
 * nobody knows; the message is not sent again, and it may arrive or not. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface LoadMessage {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
}

export interface LoadOptions<Message extends LoadMessage> {
  /** Asked before each connection: a relay may come back elsewhere. */
  readonly target: () => { readonly host: string; readonly port: number }
  /** Clients at once. */
  readonly sessionCount: number
  /** The next message to send; undefined ends the load. */
  readonly next: () => Message | undefined
  /** 250 was read, with the rest of the line. */
  readonly onSettled: (message: Message, reply: string) => void
  /** The message was refused, or the connection broke before an answer. */
  readonly onUnsettled?: (message: Message, reply: string | undefined) => void
  /** Whether a session is used again for the next message; default yes. */
  readonly reuse?: boolean
  /** What a client waits between two messages, milliseconds; default nothing. */
  readonly pauseMs?: number
  /** Ends the load wherever it is. */
  readonly signal?: AbortSignal
}

/** Resolves when `next` has ended for every client. Connections that break are made
 * anew, every 20 ms. */
export async function runLoad<Message extends LoadMessage>(options: LoadOptions<Message>): Promise<void> {
  await Promise.all(Array.from({ length: options.sessionCount }, () => client(options)))
}

async function client<Message extends LoadMessage>(options: LoadOptions<Message>): Promise<void> {
  let session: Session | undefined
  for (let message = options.next(); message !== undefined; message = options.next()) {
    while (session === undefined || session.isOver) {
      if (options.signal?.aborted === true) return
      session = await Session.open(options.target())
      if (session === undefined) await sleep(20)
    }
    const reply = await session.send(message)
    if (reply?.startsWith('250') === true) options.onSettled(message, reply)
    else options.onUnsettled?.(message, reply)
    if (options.reuse === false) session.end()
    if (options.pauseMs !== undefined) await sleep(options.pauseMs)
  }
  session?.end()
}

class Session {
  readonly #socket: Socket
  #input = ''
  #awaited: ((reply: string | undefined) => void) | undefined
  isOver = false

  static open(target: { readonly host: string; readonly port: number }): Promise<Session | undefined> {
    return new Promise((resolve) => {
      const socket = connect(target.port, target.host)
      const session = new Session(socket)
      socket.once('error', () => resolve(undefined))
      socket.once('connect', () => {
        void session.#greeted().then((isGreeted) => resolve(isGreeted ? session : undefined))
      })
    })
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => {
      this.#input += chunk.toString('latin1')
      this.#hand()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isOver = true
      this.#hand()
    })
  }

  /** @returns the reply to the final dot, or to what was refused before; undefined when the
   * connection broke */
  async send({ sender, recipients, data }: LoadMessage): Promise<string | undefined> {
    const isLong = /[\x80-\xff]/.test(data.toString('latin1'))
    const mail = `MAIL FROM:<${sender}>${isLong ? ' BODY=8BITMIME' : ''}\r\n`
    this.#socket.write(
      `${mail}${recipients.map((recipient) => `RCPT TO:<${recipient}>\r\n`).join('')}DATA\r\n`,
    )
    let refusal: string | undefined
    for (let i = 0; i < 1 + recipients.length; i++) {
      const reply = await this.#reply()
      if (reply === undefined) return undefined
      if (!reply.startsWith('2')) refusal ??= reply
    }
    const go = await this.#reply()
    if (go?.startsWith('354') !== true) return refusal ?? go
    this.#socket.write(stuffed(data))
    this.#socket.write('.\r\n')
    return this.#reply()
  }

  end(): void {
    this.isOver = true
    this.#socket.end('QUIT\r\n')
  }

  async #greeted(): Promise<boolean> {
    if ((await this.#reply())?.startsWith('220') !== true) return false
    this.#socket.write('EHLO load.example\r\n')
    return (await this.#reply())?.startsWith('250') === true
  }

  #reply(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#awaited = resolve
      this.#hand()
    })
  }

  #hand(): void {
    const awaited = this.#awaited
    if (awaited === undefined) return
    const whole = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(this.#input)
    if (whole === null && !this.isOver) return
    this.#awaited = undefined
    if (whole !== null) this.#input = this.#input.slice(whole[0].length)
    awaited(whole?.[0].trimEnd())
  }
}

/** RFC 5321 §4.5.2, written apart from any library. */
function stuffed(data: Buffer): Buffer {
  const text = data.toString('latin1')
  return Buffer.from(text.replace(/(^|\r\n)\./g, '$1..'), 'latin1')
}
