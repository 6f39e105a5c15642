/** Which mail of `serve` goes another way than the rest, as Postfix's transport(5) has it: a line is `PATTERN NAME:NEXTHOP`. Pure.
 * Invariant: of several patterns the narrowest says, and what a line leaves out is as without the table. */
import { comparableDomainOf } from '../../src/base/mail-address.js'
import { WaybillError, type Route } from '../../src/index.js'
import { asciiName, nexthopParts } from '../../src/relay/mail-destination.js'

export interface RouteTable {
  /** Names of transports, without the usual one. */
  readonly transports: readonly string[]
  /** Of what it returns '' is as without the table. */
  find(recipient: string): Route | undefined
}

/** The transport of all mail for which no line names one. */
export const transportUsual = 'out'

/** What stands before a parameter's name, and so may be none of a transport. */
const prefixes: ReadonlySet<string> = new Set(['default', 'initial'])

/** In a table of Postfix's they are no servers. */
const foreign: ReadonlySet<string> = new Set(['discard', 'error', 'lmtp', 'local', 'retry', 'virtual'])

export const noRoutes: RouteTable = { transports: [], find: () => undefined }

/** Patterns are `user@example.net`, `example.net`, `.example.net` (what is below it) and `*`; capitals are the same.
 * @throws WaybillError OPTION_INVALID with path and line */
export function routesIn(text: string, path: string): RouteTable {
  const lines = new Map<string, Route>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const bad = (reason: string): WaybillError =>
      new WaybillError('OPTION_INVALID', reason, { option: 'routes', path, line: index + 1 })
    const [, pattern = '', transport = '', nexthop = ''] =
      /^\s*(\S+)\s+([^\s:[\]]*):(\S*)\s*$/.exec(line) ?? []
    if (pattern === '')
      throw bad('a route is a line PATTERN NAME:NEXTHOP, of which NAME and NEXTHOP may be left out')
    const key = keyOf(pattern)
    if (key === undefined) throw bad(`${pattern} is no domain, no address and not *`)
    if (lines.has(key)) throw bad(`${pattern} has a line above`)
    if (transport !== '' && (!/^[a-z][a-z\d]*$/.test(transport) || prefixes.has(transport)))
      throw bad(`${transport} is no name for a transport: small letters and digits, not 'default'`)
    if (foreign.has(transport)) throw bad(`${transport} is not here: mail goes to SMTP servers only`)
    if (nexthop !== '' && nexthopParts(nexthop, 25) === undefined)
      throw bad(`${nexthop} is no nexthop: a domain, or a host or address in brackets, each also with :PORT`)
    lines.set(key, { transport, nexthop })
  }
  const names = new Set(Array.from(lines.values(), ({ transport }) => transport))
  names.delete('')
  names.delete(transportUsual)
  return { transports: [...names], find: (recipient) => found(lines, recipient) }
}

function keyOf(pattern: string): string | undefined {
  if (pattern === '*') return pattern
  const at = pattern.lastIndexOf('@')
  const dot = pattern.startsWith('.') ? '.' : ''
  const domain = asciiName(pattern.slice(at < 0 ? dot.length : at + 1))
  if (domain === '' || domain.startsWith('.') || at === 0) return undefined
  return at < 0 ? dot + domain : `${pattern.slice(0, at).toLowerCase()}@${domain}`
}

function found(lines: ReadonlyMap<string, Route>, recipient: string): Route | undefined {
  const domain = asciiName(comparableDomainOf(recipient))
  const local = recipient.slice(0, recipient.lastIndexOf('@')).toLowerCase()
  const exact = lines.get(`${local}@${domain}`) ?? lines.get(domain)
  if (exact !== undefined) return exact
  for (let dot = domain.indexOf('.'); dot >= 0; dot = domain.indexOf('.', dot + 1)) {
    const below = lines.get(domain.slice(dot))
    if (below !== undefined) return below
  }
  return lines.get('*')
}
