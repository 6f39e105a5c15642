/** The patterns for addresses in tables: `user@example.net`, `example.net`, or `.example.net` (what
 * is below it). Pure.
 * Invariant: capitals are the same, and so are a name and its form in the DNS, and a local part
 * with and without quotes. Of an address the domain behind the last @ decides. */
import { domainOf, isMailAddress, withoutNeedlessQuotes } from '../../base/mail-address.js'
import { asciiName, isHostName } from './nexthop.js'

/** @returns a key of `addressKeys`; undefined for what is no pattern */
export function patternKey(pattern: string): string | undefined {
  const at = pattern.lastIndexOf('@')
  const dot = pattern.startsWith('.') ? '.' : ''
  const domain = asciiName(pattern.slice(at < 0 ? dot.length : at + 1))
  if (!isHostName(domain) && !isLiteral(domain)) return undefined
  if (at < 0) return dot + domain
  return isMailAddress(pattern) ? `${plainLocalOf(pattern)}@${domain}` : undefined
}

const isLiteral = (domain: string): boolean => /^\[(?:ipv6:[\da-f:.]+|[\d.]+)\]$/.test(domain)

/** Of the patterns that an address has, the narrowest first: itself, its domain, and
 * what it is below. */
export function addressKeys(address: string): [self: string, domain: string, ...above: string[]] {
  return [addressKey(address), ...domainKeys(asciiName(domainOf(address)))]
}

/** The address itself. A domain that the DNS has no name for is not the same as another one:
 *    1. a message is for the same user at two such
 *    2. both are known by what is before the @
 *    3. of the second nobody hears again */
export const addressKey = (address: string): string =>
  `${plainLocalOf(address)}@${asciiName(domainOf(address)) || domainOf(address)}`

/** The first address of each mailbox. Text that is no address stays, to be refused. */
export function distinctMailboxes(addresses: readonly string[]): string[] {
  const byKey = new Map<string, string>()
  for (const address of addresses) {
    const key = isMailAddress(address) ? addressKey(address) : address
    if (!byKey.has(key)) byKey.set(key, address)
  }
  return [...byKey.values()]
}

/** For comparing. */
const plainLocalOf = (address: string): string => localPartOf(withoutNeedlessQuotes(address)).toLowerCase()

/** As it is written. */
export const localPartOf = (address: string): string => address.slice(0, address.lastIndexOf('@'))

/** The same of a domain. @param domain from `asciiName` */
export function domainKeys(domain: string): [domain: string, ...above: string[]] {
  const above: string[] = []
  for (let dot = domain.indexOf('.'); dot >= 0; dot = domain.indexOf('.', dot + 1))
    above.push(domain.slice(dot))
  return [domain, ...above]
}
