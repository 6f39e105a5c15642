/** The domains whose mail is taken from every client, like Postfix's relay_domains and
 * relay_recipient_maps: a line is `example.com`, `.example.com` (what is below it) or
 * `user@example.com`. Pure.
 * Invariant: a stranger's mail goes to a domain that a line names, whatever stands before the last
 * @. A domain with lines for addresses and none for itself has no other address:
 *    1. a spammer writes to thousands of unknown users, with forged senders
 *    2. the relay takes all of it, and the server behind refuses it
 *    3. the forged senders get thousands of reports */
import { WaybillError } from '../../errors.js'
import { splitAddress } from './address-extension.js'
import { addressKeys, patternKey } from './address-pattern.js'
import { tableLines } from './table-lines.js'

/** At least one line. It can be told to another thread. */
export interface RelayDomains {
  /** Keys of address-pattern.ts. */
  readonly lines: ReadonlySet<string>
  /** Those with a line for an address of theirs. */
  readonly domainsOfAddresses: ReadonlySet<string>
  /** What stands before an extension, which an address may have that a line names without; '' when
   * there are none. */
  readonly delimiters: string
}

/** Of a recipient: open to all senders; no such user; or another domain. */
export type Standing = 'listed' | 'unknown' | 'elsewhere'

/** @param delimiters of address-extension.ts, default none
 * @throws WaybillError OPTION_INVALID with path and line */
export function relayDomainsIn(text: string, path: string, delimiters = ''): RelayDomains {
  const lines = new Set<string>()
  const domainsOfAddresses = new Set<string>()
  const option = 'relay-domains'
  for (const { text: line, place } of tableLines(text, option, path)) {
    const bad = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
    const pattern = line.trim()
    const key = patternKey(pattern)
    if (key === undefined || key.includes('['))
      throw bad(
        `${pattern} is no domain and no address: a line is example.com, .example.com or user@example.com`,
      )
    if (lines.has(key)) throw bad(`${pattern} has a line above`)
    lines.add(key)
    if (key.includes('@')) domainsOfAddresses.add(addressKeys(key)[1])
  }
  if (lines.size === 0) throw new WaybillError('OPTION_INVALID', 'there is no domain', { option, path })
  return { lines, domainsOfAddresses, delimiters }
}

/** @param recipient without a domain it is the postmaster: always ours, RFC 5321 §4.5.1 */
export function standingOf(
  { lines, domainsOfAddresses, delimiters }: RelayDomains,
  recipient: string,
): Standing {
  if (!recipient.includes('@')) return 'listed'
  const [self, domain, ...above] = addressKeys(recipient)
  if (lines.has(self)) return 'listed'
  const bare = splitAddress(self, delimiters)?.bare
  if (bare === undefined || !lines.has(bare)) {
    if (!lines.has(domain) && domainsOfAddresses.has(domain))
      return self === `postmaster@${domain}` ? 'listed' : 'unknown'
    if (![domain, ...above].some((key) => lines.has(key))) return 'elsewhere'
  }
  //    1. a stranger sends to `user%example.net@example.com`
  //    2. the server of example.com trusts us, and reads it as `user@example.net`
  return isRouted(recipient) ? 'elsewhere' : 'listed'
}

/** Says on its own where it goes from there, in the ways of former days.
 * @see Postfix allow_untrusted_routing */
export const isRouted = (address: string): boolean => /[%!@].*@/.test(address)
