/** A server that speaks PostgreSQL's protocol and says what a test has it say: for answers that a
 * real one gives once in a hundred years. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createSecureContext, TLSSocket, type SecureContextOptions } from 'node:tls'
import { onTestFinished } from 'vitest'

/** Fields of a notice, by their letters. @see PostgreSQL, "Error and Notice Message Fields" */
export type NoticeFields = Readonly<Record<string, string>>

export interface ToldServer {
  readonly port: number
  /** What clients have said of themselves when they connected. */
  readonly greetings: ReadonlyMap<string, string>[]
  /** What they have sent since then. */
  readonly questions: string[]
}

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const isIdle = message('Z', Buffer.from('I'))
const isAuthentic = message('R', Buffer.from([0, 0, 0, 0]))
const changedOneRow = message('C', Buffer.from('UPDATE 1\0'))
const fieldsOf = (fields: NoticeFields): Buffer =>
  Buffer.from(
    `${Object.entries(fields)
      .map(([letter, text]) => `${letter}${text}\0`)
      .join('')}\0`,
  )

/** A row of strings and booleans, `t` or `f`, as the answer to a question. */
const rowOf = (values: readonly (string | null)[]): Buffer[] => {
  const count = Buffer.from([0, values.length])
  const names = values.map((value, i) =>
    Buffer.concat([Buffer.from(`c${i}\0`), Buffer.alloc(6), typeOf(value)]),
  )
  const fields = values.map((value) =>
    value === null
      ? Buffer.alloc(4, 0xff)
      : Buffer.from(`\0\0\0${String.fromCharCode(value.length)}${value}`),
  )
  return [message('T', Buffer.concat([count, ...names])), message('D', Buffer.concat([count, ...fields]))]
}
/** Of a column: 16 is a boolean, 25 is text. */
const typeOf = (value: string | null): Buffer =>
  Buffer.from([0, 0, 0, value === 't' || value === 'f' ? 16 : 25, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0])

/** Refuses everybody: with that error, or to speak TLS; or shows that certificate. */
export async function refusingServer(way: NoticeFields | 'no TLS' | SecureContextOptions): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      if (way === 'no TLS') return socket.end('N')
      if (!('cert' in way)) return socket.end(message('E', fieldsOf(way as NoticeFields)))
      socket.write('S')
      const secure = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(way) })
      return secure.on('error', () => undefined)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Each question changes one row, with that notice; or is answered with a row. */
export async function toldServer(
  notice?: NoticeFields,
  row?: readonly (string | null)[],
): Promise<ToldServer> {
  const greetings: ReadonlyMap<string, string>[] = []
  const questions: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', (startup) => {
      const words = startup.subarray(8).toString().split('\0')
      const pairs = words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1] ?? ''] as const] : []))
      greetings.push(new Map(pairs))
      socket.write(Buffer.concat([isAuthentic, isIdle]))
      socket.on('data', (question) => {
        questions.push(question.toString('latin1'))
        const said = notice === undefined ? [] : [message('N', fieldsOf(notice))]
        socket.write(
          Buffer.concat([...said, ...(row === undefined ? [] : rowOf(row)), changedOneRow, isIdle]),
        )
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, greetings, questions }
}

/** Takes connections, and says nothing. `left` settles when its first client has hung up. */
export async function silentServer(): Promise<{ readonly port: number; readonly left: Promise<void> }> {
  let hangUp: (() => void) | undefined
  const left = new Promise<void>((resolve) => (hangUp = resolve))
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('close', () => hangUp?.())
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, left }
}

/** Where nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
