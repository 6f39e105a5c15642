/** `sendmail -bs`: an SMTP session on standard input and output, with the relay that has the queue
 * open, or with this process.
 * Invariant: what was answered with 250 is durable. The end of the input is a QUIT; a message that
 * was not ended by then is none. */
import { connect, type Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { hostname as machineName } from 'node:os'
import { assert } from '../../../src/base/assert.js'
import type { Queue } from '../../../src/index.js'
import type { Endpoint } from '../cli/values.js'

/** How long the answer to what was said last is waited for, behind the end of the input. */
const lastAnswerMs = 10_000

/** @param hearsEnd the server answers what was said, and then sees that no more is coming: a
 * message that was not ended is over at once. Others take the end of our side for that of theirs,
 * and the answer is lost */
export async function sessionOver(
  socket: Socket,
  input: Readable,
  output: Writable,
  hearsEnd: boolean,
): Promise<void> {
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.pipe(output, { end: false })
    // A client that talks before the greeting is sent away by some.
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
}

/** With a queue that this process has open. */
export async function sessionWith(
  queue: Queue,
  sizeBytesMax: number,
  input: Readable,
  output: Writable,
): Promise<void> {
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
    await sessionOver(socket, input, output, true)
  } finally {
    listener.close()
  }
}

/** @returns undefined when nobody answers there */
export const connected = ({ host, port }: Endpoint): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
