/** `sendmail -bs`: an SMTP session on standard input and output, with the relay that has the queue
 * open, or with this process.
 * Invariant: mail answered with 250 is durable. The end of the input is a QUIT; an unfinished
 * message is dropped. */
import { connect, type Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { hostname as machineName } from 'node:os'
import { assert } from '../../../src/base/assert.js'
import type { Queue } from '../../../src/index.js'
import type { Endpoint } from '../cli/values.js'

/** How long to wait for the last answer after the end of the input. */
const lastAnswerMs = 10_000

/** Of the end of what a server has said, its last reply. RFC 5321 §4.5.3.1.5 */
const replyBytesMax = 1024

/** @param hearsEnd the server still answers after the end of our side, and drops an unfinished
 * message at once. Other servers close their side, too, and the answer is lost
 * @returns false if there is no reply to a message that was begun */
export async function sessionOver(
  socket: Socket,
  input: Readable,
  output: Writable,
  hearsEnd: boolean,
): Promise<boolean> {
  let said = ''
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.pipe(output, { end: false })
    socket.on('data', (piece: Buffer) => (said = (said + piece.toString('latin1')).slice(-replyBytesMax)))
    // Some servers refuse a client that talks before the greeting.
    socket.once('data', () => input.pipe(socket, { end: false }))
    input.once('end', () => {
      socket.write('QUIT\r\n')
      if (hearsEnd) socket.end()
      socket.setTimeout(lastAnswerMs, () => socket.destroy())
    })
    socket.on('error', () => socket.destroy())
  })
  input.unpipe(socket)
  input.destroy()
  return !/(?:^|\n)354[ -][^\n]*$/.test(said.trimEnd())
}

/** With a queue that this process has open. */
export async function sessionWith(
  queue: Queue,
  sizeBytesMax: number,
  input: Readable,
  output: Writable,
): Promise<boolean> {
  const { listenSmtp } = await import('../../../src/relay/smtp-in/smtp-in.js')
  const listener = await listenSmtp(queue, {
    places: [{ host: '127.0.0.1', port: 0 }],
    hostname: machineName(),
    purpose: 'local',
    sizeBytesMax,
    received: false,
    greetDelayMs: 0,
  })
  try {
    const socket = await connected(listener.ports[0]!)
    assert(socket !== undefined, 'a port that this process listens at is answered')
    return await sessionOver(socket, input, output, true)
  } finally {
    listener.close()
  }
}

/** @returns undefined without an answer */
export const connected = ({ host, port }: Endpoint): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
