/** The options of delivery by MX. Every number has a unit and a default. */
import { isIP } from 'node:net'
import { checkOptionNames, integerOption, waitMsMax } from '../../base/options.js'
import type { Prng } from '../../base/prng.js'
import { WaybillError } from '../../errors.js'
import { serversMax, readDnsServer, type DnsServer } from '../dns/dns-client.js'
import type { MxResolver } from '../dns/dns-questions.js'
import type { OwnServers } from '../dns/mail-hosts.js'
import { MtaSts } from '../tls/mta-sts.js'
import { checkConnectionOptions, smtpOptionNames, type SmtpTransportOptions } from './smtp-out-options.js'
import type { TlsPolicies } from '../tls/tls-policy.js'

/** No way asks for a certificate: the name to verify is that of an MX record, and a forged
 * answer of the DNS may have any name. `tlsPolicy` asks for one, by domain. */
export const mxTlsWays = ['none', 'opportunistic'] as const

export interface MxTransportOptions extends Omit<SmtpTransportOptions, 'host' | 'tls' | 'auth'> {
  /** The port of all servers, where the nexthop names none. Default 25. */
  readonly port?: number | undefined
  /** As `tls` of `smtpTransport`. Default: `opportunistic`, decided for each server. */
  readonly tls?: (typeof mxTlsWays)[number] | undefined
  /** The addresses at which this relay takes mail: a mail host with one of them is this relay.
   * Default: none; then a mail host is compared with `hostname` alone.
   * @see Postfix inet_interfaces */
  readonly listeners?: OwnServers['listeners'] | undefined
  /** Asks domains for their MTA-STS policy (RFC 8461), in the DNS and over HTTPS. With a policy
   * that says `enforce`, mail goes to mail hosts that the policy names, over TLS with a
   * certificate for the name of the host, or waits. A line of `tlsPolicy` comes first. `waybill
   * serve` gives an object that its transports share. Default: false. */
  readonly mtaSts?: boolean | MtaSts | undefined
  /** Looks for the TLSA records of mail hosts (RFC 7672). A host with usable records gets mail only
   * over TLS with the peer that they name. A host with other records gets mail only over TLS. Every
   * other host, and a host in a zone without DNSSEC, is treated as without this option. A line of
   * `tlsPolicy` comes first, and these records come before an MTA-STS policy. The DNS is then asked
   * through `daneServers`, and `resolver` is refused. Default: false.
   * @see Postfix smtp_tls_security_level = dane */
  readonly dane?: boolean | undefined
  /** Up to three resolvers that validate DNSSEC, each `ADDRESS` or `ADDRESS:PORT`. Their answers
   * are trusted, so no one else may write on the path to them. Default: those of
   * /etc/resolv.conf that are on this machine. */
  readonly daneServers?: readonly string[] | undefined
  /** Asks the DNS. Default: the system's DNS, not /etc/hosts. A question that fails rejects with a
   * code of Node's `dns`; `ENODATA` and `ENOTFOUND` alone mean that there is no such record. */
  readonly resolver?: MxResolver | undefined
  /** How long a question to the DNS may take, milliseconds. Default 30 000. */
  readonly lookupTimeoutMs?: number | undefined
  /** Chooses among mail hosts of equal preference. */
  readonly prng?: Prng | undefined
}

// Servers are found by the DNS, and no login is for all of them.
const { host: _host, auth: _auth, ...sharedNames } = smtpOptionNames

/** @throws WaybillError OPTION_INVALID */
export function checkMxOptions(options: MxTransportOptions): void {
  checkOptionNames(options, {
    ...sharedNames,
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
