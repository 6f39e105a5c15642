/** Servers that take mail and drop it, each with more of the relay than the one before.
 * - `bare`: a socket that answers each chunk without looking much at it: the cost of Node and the
 *   kernel.
 * - `library`: smtp-server with our options and no code of ours.
 * - `relay`: the relay's own server, before a queue that says yes at once. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { listenSmtp } from '../../src/relay/smtp-in/smtp-in.js'

export type ServerName = 'bare' | 'library' | 'relay'

/** @returns their port on 127.0.0.1 */
export const servers: Readonly<Record<ServerName, () => Promise<number>>> = { bare, library, relay }

async function bare(): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    let isData = false
    socket.on('error', () => {})
    socket.write('220 bare ESMTP\r\n')
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      if (isData && !text.endsWith('\r\n.\r\n')) return
      isData = text.startsWith('DATA')
      if (text.startsWith('QUIT')) socket.end('221 2.0.0 bye\r\n')
      else socket.write(isData ? '354 go on\r\n' : '250 2.0.0 yes\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function library(): Promise<number> {
  const { server } = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    logger: false,
    onData: (stream, _session, done) => {
      stream.on('data', () => {})
      stream.on('end', () => done(null, 'taken'))
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function relay(): Promise<number> {
  let number = 0
  const { ports } = await listenSmtp(
    {
      submit: () => Promise.resolve({ id: String(number++) }),
      limits: { dataBytesMax: 50_000_000, recipientCountMax: 1000 },
    },
    { places: [{ host: '127.0.0.1', port: 0 }], purpose: 'relay', hostname: 'bench.example.org' },
  )
  return ports[0]!.port
}
