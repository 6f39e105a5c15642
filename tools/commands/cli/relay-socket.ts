/** The socket `listening` in a queue's directory: an SMTP session with the relay that has the queue
 * open, for every user's `sendmail`.
 * Invariant: the relay answers there. A known port would not be enough:
 *    1. the relay is killed; a verb takes the lock
 *    2. another program listens on that port
 *    3. it takes the mail, and says 250
 * The bytes are forwarded to a port of the relay, so it is an ordinary session of this machine,
 * with its limits, rights and log. */
import { createConnection, createServer, type Socket } from 'node:net'
import { bindQueueSocket, connectQueueSocket, listeningSocket } from '../../../src/disk/queue-socket.js'
import { isWaybillError } from '../../../src/errors.js'
import type { Endpoint } from './values.js'

/** Clients at once; more find it closed. More than the sessions of the server behind it, so that
 * its rule decides which of them gives way. */
const clientCountMax = 600
/** How long a client may leave the end of its session unread, milliseconds. */
const unreadMs = 30_000

/** @param port of this process @param isBalancer connections from this address begin with a line
 * PROXY
 * @returns a function that stops taking clients; sessions go on
 * @throws WaybillError DISK_FAILED, DISK_FULL */
export async function answerForRelay(
  directory: string,
  port: Endpoint,
  isBalancer: (address: string) => boolean,
): Promise<() => void> {
  const server = createServer({ allowHalfOpen: true }, (client) => passOn(client, port, isBalancer))
  server.maxConnections = clientCountMax
  server.unref()
  await bindQueueSocket(server, directory, listeningSocket)
  return () => void server.close()
}

function passOn(client: Socket, { host, port }: Endpoint, isBalancer: (address: string) => boolean): void {
  const session = createConnection({ host, port, allowHalfOpen: true })
  session.once('connect', () => {
    // The relay expects the line of what comes from there, and would take the client's.
    if (isBalancer(session.localAddress ?? '')) session.write('PROXY UNKNOWN\r\n')
    client.pipe(session).pipe(client)
  })
  // An error of one ends it, and so the other.
  client.on('error', () => session.destroy())
  session.on('error', () => client.destroy())
  client.once('close', () => session.destroy())
  session.once('close', () => {
    client.setTimeout(unreadMs, () => client.destroy())
    client.destroySoon()
  })
}

/** @returns undefined if no relay can be asked; opening the queue shows the reason */
export async function connectRelay(directory: string): Promise<Socket | undefined> {
  const relay = await connectQueueSocket(directory, listeningSocket).catch((error: unknown) => {
    if (isWaybillError(error)) return undefined
    throw error
  })
  // A connection that fails before its use is destroyed.
  return relay?.on('error', () => {})
}
