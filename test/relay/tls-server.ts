/** Servers with TLS that is real, one at each address on one port, which note what
 * they take and how. */
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { onTestFinished } from 'vitest'
import type { Certificate } from './named-certificates.js'

export interface TlsServer {
  readonly port: number
  readonly taken: {
    readonly session: string
    readonly secure: boolean
    readonly recipients: string[]
    readonly data: string
  }[]
  /** Sessions that were greeted, encrypted or not. */
  sessionCount(): number
}

const triesMax = 20

/** @param certificate undefined: it has no STARTTLS */
export async function tlsServer(
  certificate: Certificate | undefined,
  options: SMTPServerOptions = {},
  host = '127.0.0.1',
  port = 0,
): Promise<TlsServer> {
  const taken: TlsServer['taken'] = []
  let sessionCount = 0
  const server = new SMTPServer({
    ...certificate,
    authOptional: true,
    disabledCommands: certificate === undefined ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    logger: false,
    onConnect: (_session, done) => {
      sessionCount++
      done()
    },
    onData: (stream, { id, secure, envelope }, done) => {
      let data = ''
      stream.on('data', (chunk: Buffer) => (data += chunk.toString()))
      stream.on('end', () => {
        taken.push({ session: id, secure, recipients: envelope.rcptTo.map(({ address }) => address), data })
        done()
      })
    },
    ...options,
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  server.removeAllListeners('error')
  // Clients that find fault with its certificate hang up.
  server.on('error', () => {})
  onTestFinished(() => server.close(() => {}))
  return {
    port: (server.server.address() as AddressInfo).port,
    taken,
    sessionCount: () => sessionCount,
  }
}

/** One at each address. */
export async function tlsServersAt(
  hosts: Readonly<Record<string, Certificate | undefined>>,
): Promise<{ port: number; servers: TlsServer[] }> {
  for (let i = 0; ; i++) {
    const servers: TlsServer[] = []
    try {
      for (const [host, certificate] of Object.entries(hosts))
        servers.push(await tlsServer(certificate, {}, host, servers[0]?.port ?? 0))
      return { port: servers[0]?.port ?? 0, servers }
    } catch (error) {
      // Somebody has the port at another address.
      if (i === triesMax) throw error
    }
  }
}
