/** Checks mail addresses: local@domain, where the local part may be quoted and the domain a
 * literal.
 * Invariant: an accepted address cannot be read as two addresses, and cannot break a line. Only the
 * transport knows whether it can be delivered. */

/** Octets of an address: more than SMTP's 256 for a path, less than a line. */
export const addressBytesMax = 512

const pattern = /^(?:"(?:[^"\\]|\\.)+"|[^\s"@<>()[\],;:\\]+)@(?:\[[^\s[\]\\<>"@]+\]|[^\s"@<>()[\],;:\\]+)$/u
const forbidden = /[\p{Cc}\p{Cs}\u2028\u2029]/u
/** The common kind, in ASCII, recognised by one cheap test. */
const plain = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]{1,64}@[A-Za-z0-9.-]{1,255}$/

/** `international` needs SMTPUTF8 on the way; undefined is no address. */
export function addressKind(text: string): 'ascii' | 'international' | undefined {
  if (plain.test(text)) return 'ascii'
  if (Buffer.byteLength(text) > addressBytesMax || forbidden.test(text) || !pattern.test(text))
    return undefined
  return isInternational(text) ? 'international' : 'ascii'
}

export const isMailAddress = (text: string): boolean => addressKind(text) !== undefined

/** Needs SMTPUTF8 on the way. */
export function isInternational(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return true
  return false
}

/** The same address without quotes that it does not need in a table or a log: by RFC 5321 §4.1.2
 * both forms mean one mailbox. Where it needs them, quotes and backslashes alone have a backslash
 * before them. */
export function withoutNeedlessQuotes(address: string): string {
  if (!address.startsWith('"') || !isMailAddress(address)) return address
  const at = address.lastIndexOf('@')
  const local = address.slice(1, at - 1).replace(/\\(.)/gsu, '$1')
  const bare = local + address.slice(at)
  if (isMailAddress(bare) && !bare.startsWith('"')) return bare
  return quotedAddress(local, address.slice(at + 1))
}

/** With the quotes that a path needs by RFC 5321 §4.1.2, and that people leave out where dots stand
 * at the ends of a name or side by side. @see Postfix smtp_quote_rfc821_envelope */
export function withNeededQuotes(address: string): string {
  const local = address.slice(0, address.lastIndexOf('@'))
  if (local.startsWith('"') || !/^\.|\.\.|\.$/.test(local)) return address
  return quotedAddress(local, domainOf(address))
}

/** @param local as it is meant, without quotes */
export const quotedAddress = (local: string, domain: string): string =>
  '"' + local.replace(/["\\]/g, '\\$&') + '"@' + domain

/** Behind a domain it says that nothing is missing, and it has no place in SMTP: servers refuse it.
 * @see Postfix trivial-rewrite(8) */
export const withoutFinalDot = (address: string): string =>
  /[^.@]\.$/.test(address) && address.includes('@') ? address.slice(0, -1) : address

/** As it is written. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

/** For comparing domains: in lower case, without the dot at the end; '' for the root. */
export const comparableDomain = (domain: string): string => domain.toLowerCase().replace(/\.$/, '')

export const comparableDomainOf = (address: string): string => comparableDomain(domainOf(address))

/** Is the recipient among them, and one of the domain? What is undefined is not asked for.
 * @param domain in comparable form */
export const includeWanted = (
  addresses: readonly string[],
  { recipient, domain }: { readonly recipient?: string | undefined; readonly domain?: string | undefined },
): boolean =>
  (recipient === undefined || addresses.includes(recipient)) &&
  (domain === undefined || addresses.some((address) => comparableDomainOf(address) === domain))
