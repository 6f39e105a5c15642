/** The TLS policy of destinations, like Postfix's smtp_tls_policy_maps. Pure.
 * Invariant: a destination has at most one exact line, and its narrowest line applies:
 * `[host]:port` before `[host]`, a domain before those that it is below. A server that is named as
 * the nexthop is no domain: lines in brackets alone are about it.
 *
 * `[host]` is meant whatever the port. In Postfix it is a nexthop without one:
 *    1. relayhost = [mail.example.net]:587
 *    2. a line `[mail.example.net] secure`
 *    3. it has no effect, and no error is reported */
import { checkOptionNames } from '../../base/options.js'
import { WaybillError, type Place } from '../../errors.js'
import { domainKeys } from '../tables/address-pattern.js'
import type { DanePeer } from './dane-check.js'
import { asciiName, isHostName, plainAddress, readNexthop, type Nexthop } from '../tables/nexthop.js'

export const tlsLevels = ['none', 'may', 'encrypt', 'dane', 'dane-only', 'verify', 'secure'] as const

export type TlsLevel = (typeof tlsLevels)[number]

export interface TlsPolicyLine {
  /** A nexthop: `[host]`, with any port, or `[host]:port`. For `mxTransport` also a domain, or
   * `.domain` for all domains below it. */
  readonly destination: string
  /** `none`: never encrypted. `may`: as `tls: 'opportunistic'`. With all other levels mail is
   * deferred where TLS fails. `encrypt`: no certificate is checked, except where `tlsOptions`
   * ask for that. `verify`: a certificate of a trusted root for the name of the server, which
   * for mail hosts of a domain comes from the DNS. `secure`: one for the name of the
   * destination, or for a name below it. `dane`, for `mxTransport`: as the server's TLSA
   * records say, and as `may` without records. `dane-only`: mail is deferred without records. */
  readonly level: TlsLevel
  /** For `verify` and `secure`: names in place of the ones above; the certificate must have one.
   * Each is a domain, `.domain` (all names below it), `hostname` (the server), `nexthop` (the
   * destination), or `dot-nexthop` (all names below the destination). */
  readonly match?: readonly string[]
}

export interface TlsPolicy {
  readonly level: TlsLevel
  /** As in a line. */
  readonly match: readonly string[]
  /** For errors. */
  readonly place: Place
}

/** What is asked of one server. */
export type TlsDemand =
  | { readonly level: 'none' | 'may' | 'encrypt' }
  /** The peer that its TLSA records name; TLS asks for `base`. */
  | { readonly level: 'dane'; readonly base: string; readonly peer: DanePeer }
  /** What cannot be had, or is not known: nothing is sent there. */
  | { readonly level: 'unmet'; readonly reason: string }
  /** A certificate of a trusted root for one of these names; one that begins with a dot stands
   * for all below it. */
  | {
      readonly level: 'verified'
      readonly names: readonly string[]
      /** The name has to be one of the certificate's alternative names; else that of its subject
       * does where it has none. */
      readonly isAltName?: true
    }

/** Postfix has them. */
const foreignLevels: ReadonlyMap<string, string> = new Map([
  ['half-dane', 'TLSA records are all or nothing: dane'],
  ['fingerprint', 'certificates are checked by roots and names'],
])

const matchDefault: Readonly<Partial<Record<TlsLevel, readonly string[]>>> = {
  verify: ['hostname'],
  secure: ['nexthop', 'dot-nexthop'],
}

/** TLSA records say what is asked. */
export const isDane = (level: TlsLevel): level is 'dane' | 'dane-only' =>
  level === 'dane' || level === 'dane-only'

/** It proves who the server is. */
export const isVerifying = (level: TlsLevel): boolean => matchDefault[level] !== undefined

/** Mail may go without TLS. */
export const allowsPlaintext = (level: TlsLevel): boolean =>
  level === 'none' || level === 'may' || level === 'dane'

export class TlsPolicies {
  readonly #byKey = new Map<string, TlsPolicy>()
  readonly #findsMailHosts: boolean

  /** @param findsMailHosts of a nexthop that is a domain; otherwise each is a server */
  constructor(findsMailHosts: boolean) {
    this.#findsMailHosts = findsMailHosts
  }

  /** @param place of what is wrong, for the error @throws WaybillError OPTION_INVALID */
  add({ destination, level, match }: TlsPolicyLine, place: Place): void {
    const bad = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
    const key = typeof destination === 'string' ? keyOf(destination) : undefined
    if (key === undefined) throw bad(`${String(destination)} is no domain, .domain, [host] or [host]:port`)
    if (!key.startsWith('[') && !this.#findsMailHosts)
      throw bad(`${destination} is no server, which stands in brackets; domains have lines with --direct`)
    if (this.#byKey.has(key)) throw bad(`${destination} has a line above`)
    const missing = foreignLevels.get(level)
    if (missing !== undefined) throw bad(`the level ${level} is not here: ${missing}`)
    if (!tlsLevels.includes(level)) throw bad(`${String(level)} is none of ${tlsLevels.join(', ')}`)
    if (isDane(level) && !this.#findsMailHosts)
      throw bad(`the level ${level} is for servers that are looked for in the DNS: --direct`)
    this.#byKey.set(key, { level, match: matchOf(level, match, bad), place })
  }

  get hasDane(): boolean {
    return [...this.#byKey.values()].some(({ level }) => isDane(level))
  }

  /** @returns undefined for a destination without a line */
  for(destination: Nexthop): TlsPolicy | undefined {
    if (destination.kind !== 'domain') {
      const server = `[${serverName(destination)}]`
      return this.#byKey.get(`${server}:${destination.port}`) ?? this.#byKey.get(server)
    }
    const key = domainKeys(destination.name).find((one) => this.#byKey.has(one))
    return key === undefined ? undefined : this.#byKey.get(key)
  }
}

/** @param lines the option `tlsPolicy` @throws WaybillError OPTION_INVALID */
export function tlsPoliciesOf(lines: readonly TlsPolicyLine[], findsMailHosts: boolean): TlsPolicies {
  if (!Array.isArray(lines))
    throw new WaybillError('OPTION_INVALID', 'expected a list of lines', { option: 'tlsPolicy' })
  const policies = new TlsPolicies(findsMailHosts)
  for (const [index, line] of (lines as readonly TlsPolicyLine[]).entries()) {
    const option = `tlsPolicy[${index}]`
    checkOptionNames(line, { destination: true, level: true, match: true }, option)
    policies.add(line, { option })
  }
  return policies
}

/** @param hostname of the server, in ASCII and lower case, or its address */
export function demandOf({ level, match }: TlsPolicy, hostname: string, destination: Nexthop): TlsDemand {
  if (isDane(level)) return { level: 'unmet', reason: 'no TLSA records were asked for' }
  if (level !== 'verify' && level !== 'secure') return { level }
  const nexthop = serverName(destination)
  const meant = new Map([
    ['hostname', hostname],
    ['nexthop', nexthop],
    ['dot-nexthop', `.${nexthop}`],
  ])
  return { level: 'verified', names: match.map((name) => meant.get(name) ?? name) }
}

const serverName = (destination: Nexthop): string =>
  destination.kind === 'address' ? plainAddress(destination.address) : destination.name

/** One form of each destination; undefined for an invalid one. */
function keyOf(text: string): string | undefined {
  if (text.startsWith('.')) {
    const name = asciiName(text.slice(1))
    return isHostName(name) ? `.${name}` : undefined
  }
  const destination = readNexthop(text, 25)
  if (destination === undefined) return undefined
  const hasPort = /:\d+$/.test(text)
  // A port is one of a server.
  if (destination.kind === 'domain') return hasPort ? undefined : destination.name
  return `[${serverName(destination)}]${hasPort ? `:${destination.port}` : ''}`
}

function matchOf(
  level: TlsLevel,
  match: TlsPolicyLine['match'],
  bad: (reason: string) => WaybillError,
): readonly string[] {
  const usual = matchDefault[level]
  if (match === undefined) return usual ?? []
  if (usual === undefined) throw bad(`no name is looked at with ${level}: that takes verify or secure`)
  if (!Array.isArray(match) || match.length === 0) throw bad('there is no name to match')
  return match.map((given: unknown) => {
    const text = typeof given === 'string' ? given : ''
    const dot = text.startsWith('.') ? '.' : ''
    const name = asciiName(text.slice(dot.length))
    if (!isHostName(name)) throw bad(`${String(given)} is no name of a certificate`)
    return dot + name
  })
}
