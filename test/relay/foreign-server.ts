/** A server that is not ours: speaks SMTP, or LMTP where it is greeted so, by a script, line by
 * line, so that it can misbehave at every stage. It undoes dots by itself, so that what it has is
 * what a foreign server would have. */
import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

/** A reply (lines joined by `\r\n` without the last), or what happens instead of one, or after it.
 * `babble` answers whatever comes with what belongs to no protocol, `drip` sends an octet now and
 * then and never ends the line. */
export type Answer =
  | string
  | { readonly does: 'close' | 'hang' | 'drip' }
  | { readonly reply: string; readonly afterMs: number }
  | { readonly reply: string; readonly after: Promise<unknown> }
  | { readonly reply: string; readonly does: 'close' | 'hang' | 'babble' }

export interface ForeignSession {
  /** From 1, in the order of connecting. */
  readonly number: number
  /** Of the client. */
  readonly address: string | undefined
  /** Messages that this session has taken. */
  taken: number
}

export interface Taken {
  readonly session: number
  readonly commands: readonly string[]
  readonly recipients: readonly string[]
  readonly data: Buffer
  /** When the reply to the final dot left, by performance.now(). */
  readonly atMs: number
}

export interface ForeignServer {
  readonly host: string
  readonly port: number
  readonly taken: Taken[]
  /** Every command line, with the number of its session before it. */
  readonly commands: string[]
  sessionCount(): number
  openCount(): number
  /** Sessions between MAIL and the reply to the final dot. */
  busyCount(): number
  /** Says it to the connected client, unasked. */
  tell(reply: string): void
  /** Ends the connections that are open, as an idle timeout would. */
  endSessions(): void
  close(): void
}

/** In the order in which it took them. */
export const recipientsOf = ({ taken }: ForeignServer): string[] =>
  taken.flatMap(({ recipients }) => recipients)

function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('2'), 50)
  socket.once('close', () => clearInterval(timer))
}

/** @param script is asked at `GREETING`, for each command line, and at `.`; undefined stands for
 * the usual reply */
export async function foreignServer(
  script: (line: string, session: ForeignSession) => Answer | undefined = () => undefined,
  extensions: readonly string[] = [
    'PIPELINING',
    '8BITMIME',
    'SMTPUTF8',
    'SIZE 10000000',
    'ENHANCEDSTATUSCODES',
  ],
  at: { readonly host: string; readonly port: number } = { host: '127.0.0.1', port: 0 },
): Promise<ForeignServer> {
  const taken: Taken[] = []
  const commands: string[] = []
  const sockets = new Set<Socket>()
  let sessionCount = 0
  const busy = new Set<Socket>()
  // Replies to commands that came together are small pieces: delayed, each would wait for what the
  // client acknowledges late.
  const server: Server = createServer({ noDelay: true }, (socket) => {
    const session: ForeignSession = { number: ++sessionCount, address: socket.remoteAddress, taken: 0 }
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      busy.delete(socket)
    })
    socket.on('error', () => {})
    let input = Buffer.alloc(0)
    let inData = false
    let hangs = false
    let isLmtp = false
    let transaction: string[] = []
    let recipients: string[] = []
    const answer = (line: string, usual: string): string | undefined => {
      const given = script(line, session) ?? usual
      if (typeof given === 'string') {
        socket.write(`${given}\r\n`)
        return given
      }
      if ('afterMs' in given) {
        setTimeout(() => socket.write(`${given.reply}\r\n`), given.afterMs)
        return given.reply
      }
      if ('after' in given) {
        void given.after.then(() => socket.write(`${given.reply}\r\n`))
        return given.reply
      }
      if ('reply' in given) socket.write(`${given.reply}\r\n`)
      if (given.does === 'close') {
        if ('reply' in given) socket.end()
        else socket.destroy()
      } else {
        hangs = true
        if (given.does === 'babble') socket.on('data', () => socket.write('what?\r\n'))
        if (given.does === 'drip') drip(socket)
      }
      return undefined
    }
    const command = (line: string): void => {
      commands.push(`${session.number} ${line}`)
      const verb = line.slice(0, 4).toUpperCase()
      if (verb === 'MAIL') {
        transaction = []
        recipients = []
        busy.add(socket)
      }
      transaction.push(line)
      if (verb === 'LHLO') isLmtp = true
      if (verb === 'EHLO' || verb === 'LHLO')
        answer(line, ['250-foreign', ...extensions.map((e) => `250-${e}`), '250 HELP'].join('\r\n'))
      else if (verb === 'RCPT') {
        const reply = answer(line, '250 2.1.5 ok')
        if (reply?.startsWith('2') === true) recipients.push(/<(.*)>/.exec(line)?.[1] ?? '')
      } else if (verb === 'DATA') {
        inData =
          answer(line, recipients.length > 0 ? '354 go' : '503 5.5.1 no recipients')?.startsWith('3') === true
      } else if (verb === 'QUIT') {
        if (answer(line, '221 2.0.0 bye') !== undefined) socket.end()
      } else answer(line, '250 2.0.0 ok')
    }
    const message = (raw: Buffer): void => {
      const data = Buffer.from(raw.toString('latin1').replace(/(^|\r\n)\.\./g, '$1.'), 'latin1')
      const usual = isLmtp ? recipients.map(() => '250 2.0.0 taken').join('\r\n') : '250 2.0.0 taken'
      const reply = answer('.', usual)
      busy.delete(socket)
      if (reply?.startsWith('2') !== true) return
      session.taken++
      taken.push({
        session: session.number,
        commands: transaction,
        recipients,
        data,
        atMs: performance.now(),
      })
    }
    socket.on('data', (chunk: Buffer) => {
      input = Buffer.concat([input, chunk])
      while (!hangs && !socket.destroyed) {
        if (inData) {
          const starts = input.subarray(0, 3).equals(Buffer.from('.\r\n'))
          const end = starts ? -2 : input.indexOf('\r\n.\r\n')
          if (!starts && end < 0) return
          const raw = input.subarray(0, end + 2)
          input = input.subarray(end + 5)
          inData = false
          message(raw)
        } else {
          const end = input.indexOf('\r\n')
          if (end < 0) return
          const line = input.toString('utf8', 0, end)
          input = input.subarray(end + 2)
          command(line)
        }
      }
    })
    answer('GREETING', '220 foreign ESMTP')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    host: at.host,
    port,
    taken,
    commands,
    sessionCount: () => sessionCount,
    openCount: () => sockets.size,
    busyCount: () => busy.size,
    tell: (reply) => {
      for (const socket of sockets) socket.write(`${reply}\r\n`)
    },
    endSessions: () => {
      for (const socket of sockets) socket.end()
    },
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
