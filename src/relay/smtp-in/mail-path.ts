/** The path of MAIL FROM and RCPT TO, as a client wrote it, and what may stand in it. Pure.
 * Invariant: everything that RFC 5321 §4.1.2 allows is read, quoted local parts too. Dots at any
 * place and underscores in a domain are read as well: people have addresses such as
 * `ada.@mobile.example`, and a refusal loses their mail. A client that may relay gets more, as from
 * Postfix (strict_rfc821_envelopes = no): a path without brackets or with too many, blanks and
 * names within them, a name without a domain. Devices and programs that cannot be changed send such
 * paths. Quotes that an address does not need, and a dot behind its domain, are removed. */
import { isIPv4, isIPv6 } from 'node:net'
import { domainOf, isMailAddress, withoutFinalDot, withoutNeedlessQuotes } from '../../base/mail-address.js'

export interface MailPath {
  /** '' is the null path. Without a domain it has no `@`. */
  readonly address: string
  /** What follows the path: parameters. */
  readonly rest: string
}

const bracketed = /^<((?:"(?:[^"\\]|\\.)*"|[^"<>])*)>(?=\s|$)(.*)$/s
/** `< ada@example.org >`, `<<ada@example.org>>`, `<Ada <ada@example.org>>`. */
const spaced = /^<\s*((?:"(?:[^"\\]|\\.)*"|[^\s"<>])+)\s*>(?=\s|$)(.*)$/s
const nested = /^<[^<>"]*<\s*((?:"(?:[^"\\]|\\.)*"|[^\s"<>])+)\s*>\s*>(?=\s|$)(.*)$/s
/** Nothing but parameters may follow it: `Ada <ada@example.org>` is none. */
const bare = /^((?:"(?:[^"\\]|\\.)*"|[^\s"<>])+)((?:\s+[a-z0-9][a-z0-9-]*(?:=\S*)?)*)$/is
/** RFC 5321, appendix C: to be accepted and ignored. */
const sourceRoute = /^@[^\s,:@]+(?:,@[^\s,:@]+)*:/
/** Octets of a path without its brackets, RFC 5321 §4.5.3.1.3. */
const pathBytesMax = 254

/** @param text behind the colon of the command
 * @param isLenient for a client that may relay
 * @returns undefined when it is no path */
export function mailPath(text: string, isLenient: boolean): MailPath | undefined {
  const [, inner, rest = ''] = parts(text.trim(), isLenient) ?? []
  if (inner === undefined) return undefined
  const written = inner.replace(sourceRoute, '')
  const address = withoutFinalDot(withoutNeedlessQuotes(isLenient ? withoutBackslashes(written) : written))
  if (address === '') return { address, rest }
  if (!address.includes('@') && (isLenient || /^postmaster$/i.test(address)))
    return isMailAddress(`${address}@localhost`) ? { address, rest } : undefined
  return isMailAddress(address) && (isLenient || isPath(address)) ? { address, rest } : undefined
}

function parts(text: string, isLenient: boolean): RegExpExecArray | null {
  if (!isLenient) return bracketed.exec(text)
  return spaced.exec(text) ?? bracketed.exec(text) ?? nested.exec(text) ?? bare.exec(text)
}

/** `DOMAIN\ada@example.org`: to Postfix, too, the character behind it stands for itself. */
const withoutBackslashes = (path: string): string =>
  path.includes('"') ? path : path.replace(/\\(?=[\w.])/g, '')

/** Of an address that `isMailAddress` has taken: its length, and the domain that it may have. */
function isPath(address: string): boolean {
  const domain = domainOf(address)
  if (Buffer.byteLength(address) > pathBytesMax) return false
  return domain.startsWith('[') ? isLiteral(domain.slice(1, -1)) : isDomain(domain)
}

const isLiteral = (inner: string): boolean => (/^ipv6:/i.test(inner) ? isIPv6(inner.slice(5)) : isIPv4(inner))

const isDomain = (domain: string): boolean =>
  domain.split('.').every((label) => /^[a-zA-Z0-9_\u0080-\uFFFF-]+$/.test(label))
