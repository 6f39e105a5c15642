/** A nexthop: text → what to look for. Pure.
 * Invariant: a name is one that the DNS can carry, in ASCII and lower case, without a dot at its
 * end. As in Postfix, brackets mean that host and not the mail hosts of a domain, and so does an
 * address without them. */
import { isIP, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import { comparableDomain } from '../../base/mail-address.js'

export type Nexthop = { readonly port: number } & (
  | { readonly kind: 'domain' | 'host'; readonly name: string }
  | { readonly kind: 'address'; readonly address: string }
)

const form = /^(?:\[(?:IPv6:)?([^\]\s]+)\]|([^:\s[\]]+))(?::(\d{1,5}))?$/i
const hostName = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/

/** Of what `asciiName` wrote. */
export const isHostName = (name: string): boolean => hostName.test(name)

export interface NexthopParts {
  /** Without brackets. */
  readonly text: string
  readonly inBrackets: boolean
  readonly port: number
}

/** `TEXT`, `[TEXT]` or `[IPv6:TEXT]`, each also with `:PORT`.
 * @returns undefined for anything else */
export function nexthopParts(nexthop: string, portDefault: number): NexthopParts | undefined {
  const match = form.exec(nexthop)
  if (match === null) return undefined
  const [, bracketed, plain = ''] = match
  const port = Number(match[3] ?? portDefault)
  // Nodemailer takes 0 for a missing port, and uses its default.
  if (port < 1 || port > 65_535) return undefined
  return { text: bracketed ?? plain, inBrackets: bracketed !== undefined, port }
}

/** For `mxTransport`: TEXT is a domain, in brackets a host, or an address.
 * @returns undefined for anything else */
export function readNexthop(nexthop: string, portDefault: number): Nexthop | undefined {
  const parts = nexthopParts(nexthop, portDefault)
  if (parts === undefined) return undefined
  const { text, inBrackets, port } = parts
  if (isIP(text) !== 0) return { kind: 'address', address: text, port }
  const name = asciiName(text)
  if (!isHostName(name) || isIP(name) !== 0) return undefined
  return { kind: inBrackets ? 'host' : 'domain', name, port }
}

/** For comparing; '' for what has no form in the DNS. */
export function asciiName(name: string): string {
  // Node takes more for a name than what it has to turn into ASCII: `0x7f.1`.
  if (isPlain(name)) return comparableDomain(name)
  return isOfUrl.test(name) ? '' : comparableDomain(domainToASCII(name))
}

const isPlain = (name: string): boolean => /^[\x21-\x7e]*$/.test(name)
/** Node reads a name as what begins a URL: it cuts off what is behind, passes over a tab and takes
 * `%41` for a letter.
 *    1. a line of a table is `example.org`, a tab and `OK`
 *    2. it is for the domain example.orgok, without an error */
const isOfUrl = /[\t\n\r%/\\?#:@]/

/** One form of an address, to be compared: IPv4 in IPv6 is IPv4, and what means no address at all
 * means this machine. */
export function plainAddress(address: string): string {
  const text = isIPv6(address)
    ? new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1)
    : address
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text)
  if (mapped !== null) {
    const bits = (Number.parseInt(mapped[1]!, 16) << 16) | Number.parseInt(mapped[2]!, 16)
    return plainAddress([24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.'))
  }
  return text === '0.0.0.0' ? '127.0.0.1' : text === '::' ? '::1' : text
}
