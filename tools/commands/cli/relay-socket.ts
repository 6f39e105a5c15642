/** The socket `listening` in a queue's directory: an SMTP session with the relay that has the queue
 * open, for everyone's `sendmail`.
 * Invariant: who answers there is that relay. A port that it has told of is not enough:
 *    1. the relay is killed, a verb takes the lock
 *    2. another program listens on that port
 *    3. it is given the mail, and says 250
 * What is said there goes on to a port of the relay's own as it stands, so that it is a session as
 * any other on this machine, with the limits, the rights and the log of one. */
import { createConnection, createServer, type Socket } from 'node:net'
import { bindQueueSocket, connectQueueSocket, listeningSocket } from '../../../src/disk/queue-socket.js'
import { isWaybillError } from '../../../src/errors.js'
import type { Endpoint } from './values.js'

/** Clients at once; more find it closed. More than the sessions of the server behind it, so that
 * its rule decides which of them gives way. */
const clientCountMax = 600
/** How long a client may leave the end of its session unread, milliseconds. */
const unreadMs = 30_000

/** @param port which this process answers as long as it lives
 * @returns takes no new client; sessions go on @throws WaybillError DISK_FAILED, DISK_FULL */
export async function answerForRelay(directory: string, port: Endpoint): Promise<() => void> {
  const server = createServer({ allowHalfOpen: true }, (client) => passOn(client, port))
  server.maxConnections = clientCountMax
  server.unref()
  await bindQueueSocket(server, directory, listeningSocket)
  return () => void server.close()
}

function passOn(client: Socket, { host, port }: Endpoint): void {
  const session = createConnection({ host, port, allowHalfOpen: true })
  client.pipe(session).pipe(client)
  // What is wrong with one ends it, and so the other.
  client.on('error', () => session.destroy())
  session.on('error', () => client.destroy())
  client.once('close', () => session.destroy())
  session.once('close', () => {
    client.setTimeout(unreadMs, () => client.destroy())
    client.destroySoon()
  })
}

/** @returns undefined when no relay can be asked; why it cannot is said by who tries to open
 * the queue instead */
export async function connectRelay(directory: string): Promise<Socket | undefined> {
  const relay = await connectQueueSocket(directory, listeningSocket).catch((error: unknown) => {
    if (isWaybillError(error)) return undefined
    throw error
  })
  // It may be lost before it is used: then it is destroyed.
  return relay?.on('error', () => {})
}
