/** A domain with mail hosts whose TLS is real, in a DNS that proves chosen answers. */
import type { Answer } from 'dns-packet'
import type { DeliveryResult, Transport } from '../../src/delivery/transport.js'
import type { TlsaData } from '../../src/relay/dns/dns-message.js'
import type { MxTransportOptions } from '../../src/relay/smtp-out/mx-out-options.js'
import { dnsServer, type Entries, type Entry } from './dns-server.js'
import { mxTransportOf } from './smtp-out/mx-out-fixture.js'
import type { Certificate } from './named-certificates.js'
import { requestOf, someData } from './request.js'
import { tlsServersAt, type TlsServer } from './tls-server.js'

export interface DaneHost {
  /** undefined: it has no STARTTLS. */
  readonly certificate: Certificate | undefined
  /** Default: none; otherwise proven, as its addresses are. */
  readonly tlsa?: readonly TlsaData[]
}

export interface DaneDomain {
  readonly servers: readonly TlsServer[]
  readonly port: number
  /** `127.0.0.1:53`. */
  readonly daneServer: string
  /** What the DNS answers from now on. */
  readonly entries: Entries
  readonly asked: string[]
  readonly transport: Transport
  send(attempts?: number, nexthop?: string, signal?: AbortSignal): Promise<DeliveryResult>
}

export const tlsaEntry = (owner: string, records: readonly TlsaData[]): Entry => ({
  answers: records.map((data): Answer => ({ type: 'TLSA', name: owner, ttl: 60, data: { ...data } })),
  isProven: true,
})

export const aliasTo = (name: string, data: string): Answer => ({ type: 'CNAME', name, ttl: 60, data })

export const addressOf = (name: string, data: string): Answer => ({ type: 'A', name, ttl: 60, data })

/** `example.net`, with mail hosts by name at 127.0.0.2 and on, the first one the best. */
export async function daneDomain(
  hosts: Readonly<Record<string, DaneHost>>,
  options: MxTransportOptions = {},
): Promise<DaneDomain> {
  const names = Object.keys(hosts)
  const addresses = names.map((_, i) => `127.0.0.${i + 2}`)
  const { servers, port } = await tlsServersAt(
    Object.fromEntries(addresses.map((address, i) => [address, hosts[names[i]!]!.certificate])),
  )
  const mx = names.map((exchange, preference): Answer => ({
    type: 'MX',
    name: 'example.net',
    ttl: 60,
    data: { preference, exchange },
  }))
  const { server, entries, asked } = await dnsServer({ 'MX example.net': { answers: mx, isProven: true } })
  for (const [i, name] of names.entries()) {
    entries[`A ${name}`] = { answers: [addressOf(name, addresses[i]!)], isProven: true }
    entries[`AAAA ${name}`] = { isProven: true }
    const owner = `_${port}._tcp.${name}`
    const { tlsa } = hosts[name]!
    entries[`TLSA ${owner}`] = tlsa === undefined ? { rcode: 3, isProven: true } : tlsaEntry(owner, tlsa)
  }
  const daneServer = `${server.address}:${server.port}`
  const transport = mxTransportOf({
    port,
    tls: 'opportunistic',
    dane: true,
    daneServers: [daneServer],
    ...options,
  })
  return {
    servers,
    port,
    daneServer,
    entries,
    asked,
    transport,
    send: async (attempts = 0, nexthop = 'example.net', signal = new AbortController().signal) =>
      transport.deliver(requestOf(someData, { attempts, nexthop }), signal),
  }
}

/** Of what each server took, whether it came over TLS. */
export const securesOf = ({ servers }: DaneDomain): boolean[][] =>
  servers.map(({ taken }) => taken.map(({ secure }) => secure))
