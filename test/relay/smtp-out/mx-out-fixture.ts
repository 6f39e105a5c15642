/** Servers by script on one port at several addresses of this machine, and a transport that finds
 * them in a zone. */
import { onTestFinished } from 'vitest'
import type { DeliveryRequest, DeliveryResult, Transport } from '../../../src/delivery/transport.js'
import { mxTransport } from '../../../src/relay/smtp-out/mx-out.js'
import type { MxTransportOptions } from '../../../src/relay/smtp-out/mx-out-options.js'
import { foreignServer, type Answer, type ForeignServer, type ForeignSession } from '../foreign-server.js'
import { deliver, deliverWhole } from '../request.js'
import { zone, type FakeDns, type Name } from '../zone.js'

export type Script = (line: string, session: ForeignSession) => Answer | undefined

const triesMax = 20

/** One at each address. */
export async function serversAt(
  hosts: Readonly<Record<string, Script | undefined>>,
  extensions?: readonly string[],
): Promise<{ port: number; servers: ForeignServer[] }> {
  for (let i = 0; ; i++) {
    const servers: ForeignServer[] = []
    try {
      for (const [host, script] of Object.entries(hosts))
        servers.push(await foreignServer(script, extensions, { host, port: servers[0]?.port ?? 0 }))
      onTestFinished(() => {
        for (const server of servers) server.close()
      })
      return { port: servers[0]?.port ?? 0, servers }
    } catch (error) {
      for (const server of servers) server.close()
      // Somebody has the port at another address.
      if (i === triesMax) throw error
    }
  }
}

export interface Domain {
  readonly servers: ForeignServer[]
  readonly port: number
  readonly dns: FakeDns
  readonly transport: Transport
  readonly send: (more?: Partial<DeliveryRequest>) => Promise<DeliveryResult>
  /** With the server that said it. */
  readonly sendWhole: (more?: Partial<DeliveryRequest>) => Promise<DeliveryResult>
}

/** `example.net` with a mail host `hN` at each address, the first one the best. */
export async function domainAt(
  hosts: Readonly<Record<string, Script | undefined>>,
  options: MxTransportOptions = {},
  extensions?: readonly string[],
): Promise<Domain> {
  const { port, servers } = await serversAt(hosts, extensions)
  const names: Record<string, Name> = {}
  const mx: [number, string][] = []
  for (const [i, address] of Object.keys(hosts).entries()) {
    mx.push([i, `h${i + 1}`])
    names[`h${i + 1}`] = address.includes(':') ? { aaaa: [address] } : { a: [address] }
  }
  const dns = zone({ 'example.net': { mx }, ...names })
  const transport = mxTransportOf({ port, resolver: dns, ...options })
  return {
    servers,
    port,
    dns,
    transport,
    send: (more) => deliver(transport, more),
    sendWhole: (more) => deliverWhole(transport, more),
  }
}

export function mxTransportOf(options: MxTransportOptions): Transport {
  const transport = mxTransport({ tls: 'none', ...options })
  onTestFinished(() => transport.close?.())
  return transport
}
