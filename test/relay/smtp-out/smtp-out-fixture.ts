/** A transport and a server by script, both closed after the test. */
import { onTestFinished } from 'vitest'
import type { Transport } from '../../../src/delivery/transport.js'
import { smtpTransport } from '../../../src/relay/smtp-out/smtp-out.js'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import { foreignServer, type Answer, type ForeignServer, type ForeignSession } from '../foreign-server.js'

export async function scripted(
  script?: (line: string, session: ForeignSession) => Answer | undefined,
  extensions?: readonly string[],
): Promise<ForeignServer> {
  const server = await foreignServer(script, extensions)
  onTestFinished(() => server.close())
  return server
}

export function transportOf(options: SmtpTransportOptions): Transport {
  const transport = smtpTransport({ tls: 'none', ...options })
  onTestFinished(() => transport.close?.())
  return transport
}

/** All mail goes from the transport to the server. */
export async function between(
  script?: (line: string, session: ForeignSession) => Answer | undefined,
  options: SmtpTransportOptions = {},
  extensions?: readonly string[],
): Promise<{ server: ForeignServer; transport: Transport }> {
  const server = await scripted(script, extensions)
  return { server, transport: transportOf({ host: server.host, port: server.port, ...options }) }
}
