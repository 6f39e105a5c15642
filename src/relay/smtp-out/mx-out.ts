/** Delivery over SMTP to the servers of each domain.
 * Invariants: the nexthop is the recipients' domain, so each domain is one destination. The DNS is
 * asked at every attempt; only MTA-STS policies are remembered. A wrong nexthop of an operator's
 * `reroute` or an embedder's `route` fails no mail: it is deferred with 4.3.5.
 * mail-hosts.ts finds the servers, dane-hosts.ts reads TLSA records, smtp-delivery.ts delivers.
 * Why DNS questions and not the system's resolver: Node asks that on the threads that write the
 * queue's files, so a silent resolver would delay other mail. It also cannot tell a missing host
 * from a missing resolver. */
import { hostname as machineName } from 'node:os'
import { isIP } from 'node:net'
import { systemClock, type Clock } from '../../base/clock.js'
import { domainOf } from '../../base/mail-address.js'
import { onAbort } from '../../base/on-abort.js'
import { systemPrng } from '../../base/prng.js'
import type { DeliveryRequest, Outcome, SiteTrouble, Transport } from '../../delivery/transport.js'
import { daneDemands } from '../tls/dane-hosts.js'
import { signerOf } from '../dkim/dkim-signer.js'
import { DnsClient, systemDnsServers } from '../dns/dns-client.js'
import { withQuestions } from '../dns/dns-questions.js'
import { asciiName, readNexthop, type Nexthop } from '../tables/nexthop.js'
import { mailHosts, type MailHost, type MailHostsPort } from '../dns/mail-hosts.js'
import { MtaSts } from '../tls/mta-sts.js'
import { allowsMailHost, type StsPolicy } from '../tls/mta-sts-policy.js'
import { checkMxOptions, checkProofs, daneServersOf, type MxTransportOptions } from './mx-out-options.js'
import { smtpDelivery, type Places } from './smtp-delivery.js'
import { OutSessions, siteOfAbandoned, type Place } from './out-sessions.js'
import { DnssecAnswers } from '../dns/dnssec-answers.js'
import { sourceAddressesOf } from '../dns/source-addresses.js'
import {
  demandOf,
  isDane,
  isVerifying,
  tlsPoliciesOf,
  type TlsPolicies,
  type TlsDemand,
  type TlsPolicy,
} from '../tls/tls-policy.js'

/** The TLS demand of the lookup. */
interface FoundHost extends MailHost {
  readonly tls?: TlsDemand | undefined
}

type FoundHosts = readonly FoundHost[] | Outcome | SiteTrouble

/** For one queue at a time, and its next life, as `smtpTransport`.
 * @throws WaybillError OPTION_INVALID */
export function mxTransport(options: MxTransportOptions = {}): Transport {
  checkMxOptions(options)
  const places = new MxPlaces(options)
  const delivery = smtpDelivery(
    new OutSessions(options),
    (request, signal) => places.placesOf(request, signal),
    signerOf(options),
  )
  return {
    ...delivery,
    close: () => {
      places.close()
      delivery.close?.()
    },
  }
}

/** Finds the servers of each domain. */
class MxPlaces {
  readonly #options: MxTransportOptions
  readonly #clock: Clock
  readonly #port: number
  readonly #timeoutMs: number
  readonly #here: Pick<MailHostsPort, 'own' | 'prng' | 'sources'>
  readonly #policies: TlsPolicies
  readonly #daneServers: ReturnType<typeof daneServersOf>
  readonly #mtaSts: MtaSts | undefined
  /** Attempts that wait for a policy. */
  readonly #waiting = new Set<AbortController>()

  /** @throws WaybillError OPTION_INVALID */
  constructor(options: MxTransportOptions) {
    const { hostname = machineName(), listeners = [], clock = systemClock, prng = systemPrng() } = options
    this.#options = options
    this.#clock = clock
    this.#port = options.port ?? 25
    this.#timeoutMs = options.lookupTimeoutMs ?? 30_000
    this.#here = { own: { hostname, listeners }, prng, sources: sourceAddressesOf(options.sourceAddresses) }
    this.#policies = tlsPoliciesOf(options.tlsPolicy ?? [], true)
    checkProofs(options, this.#policies)
    this.#daneServers = daneServersOf(options.daneServers)
    this.#mtaSts = mtaStsOf(options)
  }

  close(): void {
    for (const controller of this.#waiting) controller.abort()
    // A given one has other users.
    if (this.#options.mtaSts === true) this.#mtaSts?.close()
  }

  async placesOf(request: DeliveryRequest, signal: AbortSignal): Promise<Places> {
    const { nexthop } = request
    const destination = readNexthop(nexthop, this.#port)
    if (destination === undefined)
      return forOwnDomain(request, { kind: 'failed', status: '5.1.2', reason: `${nexthop} is no domain` })
    const line = this.#policies.for(destination)
    const enforced = line === undefined ? await this.#enforcedBy(destination, signal) : undefined
    if (signal.aborted || enforced === 'abandoned') return siteOfAbandoned()
    const isProofAsked = line === undefined ? this.#options.dane === true : isDane(line.level)
    const hosts = await (isProofAsked
      ? this.#provenHostsOf(destination, line, enforced, signal)
      : this.#hostsOf(destination, line, enforced, signal))
    // An unproven answer of the DNS ends no mail of a domain that asks for proof.
    if ('kind' in hosts)
      return enforced !== undefined && hosts.kind === 'failed'
        ? { kind: 'site', status: '4.4.4', reason: hosts.reason }
        : forOwnDomain(request, hosts)
    return hosts.map((host) => placeOf(host, destination.port))
  }

  /** @returns the domain's MTA-STS policy if it is enforced; 'abandoned' if the attempt ended
   * first */
  async #enforcedBy(destination: Nexthop, signal: AbortSignal): Promise<StsPolicy | 'abandoned' | undefined> {
    if (destination.kind !== 'domain' || this.#mtaSts === undefined || signal.aborted) return undefined
    const controller = new AbortController()
    const unbind = onAbort(signal, () => controller.abort())
    this.#waiting.add(controller)
    const policy = await this.#mtaSts.policyOf(destination.name, controller.signal)
    this.#waiting.delete(controller)
    unbind()
    if (controller.signal.aborted) return 'abandoned'
    return policy?.mode === 'enforce' ? policy : undefined
  }

  async #hostsOf(
    destination: Nexthop,
    line: TlsPolicy | undefined,
    enforced: StsPolicy | undefined,
    signal: AbortSignal,
  ): Promise<FoundHosts> {
    const isAllowed = (name: string): boolean => enforced === undefined || allowsMailHost(enforced, name)
    const byName = enforced !== undefined || (line !== undefined && isVerifying(line.level))
    const hosts = await withQuestions(
      { resolver: this.#options.resolver, clock: this.#clock, timeoutMs: this.#timeoutMs },
      signal,
      (resolver, questions) =>
        mailHosts(destination, { ...this.#here, resolver, questions, isAllowed, byName }),
    )
    if ('kind' in hosts) return hosts
    if (line !== undefined)
      return hosts.map((host) => ({ ...host, tls: demandOf(line, host.name, destination) }))
    return enforced === undefined ? hosts : hosts.map((host) => ({ ...host, tls: verifiedFor(host) }))
  }

  /** Hosts by DANE; without records, the usual ones. */
  async #provenHostsOf(
    destination: Nexthop,
    line: TlsPolicy | undefined,
    enforced: StsPolicy | undefined,
    signal: AbortSignal,
  ): Promise<FoundHosts> {
    const client = new DnsClient(this.#daneServers ?? systemDnsServers(), this.#clock)
    const answers = new DnssecAnswers(client)
    // A proven answer of the DNS names the domain's hosts as well as a policy does.
    const isAllowed = (name: string): boolean =>
      enforced === undefined || answers.mailHosts?.isProven === true || allowsMailHost(enforced, name)
    try {
      return await withQuestions(
        { resolver: answers, clock: this.#clock, timeoutMs: this.#timeoutMs },
        signal,
        async (resolver, questions) => {
          const asked = { ...this.#here, resolver, questions, isAllowed, byName: true }
          const hosts = await mailHosts(destination, asked)
          if ('kind' in hosts) return hosts
          const isOnly = line?.level === 'dane-only'
          const demands = await daneDemands(hosts, destination, isOnly, answers, questions)
          return hosts.map((host): FoundHost => {
            const tls = demands.get(host.name)
            if (line !== undefined) return { ...host, tls: tls ?? { level: 'may' } }
            // A policy asks for more than unusable records do.
            return enforced !== undefined && (tls === undefined || tls.level === 'encrypt')
              ? { ...host, tls: policyFor(host, enforced) }
              : { ...host, tls }
          })
        },
      )
    } finally {
      client.close()
    }
  }
}

function mtaStsOf({
  mtaSts = false,
  resolver,
  clock,
  sourceAddresses,
}: MxTransportOptions): MtaSts | undefined {
  if (mtaSts === false) return undefined
  if (mtaSts !== true) return mtaSts
  return new MtaSts({
    ...(resolver === undefined ? undefined : { resolver }),
    ...(clock === undefined ? undefined : { clock }),
    sourceAddresses,
  })
}

const policyFor = (host: MailHost, policy: StsPolicy): TlsDemand =>
  allowsMailHost(policy, host.name)
    ? verifiedFor(host)
    : { level: 'unmet', reason: "it is none of the hosts of the domain's MTA-STS policy" }

/** @see RFC 8461 §4.2 */
const verifiedFor = ({ name }: MailHost): TlsDemand => ({ level: 'verified', names: [name], isAltName: true })

/** A verdict on the nexthop counts for the recipients only if it is their own domain. */
function forOwnDomain(
  { nexthop, recipients }: DeliveryRequest,
  verdict: Outcome | SiteTrouble,
): Outcome | SiteTrouble {
  if (verdict.kind !== 'failed') return verdict
  const isOwn = recipients.every((recipient) => asciiName(domainOf(recipient)) === asciiName(nexthop))
  return isOwn ? verdict : { kind: 'site', status: '4.3.5', reason: verdict.reason }
}

const placeOf = ({ name, address, tls }: FoundHost, port: number): Place => {
  const isNamed = isIP(name) === 0
  const servername = tls?.level === 'dane' ? tls.base : name
  return {
    name: `${isNamed ? name : ''}[${address}]:${port}`,
    host: address,
    port,
    isFound: true,
    ...(isNamed ? { servername } : undefined),
    ...(tls === undefined ? undefined : { tls }),
  }
}
