/** Delivery over SMTP to the servers of each domain.
 * Invariant: the nexthop is the domain of the recipients, so that each domain is one destination; what is done with its servers is said in
 * smtp-delivery.ts, which they are in mail-hosts.ts, and what their TLSA records ask in dane-hosts.ts. The DNS is asked at every attempt:
 * nothing of it is remembered here, but that domains have an MTA-STS policy (mta-sts.ts).
 *
 * A nexthop that somebody else has chosen (an operator's `reroute`, an embedder's `route`) fails no mail, however wrong: as with Postfix's
 * relayhost, that is put off with 4.3.5 until it is mended.
 *
 * Addresses are asked of the DNS and not of the system, which would look into /etc/hosts, too: Node asks the system on the threads that
 * write the queue's files, four of them, so that a resolver that is silent would hold up mail that has nothing to do with it;
 * and the system does not tell a host that is not there from a resolver that is not. */
import { hostname as machineName } from 'node:os'
import { isIP } from 'node:net'
import { systemClock } from '../../base/clock.js'
import { domainOf } from '../../base/mail-address.js'
import { onAbort } from '../../base/on-abort.js'
import { systemPrng } from '../../base/prng.js'
import type { DeliveryRequest, Outcome, SiteTrouble, Transport } from '../../delivery/transport.js'
import { daneDemands } from '../tls/dane-hosts.js'
import { signerOf } from '../dkim/dkim-signer.js'
import { DnsClient } from '../dns/dns-client.js'
import { withQuestions } from '../dns/dns-questions.js'
import { systemDnsServers } from '../dns/dns-servers.js'
import { asciiName, readDestination, type MailDestination } from '../tables/mail-destination.js'
import { mailHosts, type MailHost } from '../dns/mail-hosts.js'
import { MtaSts } from '../tls/mta-sts.js'
import { allowsMailHost, type StsPolicy } from '../tls/mta-sts-policy.js'
import { checkMxOptions, checkProofs, daneServersOf, type MxTransportOptions } from './mx-out-options.js'
import { smtpDelivery, type Places } from './smtp-delivery.js'
import { OutSessions, siteOfAbandoned, type Place } from './out-sessions.js'
import { ProvenAnswers } from '../dns/proven-answers.js'
import { sourceAddressesOf } from '../dns/source-addresses.js'
import {
  demandOf,
  isDane,
  isVerifying,
  tlsPoliciesOf,
  type TlsDemand,
  type TlsPolicy,
} from '../tls/tls-policy.js'

/** What was asked of TLS by who looked for them. */
interface FoundHost extends MailHost {
  readonly tls?: TlsDemand | undefined
}

type FoundHosts = readonly FoundHost[] | Outcome | SiteTrouble

/** For one queue at a time, and its next life, as `smtpTransport`.
 * @throws WaybillError OPTION_INVALID */
export function mxTransport(options: MxTransportOptions = {}): Transport {
  checkMxOptions(options)
  const { hostname = machineName(), listeners = [], clock = systemClock, prng = systemPrng() } = options
  const { port = 25, lookupTimeoutMs: timeoutMs = 30_000 } = options
  const here = { own: { hostname, listeners }, prng, sources: sourceAddressesOf(options.sourceAddresses) }
  const signer = signerOf(options)
  const policies = tlsPoliciesOf(options.tlsPolicy ?? [], true)
  checkProofs(options, policies)
  const daneServers = daneServersOf(options.daneServers)
  const mtaSts = mtaStsOf(options)
  /** Of attempts that wait for a policy. */
  const waiting = new Set<AbortController>()

  async function placesOf(request: DeliveryRequest, signal: AbortSignal): Promise<Places> {
    const { nexthop } = request
    const destination = readDestination(nexthop, port)
    if (destination === undefined)
      return forOwnDomain(request, { kind: 'failed', status: '5.1.2', reason: `${nexthop} is no domain` })
    const line = policies.for(destination)
    const enforced = line === undefined ? await enforcedBy(destination, signal) : undefined
    if (signal.aborted || enforced === 'abandoned') return siteOfAbandoned()
    const isProofAsked = line === undefined ? options.dane === true : isDane(line.level)
    const hosts = await (isProofAsked ? provenHostsOf : hostsOf)(destination, line, enforced, signal)
    // What the DNS says without proof ends no mail whose domain has asked for proof.
    if ('kind' in hosts)
      return enforced !== undefined && hosts.kind === 'failed'
        ? { kind: 'site', status: '4.4.4', reason: hosts.reason }
        : forOwnDomain(request, hosts)
    return hosts.map((host) => placeOf(host, destination.port))
  }

  /** @returns the domain's MTA-STS policy when it asks for something. Who did not wait for it has none to go without. */
  async function enforcedBy(
    destination: MailDestination,
    signal: AbortSignal,
  ): Promise<StsPolicy | 'abandoned' | undefined> {
    if (destination.kind !== 'domain' || mtaSts === undefined || signal.aborted) return undefined
    const controller = new AbortController()
    const unbind = onAbort(signal, () => controller.abort())
    waiting.add(controller)
    const policy = await mtaSts.policyOf(destination.name, controller.signal)
    waiting.delete(controller)
    unbind()
    if (controller.signal.aborted) return 'abandoned'
    return policy?.mode === 'enforce' ? policy : undefined
  }

  async function hostsOf(
    destination: MailDestination,
    line: TlsPolicy | undefined,
    enforced: StsPolicy | undefined,
    signal: AbortSignal,
  ): Promise<FoundHosts> {
    const isAllowed = (name: string): boolean => enforced === undefined || allowsMailHost(enforced, name)
    const byName = enforced !== undefined || (line !== undefined && isVerifying(line.level))
    const hosts = await withQuestions(
      { resolver: options.resolver, clock, timeoutMs },
      signal,
      (resolver, questions) => mailHosts(destination, { ...here, resolver, questions, isAllowed, byName }),
    )
    if ('kind' in hosts) return hosts
    if (line !== undefined)
      return hosts.map((host) => ({ ...host, tls: demandOf(line, host.name, destination) }))
    return enforced === undefined ? hosts : hosts.map((host) => ({ ...host, tls: verifiedFor(host) }))
  }

  /** As DANE has it; where that says nothing, as it is without. */
  async function provenHostsOf(
    destination: MailDestination,
    line: TlsPolicy | undefined,
    enforced: StsPolicy | undefined,
    signal: AbortSignal,
  ): Promise<FoundHosts> {
    const client = new DnsClient(daneServers ?? systemDnsServers(), clock)
    const answers = new ProvenAnswers(client)
    // That they are the domain's says the DNS as well as a policy when it is proven.
    const isAllowed = (name: string): boolean =>
      enforced === undefined || answers.mailHosts?.isProven === true || allowsMailHost(enforced, name)
    try {
      return await withQuestions(
        { resolver: answers, clock, timeoutMs },
        signal,
        async (resolver, questions) => {
          const asked = { ...here, resolver, questions, isAllowed, byName: true }
          const hosts = await mailHosts(destination, asked)
          if ('kind' in hosts) return hosts
          const isOnly = line?.level === 'dane-only'
          const demands = await daneDemands(hosts, destination, isOnly, answers, questions)
          return hosts.map((host): FoundHost => {
            const tls = demands.get(host.name)
            if (line !== undefined) return { ...host, tls: tls ?? { level: 'may' } }
            // A policy asks for more than records of which none can be used.
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

  const delivery = smtpDelivery(new OutSessions(options), placesOf, signer)
  return {
    ...delivery,
    close: () => {
      for (const controller of waiting) controller.abort()
      // One that was given has other users.
      if (options.mtaSts === true) mtaSts?.close()
      delivery.close?.()
    },
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

/** What says that the recipients' domain takes no mail says nothing of them when their mail was sent elsewhere. */
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
