/** A server that speaks PostgreSQL's protocol and says what a test has it say: for answers that a
 * real one gives once in a hundred years. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Fields of a notice, by their letters. @see PostgreSQL, "Error and Notice Message Fields" */
export type NoticeFields = Readonly<Record<string, string>>

export interface ToldServer {
  readonly port: number
  /** What clients have said of themselves when they connected. */
  readonly greetings: ReadonlyMap<string, string>[]
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
const noticeOf = (fields: NoticeFields): Buffer =>
  message(
    'N',
    Buffer.from(
      `${Object.entries(fields)
        .map(([letter, text]) => `${letter}${text}\0`)
        .join('')}\0`,
    ),
  )

/** Each question changes one row, with that notice. */
export async function toldServer(notice?: NoticeFields): Promise<ToldServer> {
  const greetings: ReadonlyMap<string, string>[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', (startup) => {
      const words = startup.subarray(8).toString().split('\0')
      const pairs = words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1] ?? ''] as const] : []))
      greetings.push(new Map(pairs))
      socket.write(Buffer.concat([isAuthentic, isIdle]))
      socket.on('data', () => {
        const said = notice === undefined ? [] : [noticeOf(notice)]
        socket.write(Buffer.concat([...said, changedOneRow, isIdle]))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, greetings }
}
