/** The options of delivery by MX. Every number has a unit and a default. */
import { isIP } from 'node:net'
import { checkOptionNames, integerOption, waitMsMax } from '../../base/options.js'
import type { Prng } from '../../base/prng.js'
import { WaybillError } from '../../errors.js'
import { serversMax, readDnsServer, type DnsServer } from '../dns/dns-client.js'
import type { MxResolver } from '../dns/dns-questions.js'
import type { OwnServers } from '../dns/mail-hosts.js'
import { MtaSts } from '../tls/mta-sts.js'
import { checkConnectionOptions, type SmtpTransportOptions } from './smtp-out-options.js'
import type { TlsPolicies } from '../tls/tls-policy.js'

/** A name that an MX record has is worth what the DNS is worth, so that nothing is gained by a
 * certificate that bears it: who wants more says of which domains, by `tlsPolicy`. */
export const mxTlsWays = ['none', 'opportunistic'] as const

export interface MxTransportOptions extends Omit<SmtpTransportOptions, 'host' | 'tls' | 'auth'> {
  /** Of all servers, if the nexthop names none; default 25. */
  readonly port?: number
  /** Default: `opportunistic`, for each server by itself. */
  readonly tls?: (typeof mxTlsWays)[number]
  /** Where mail comes in here, as addresses: a mail host that is found there is ourselves. Default:
   * none; then only `hostname` counts.
   * @see Postfix inet_interfaces */
  readonly listeners?: OwnServers['listeners']
  /** Whether domains are asked for their MTA-STS policy (RFC 8461), in the DNS and over HTTPS; one
   * that says `enforce` is done for: mail goes to mail hosts that it names, over TLS with a
   * certificate for the name of the host, or waits. A line of `tlsPolicy` goes before it.
   * `waybill serve` hands in what its transports share. Default: no. */
  readonly mtaSts?: boolean | MtaSts
  /** Whether the TLSA records of mail hosts are looked for (RFC 7672): a host with records that can
   * be used gets mail over TLS, with the peer that they name, or none; one with others, over TLS;
   * every other, and one in a zone without DNSSEC, as without this. A line of `tlsPolicy` goes
   * before it, and it before an MTA-STS policy. The DNS is then asked by `daneServers`, there is no
   * `resolver`. Default: no.
   * @see Postfix smtp_tls_security_level = dane */
  readonly dane?: boolean
  /** Resolvers that validate (DNSSEC), up to three, each `ADDRESS` or `ADDRESS:PORT`, reached over
   * a path where nobody else can write: they are believed. Default: those of /etc/resolv.conf that
   * are on this machine. */
  readonly daneServers?: readonly string[]
  /** Default: the system's DNS, not /etc/hosts. Failing questions have the codes of Node's `dns`:
   * `ENODATA` and `ENOTFOUND` alone mean that there is no such thing. */
  readonly resolver?: MxResolver
  /** Milliseconds for each question to it; default 30 000. */
  readonly lookupTimeoutMs?: number
  /** Chooses among equals. */
  readonly prng?: Prng
}

/** @throws WaybillError OPTION_INVALID */
export function checkMxOptions(options: MxTransportOptions): void {
  checkOptionNames(options, {
    port: true,
    hostname: true,
    tls: true,
    tlsOptions: true,
    tlsPolicy: true,
    connectTimeoutMs: true,
    greetingTimeoutMs: true,
    silenceTimeoutMs: true,
    heloTimeoutMs: true,
    mailTimeoutMs: true,
    rcptTimeoutMs: true,
    dataInitTimeoutMs: true,
    dataXferTimeoutMs: true,
    dataDoneTimeoutMs: true,
    connectionReuse: true,
    connectionsMax: true,
    sourceAddresses: true,
    dkim: true,
    dkimSigns: true,
    onConversation: true,
    clock: true,
    listeners: true,
    mtaSts: true,
    dane: true,
    daneServers: true,
    resolver: true,
    lookupTimeoutMs: true,
    prng: true,
  })
  checkConnectionOptions(options, mxTlsWays)
  const { listeners = [], lookupTimeoutMs = 1, mtaSts = false, resolver } = options
  const unknown = listeners.find(({ host }) => isIP(host) === 0)
  if (unknown !== undefined)
    throw new WaybillError('OPTION_INVALID', `${unknown.host} is no address`, { option: 'listeners' })
  if (typeof mtaSts !== 'boolean' && !(mtaSts instanceof MtaSts))
    throw new WaybillError('OPTION_INVALID', 'expected true or false', { option: 'mtaSts' })
  if (mtaSts === true && resolver !== undefined && typeof resolver.resolveTxt !== 'function')
    throw new WaybillError('OPTION_INVALID', 'MTA-STS needs a resolver with resolveTxt', {
      option: 'resolver',
    })
  integerOption('lookupTimeoutMs', lookupTimeoutMs, 1, waitMsMax)
  const { dane = false, daneServers } = options
  if (typeof dane !== 'boolean')
    throw new WaybillError('OPTION_INVALID', 'expected true or false', { option: 'dane' })
  daneServersOf(daneServers)
}

/** @returns undefined for those of the system @throws WaybillError OPTION_INVALID */
export function daneServersOf(texts: readonly string[] | undefined): readonly DnsServer[] | undefined {
  if (texts === undefined) return undefined
  const bad = (reason: string): WaybillError =>
    new WaybillError('OPTION_INVALID', reason, { option: 'daneServers' })
  if (!Array.isArray(texts) || texts.length === 0 || texts.length > serversMax)
    throw bad(`expected one to ${serversMax} addresses`)
  return texts.map((text: unknown) => {
    const server = typeof text === 'string' ? readDnsServer(text) : undefined
    if (server === undefined) throw bad(`${String(text)} is no address, or ADDRESS:PORT`)
    return server
  })
}

/** DANE cannot use a resolver that shows no proof. @throws WaybillError OPTION_INVALID */
export function checkProofs({ dane = false, resolver }: MxTransportOptions, { hasDane }: TlsPolicies): void {
  if ((dane || hasDane) && resolver !== undefined)
    throw new WaybillError('OPTION_INVALID', 'DANE needs validated answers: daneServers', {
      option: 'resolver',
    })
}
