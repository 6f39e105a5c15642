/** The servers that take mail for a domain, RFC 5321 §5.1: from the DNS, best first.
 * Invariant: mail fails only by an answer of the DNS, or by our own name; a question without an
 * answer defers it.
 *
 * | MX records | addresses | |
 * |---|---|---|
 * | some | some | these, by preference, and by chance among equals |
 * | null MX, RFC 7505 | – | failed, 5.1.10 |
 * | none | some | the domain is its own mail host |
 * | none | none | failed, 5.4.4 |
 * | no such name | no such name | failed, 5.1.2 |
 * | some | none | failed, 5.4.4 |
 * | unknown | – | put off, 4.4.3 |
 * | known | none, and one unknown | put off, 4.4.3 |
 * | some, we are one | of better ones | these: others might give the mail to us |
 * | some, we are the best | – | failed, 5.4.6 |
 * | some, we are one | of none better | put off, 4.4.4 |
 * | more than we ask for | none | put off, 4.4.4 |
 * | none that the domain's MTA-STS policy has | some | put off, 4.4.4 |
 * | some that it has | of others alone | put off, 4.4.4, or 4.4.3 where one is unknown |
 * | some | of a family that is not used alone | put off, 4.4.4, or 4.4.3 where one is unknown |
 *
 * @see Postfix smtp_addr.c, which has 5.4.4 for a name that does not exist, too, and 5.1.0
 * for the null MX */
import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { comparableDomain } from '../../base/mail-address.js'
import { below, type Prng } from '../../base/prng.js'
import type { Outcome, SiteTrouble } from '../../delivery/transport.js'
import { asciiName, plainAddress, type Nexthop } from '../tables/nexthop.js'
import type { DnsAnswer, DnsQuestions, MxResolver } from './dns-questions.js'
import { familiesOf, isReachedFrom, type SourceAddresses } from './source-addresses.js'

export interface MailHost {
  /** An address where there is no name. */
  readonly name: string
  readonly address: string
}

/** At least one; or what becomes of the mail. */
export type MailHosts = readonly MailHost[] | Outcome | SiteTrouble

/** Addresses that one attempt tries. @see Postfix smtp_mx_address_limit */
const addressesMax = 5
/** Hosts whose addresses are asked for, the best. */
const hostsMax = 20
/** Addresses of a host that are looked at, of each family. An answer of the DNS holds thousands: a
 * domain's owner could make each attempt for it block the process for seconds.
 * @see Postfix dns_rr.c, var_dns_rr_list_limit */
const hostAddressesMax = 100

export interface MailHostsPort {
  readonly resolver: MxResolver
  readonly questions: DnsQuestions
  readonly own: OwnServers
  readonly prng: Prng
  /** Names that mail may go to; default: all. */
  readonly isAllowed?: (name: string) => boolean
  /** From where they are to be reached. */
  readonly sources?: SourceAddresses
  /** One address under two names is two hosts: each proves its own. Default: it is tried once. */
  readonly byName?: boolean
}

interface Host {
  readonly name: string
  readonly preference: number
}

export async function mailHosts(destination: Nexthop, port: MailHostsPort): Promise<MailHosts> {
  if (destination.kind === 'address') {
    const { address } = destination
    if (ownAddresses(port.own, destination.port)(address)) return loops(address)
    return [{ name: address, address }]
  }
  const { name } = destination
  if (destination.kind === 'host')
    return hostsOf(name, [{ name, preference: 0 }], true, destination.port, port)
  const { resolver, questions } = port
  const answer = await questions.ask(`MX of ${name}`, () => resolver.resolveMx(name))
  if (answer.kind === 'unknown') return unknown(answer.reason)
  if (answer.kind !== 'records')
    return hostsOf(name, [{ name, preference: 0 }], answer.kind === 'no name', destination.port, port)
  const hosts = answer.records
    .map(({ exchange, priority }): Host => ({ name: comparableDomain(exchange), preference: priority }))
    .filter((host) => host.name !== '')
  if (hosts.length === 0)
    return { kind: 'failed', status: '5.1.10', reason: `${name} takes no mail: it has a null MX` }
  return hostsOf(name, hosts, false, destination.port, port)
}

/** @param mayBeNoName nothing has shown that the domain exists */
async function hostsOf(
  domain: string,
  all: readonly Host[],
  mayBeNoName: boolean,
  serverPort: number,
  { resolver, questions, own, prng, isAllowed = () => true, sources, byName = false }: MailHostsPort,
): Promise<MailHosts> {
  const ofOwnName = all.filter(({ name }) => isOwnName(own, name))
  let ownPreference = bestOf(ofOwnName)
  const better = all.filter(({ preference }) => preference < ownPreference)
  const sought = byPreference(shuffled(better, prng)).slice(0, hostsMax)
  const answers = await Promise.all(
    sought.map(async (host) => ({ host, answers: await addressesOf(host.name, resolver, questions) })),
  )
  const found = answers.flatMap(({ host, answers: both }) =>
    both
      .flatMap((answer) => (answer.kind === 'records' ? answer.records.slice(0, hostAddressesMax) : []))
      .map((address) => ({ ...host, address })),
  )
  const isOwnAddress = ownAddresses(own, serverPort)
  const ofOwnAddress = found.filter(({ address }) => isOwnAddress(address))
  ownPreference = Math.min(ownPreference, bestOf(ofOwnAddress))
  const hosts = found.filter(({ preference }) => preference < ownPreference)
  const allowed = hosts.filter(({ name }) => isAllowed(name))
  const reached = allowed.filter(({ address }) => isReachedFrom(sources, address))
  if (reached.length > 0) return chosen(byPreference(shuffled(reached, prng)), byName)
  if (hosts.length > 0 && !all.some(({ name }) => isAllowed(name)))
    return unreachable(`the MTA-STS policy of ${domain} has none of its mail hosts`)
  if (ownPreference === bestOf(all)) return loops(domain)

  const meant = hosts.length > 0 ? answers.filter(({ host }) => isAllowed(host.name)) : answers
  const both = meant.flatMap((host) => host.answers)
  const silent = both.find((answer) => answer.kind === 'unknown')
  if (silent !== undefined) return unknown(silent.reason)
  if (allowed.length > 0)
    return unreachable(`no mail host of ${domain} has an address of ${familiesOf(sources)}`)
  if (hosts.length > 0)
    return unreachable(`no mail host of ${domain} that its MTA-STS policy has has an address`)
  if (ownPreference < Infinity) return unreachable(`no mail host of ${domain} before this one has an address`)
  if (sought.length < all.length)
    return unreachable(`no mail host of ${domain} that was tried has an address`)
  return mayBeNoName && both.every(({ kind }) => kind === 'no name')
    ? { kind: 'failed', status: '5.1.2', reason: `there is no domain ${domain}` }
    : { kind: 'failed', status: '5.4.4', reason: `no mail host of ${domain} has an address` }
}

const bestOf = (hosts: readonly Host[]): number =>
  Math.min(Infinity, ...hosts.map(({ preference }) => preference))

/** Where a name is an address, as it should not be, that is meant. */
async function addressesOf(
  name: string,
  resolver: MxResolver,
  questions: DnsQuestions,
): Promise<readonly DnsAnswer<string>[]> {
  if (isIP(name) !== 0) return [{ kind: 'records', records: [name] }]
  return Promise.all([
    questions.ask(`AAAA of ${name}`, () => resolver.resolve6(name)),
    questions.ask(`A of ${name}`, () => resolver.resolve4(name)),
  ])
}

/** As many as are tried, each once. Where there are more, no family takes the places of the other:
 * a host with many addresses of IPv6 has to be reached from where there is none.
 * @see Postfix smtp_balance_inet_protocols */
function chosen(hosts: readonly (Host & MailHost)[], byName: boolean): readonly MailHost[] {
  const seen = new Set<string>()
  const different = hosts.filter(({ name, address }) => {
    const key = byName ? `${name} ${address}` : address
    const isNew = !seen.has(key)
    seen.add(key)
    return isNew
  })
  const count6 = different.filter(({ address }) => isIPv6(address)).length
  const count4 = different.length - count6
  const half = Math.floor(addressesMax / 2)
  let left6 = Math.min(count6, Math.max(half, addressesMax - count4))
  let left4 = addressesMax - left6
  return different
    .filter(({ address }) => (isIPv6(address) ? left6-- > 0 : left4-- > 0))
    .map(({ name, address }) => ({ name, address }))
}

function shuffled<T>(items: readonly T[], prng: Prng): T[] {
  const left = [...items]
  return items.map(() => left.splice(below(prng, left.length), 1)[0]!)
}

/** Stable. */
const byPreference = <T extends Host>(hosts: readonly T[]): T[] =>
  hosts.toSorted((a, b) => a.preference - b.preference)

const loops = (domain: string): Outcome => ({
  kind: 'failed',
  status: '5.4.6',
  reason: `mail for ${domain} loops back to myself`,
})

const unreachable = (reason: string): SiteTrouble => ({ kind: 'site', status: '4.4.4', reason })

const unknown = (reason: string): SiteTrouble => ({ kind: 'site', status: '4.4.3', reason })

/** Whether a mail host is ourselves.
 * Invariant: a host is ours that bears our name, or has an address and a port at which we
 * take mail. Mail that is given to oneself comes back, with a Received field more, until
 * somebody counts them. */
export interface OwnServers {
  /** What we call ourselves. */
  readonly hostname: string
  /** Where we take mail; `0.0.0.0` and `::` stand for all addresses of this machine. */
  readonly listeners: readonly { readonly host: string; readonly port: number }[]
}

const isOwnName = ({ hostname }: OwnServers, name: string): boolean => asciiName(hostname) === name

/** Asked once an attempt: addresses come and go, and the system takes a fraction of a millisecond
 * to tell them. All of 127.0.0.0/8 is this machine.
 * @returns whether mail comes in here at an address */
function ownAddresses({ listeners }: OwnServers, port: number): (address: string) => boolean {
  const hosts = listeners.filter((listener) => listener.port === port).map(({ host }) => host)
  if (hosts.length === 0) return () => false
  const isEvery = hosts.some((host) => host === '0.0.0.0' || host === '::')
  const own = new Set((isEvery ? [...hosts, ...addressesOfThisMachine()] : hosts).map(plainAddress))
  return (address) => {
    const plain = plainAddress(address)
    return own.has(plain) || (isEvery && plain.startsWith('127.'))
  }
}

const addressesOfThisMachine = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address))
