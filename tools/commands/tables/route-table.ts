/** The table of `serve --routes`, like Postfix's transport(5): a line is `PATTERN NAME:NEXTHOP`.
 * Pure.
 * Invariant: of several patterns the narrowest says, and what a line leaves out is as
 * without the table. */
import { commandWords } from '../../../src/policy/command-words.js'
import { beginsParameter } from '../parameters/parameter-names.js'
import {
  transportLmtp,
  transportLocal,
  transportPipe,
  transportDefault,
} from '../parameters/transport-names.js'
import { WaybillError, type Route } from '../../../src/index.js'
import type { Place } from '../../../src/errors.js'
import { patternKey } from '../../../src/relay/tables/address-pattern.js'
import { lmtpServer } from '../../../src/relay/smtp-out/lmtp-out.js'
import { readNexthop } from '../../../src/relay/tables/nexthop.js'
import {
  isVerdict,
  narrowestLine,
  verdictOf,
  verdicts,
  type RefusedRecipients,
} from '../../../src/relay/tables/route-verdict.js'
import { tableLines } from '../../../src/relay/tables/table-lines.js'

export interface RouteTable {
  /** Names of transports, without the usual one, and where each stands first. */
  readonly transports: ReadonlyMap<string, Place>
  /** Of lines `pipe:`. */
  readonly commands: ReadonlySet<string>
  readonly lineCount: number
  /** The verdicts of lines with `error:`. */
  readonly refused: RefusedRecipients
  /** Of what it returns '' is as without the table. */
  find(recipient: string): Route | undefined
  /** Is mail for this recipient put on hold at the door? */
  holds(recipient: string): boolean
}

/** Where mail may go. */
export interface RouteWays {
  /** For a nexthop that is a domain; otherwise it has to be a server. */
  readonly findsMailHosts: boolean
  /** Then their transport is there, whether a line names it or not: one may come. */
  readonly hasMaildirs: boolean
  /** Of address-extension.ts; default none. */
  readonly delimiters?: string
}

/** In a table of Postfix's they are no servers. */
const foreign: ReadonlySet<string> = new Set('bsmtp ifmail local maildrop mailman uucp virtual'.split(' '))
/** Of Postfix's access(5). A line that means one of them must not make a transport of that name,
 * which delivers. */
const actions: ReadonlySet<string> = new Set(
  'accept bcc defer dunno filter ignore info ok permit prepend redirect reject strip warn'.split(' '),
)
/** Mail for these is put on hold at the door, and goes as without the line when it is released. */
const holdWord = 'hold'
/** Lines with these name no further transport. */
const withoutTransport: ReadonlySet<string> = new Set(['', transportDefault, holdWord])

export const noRoutes: RouteTable = {
  transports: new Map(),
  commands: new Set(),
  lineCount: 0,
  refused: { lines: new Map(), delimiters: '' },
  find: () => undefined,
  holds: () => false,
}

const hasProgram = (command: string): boolean => commandWords(command)?.[0]?.startsWith('/') === true

const isTransportName = (text: string): boolean =>
  /^[a-z][a-z\d]*$/.test(text) && (!beginsParameter(text) || isVerdict(text))

/** Patterns are `user@example.net`, `example.net`, `.example.net` (what is below it) and `*`;
 * capitals are the same.
 * @throws WaybillError OPTION_INVALID with path and line */
export function routesIn(text: string, path: string, ways: RouteWays): RouteTable {
  const lines = new Map<string, Route>()
  const transports = new Map<string, Place>()
  const commands = new Set<string>()
  if (ways.hasMaildirs) transports.set(transportLocal, { option: 'maildir' })
  for (const name of [transportLmtp, ...verdicts]) transports.set(name, { option: 'routes' })
  for (const { text: line, place } of tableLines(text, 'routes', path)) {
    const bad = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
    const { pattern, key, transport, nexthop } = partsOf(line, bad)
    if (lines.has(key)) throw bad(`${pattern} has a line above`)
    const route = routeOf(transport, nexthop, ways, bad)
    lines.set(key, route)
    if (transport === transportPipe) commands.add(route.nexthop)
    if (!withoutTransport.has(transport) && !transports.has(transport)) transports.set(transport, place)
  }
  const { delimiters = '' } = ways
  return {
    transports,
    commands,
    lineCount: lines.size,
    refused: { lines: refusedIn(lines), delimiters },
    find: (recipient) => {
      const found = narrowestLine(lines, recipient, delimiters)
      return found?.transport === holdWord ? { transport: '', nexthop: '' } : found
    },
    holds: (recipient) => narrowestLine(lines, recipient, delimiters)?.transport === holdWord,
  }
}

interface LineParts {
  readonly pattern: string
  /** What `narrowestLine` looks for. */
  readonly key: string
  readonly transport: string
  readonly nexthop: string
}

function partsOf(line: string, bad: (reason: string) => WaybillError): LineParts {
  const [, pattern = '', transport = '', nexthop = ''] =
    /^\s*(\S+)\s+(error|retry|discard|hold|pipe):(.*)$/.exec(line) ??
    /^\s*(\S+)\s+([^\s:[\]]*):(\S*)\s*$/.exec(line) ??
    []
  if (pattern === '')
    throw bad('a route is a line PATTERN NAME:NEXTHOP, of which NAME and NEXTHOP may be left out')
  const key = pattern === '*' ? pattern : patternKey(pattern)
  if (key === undefined) throw bad(`${pattern} is no domain, no address and not *`)
  return { pattern, key, transport, nexthop }
}

function routeOf(
  transport: string,
  nexthop: string,
  ways: RouteWays,
  bad: (reason: string) => WaybillError,
): Route {
  if (transport !== '' && !isTransportName(transport))
    throw bad(
      `${transport} is no name for a transport: small letters and digits, and not the beginning of a parameter's name`,
    )
  if (actions.has(transport))
    throw bad(`${transport} is an action of Postfix's access tables, which is not here`)
  if (transport === holdWord) {
    if (nexthop.trim() !== '') throw bad(`behind ${holdWord}: stands nothing`)
    return { transport, nexthop: '' }
  }
  if (foreign.has(transport))
    throw bad(
      `${transport} is not here: mail goes to SMTP servers, by ${transportLmtp}: to LMTP servers, by ${transportLocal}: to Maildirs`,
    )
  if (transport === transportLocal && !ways.hasMaildirs)
    throw bad(`${transport} is not here without --maildir, which says where the Maildirs are`)
  if (isVerdict(transport)) {
    const said = verdictOf(transport, nexthop)
    if (typeof said === 'string') throw bad(said)
    return { transport, nexthop: `${said.status} ${said.text}`.trim() }
  }
  if (transport === transportPipe) {
    const command = nexthop.trim()
    if (!hasProgram(command))
      throw bad(`behind ${transportPipe}: stands a command, its program by an absolute path`)
    return { transport, nexthop: command }
  }
  const refusal =
    nexthop === '' && transport !== transportLmtp ? undefined : nexthopRefusal(nexthop, transport, ways)
  if (refusal !== undefined) throw bad(`${nexthop} is no nexthop behind '${transport}:': ${refusal}`)
  return { transport, nexthop }
}

/**    1. a line is `example.net mailhub:25`, as hosts are written elsewhere
 *    2. to a transport `mailhub` the server is `25`, and no name ends in a number
 *    3. the system takes it for the address 0.0.0.25, and mail waits for five days */
function nexthopRefusal(
  nexthop: string,
  transport: string,
  { findsMailHosts }: RouteWays,
): string | undefined {
  if (transport === transportLocal) return 'a Maildir has none'
  if (transport === transportLmtp)
    return isServer(lmtpServer(nexthop)) ? undefined : 'that is unix:/PATH, or [HOST], or [HOST]:PORT'
  const destination = readNexthop(nexthop, 25)
  if (destination === undefined || !isServer(destination))
    return 'that is a domain, or a host or address in brackets, each also with :PORT'
  if (destination.kind === 'domain' && !findsMailHosts)
    return 'mail hosts of a domain are looked for with --direct; a server stands in brackets'
  return undefined
}

const isServer = (server: ReturnType<typeof lmtpServer>): boolean =>
  server !== undefined && !('name' in server && /(?:^|\.)\d+$/.test(server.name))

/** Of most tables nothing, whatever their size. */
function refusedIn(lines: ReadonlyMap<string, Route>): RefusedRecipients['lines'] {
  const refused: Map<string, Refused> = new Map()
  if (![...lines.values()].some(({ transport }) => transport === 'error')) return refused
  for (const [key, { transport, nexthop }] of lines) {
    const said = transport === 'error' ? verdictOf(transport, nexthop) : undefined
    refused.set(key, typeof said === 'string' ? undefined : said)
  }
  return refused
}

type Refused = ReturnType<RefusedRecipients['lines']['get']>
