/** Decides whether a recipient is ours, by the tables of relay domains and aliases. Pure.
 * Invariant: everyone may write to an alias, and its addresses need no line of relay domains. A
 * stranger reaches the addresses that the tables name, and no other. */
import { addressKey, localPartOf } from './address-pattern.js'
import { expanded, isTarget, lineFor, type Aliases } from './aliases.js'
import { isRouted, standingOf, type RelayDomains, type Standing } from './relay-domains.js'

export interface OwnMail {
  readonly relayDomains?: RelayDomains | undefined
  readonly aliases?: Aliases | undefined
}

/** @param usual without a table of relay domains */
export function standingBy({ relayDomains, aliases }: OwnMail, recipient: string, usual: Standing): Standing {
  const standing = relayDomains === undefined ? usual : standingOf(relayDomains, recipient)
  if (aliases === undefined || !recipient.includes('@')) return standing
  const line = lineFor(aliases, recipient)
  if (line === 'own') return 'listed'
  //    1. a line is `@old.example @new.example`
  //    2. a stranger sends to `user%example.net@old.example`
  //    3. the server of new.example trusts us
  if (line === undefined || isRouted(recipient)) return standing
  // A recipient that a line names is there.
  if (line !== 'same users') return 'listed'
  const isUnknown = (address: string): boolean =>
    localOf(address) === localOf(recipient) &&
    relayDomains !== undefined &&
    standingOf(relayDomains, address) === 'unknown'
  const became = expanded(aliases, recipient)
  return became !== undefined && [...became.values()].every(isUnknown) ? 'unknown' : 'listed'
}

const localOf = (address: string): string => localPartOf(addressKey(address))

/** Its domain, or the address, has a line in the table of relay domains. */
export const isForRelayDomain = ({ relayDomains }: OwnMail, recipient: string): boolean =>
  relayDomains !== undefined && standingOf(relayDomains, recipient) !== 'elsewhere'

/** Whether a stranger may have sent to all of them: a signature would say that the mail is ours.
 *    1. a stranger sends in the name of the director to a mailbox there, and it is signed on its
 *       way in
 *    2. with that signature it goes to the world
 * @param hostname what we call ourselves, whose postmaster is written to without a domain */
export function mayBeOfStrangers(
  { relayDomains, aliases }: OwnMail,
  recipients: readonly string[],
  hostname: string,
): boolean {
  const postmaster = `postmaster@${hostname}`.toLowerCase()
  const isOurs = (recipient: string): boolean =>
    relayDomains !== undefined &&
    (recipient.toLowerCase() === postmaster || standingOf(relayDomains, recipient) !== 'elsewhere')
  return recipients.every(
    (recipient) => isOurs(recipient) || (aliases !== undefined && isTarget(aliases, recipient)),
  )
}
