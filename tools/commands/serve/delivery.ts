/** The options of `serve` for outgoing mail: to one server, to the servers of each domain, or to
 * Maildirs; and when it is tried again.
 * Invariant: the relay alone hears the password, and over TLS that verifies: a table that says
 * otherwise is refused. */
import { comparableDomainOf } from '../../../src/base/mail-address.js'
import { isWaybillError, WaybillError } from '../../../src/errors.js'
import {
  fixedRetry,
  postfixRetry,
  type AskedRecipient,
  type Route,
  type Transport,
} from '../../../src/index.js'
import { expanded } from '../../../src/relay/tables/aliases.js'
import { expandedAll } from '../../../src/relay/smtp-in/expanded-recipients.js'
import { lmtpTransport } from '../../../src/relay/smtp-out/lmtp-out.js'
import { nexthopParts, readNexthop } from '../../../src/relay/tables/nexthop.js'
import { maildirTransport } from '../../../src/relay/maildir/maildir.js'
import { MtaSts } from '../../../src/relay/tls/mta-sts.js'
import { mxTransport } from '../../../src/relay/smtp-out/mx-out.js'
import { mxTlsWays } from '../../../src/relay/smtp-out/mx-out-options.js'
import { mayBeOfStrangers, type OwnMail } from '../../../src/relay/tables/recipient-standing.js'
import { shownSender, type Senders } from '../../../src/relay/tables/senders.js'
import { smtpTransport } from '../../../src/relay/smtp-out/smtp-out.js'
import { sourceAddressesOf } from '../../../src/relay/dns/source-addresses.js'
import {
  countMax,
  serverLevelRefusal,
  tlsWays,
  type SmtpTransportOptions,
} from '../../../src/relay/smtp-out/smtp-out-options.js'
import { isDane, isVerifying, type TlsPolicyLine } from '../../../src/relay/tls/tls-policy.js'
import { flagOf, lineOf, UsageError, type Arguments } from '../cli/command.js'
import type { QueueParameters } from '../parameters/scheduler-parameters.js'
import type { ClientOptions } from '../parameters/client-parameters.js'
import { daneOf } from './dane.js'
import { noRoutes, routesIn, type RouteTable } from '../tables/route-table.js'
import { transportLocal, transportRelay, transportDefault } from '../parameters/transport-names.js'
import { delimitersOf, fileTextOf, recipientsOfMessageMax } from '../tables/relay-files.js'
import { noTlsPolicy, tlsPolicyIn, type TlsPolicyTable } from '../tables/tls-policy-table.js'
import {
  formatEndpoint,
  parseDurationOption,
  parseDurations,
  parseWord,
  parseYes,
  type Endpoint,
} from '../cli/values.js'

/** Mailboxes are here when nothing else is said. */
export const maildirDefault = './var/maildir'

type Tls = (typeof tlsWays)[number]

/** What a transport is made for. */
export interface Surroundings {
  readonly relay: Endpoint | undefined
  readonly direct: boolean
  /** Where it listens itself: addresses, by which a mail host is known to be this one. */
  readonly places: readonly Endpoint[]
  readonly hostname: string
  /** Attempts at once of the transport, as the scheduler has it. */
  readonly processLimit: number
  /** What `-o` says of its client. */
  readonly client?: ClientOptions
  /** Asked at every attempt; what strangers may have sent is not signed. */
  readonly ownMail?: () => OwnMail
  /** What is known of domains stays so when tables are read again. */
  readonly mtaSts?: MtaSts
  /** Undefined: nobody looks. */
  readonly onConversation?: SmtpTransportOptions['onConversation'] | undefined
}

/** Of the ways one is chosen, and what belongs to a way goes with it. @throws UsageError */
export function checkWays(args: Arguments): void {
  const [way, other] = ['relay', 'direct'].filter((name) => args.isSet(name))
  if (way !== undefined && other !== undefined)
    throw new UsageError(`${flagOf(way)} or ${flagOf(other)}, not both`)
  if (way !== undefined && args.isSet('maildir') && !args.isSet('routes'))
    throw new UsageError(
      `${flagOf(way)} or --maildir, or both with --routes, where lines PATTERN maildir: say which mail stays`,
    )
  if (way === undefined)
    for (const name of ['relay-tls', 'tls-policy', 'routes', 'dkim', 'source-address'])
      if (args.isSet(name))
        throw new UsageError(`${flagOf(name)} is for mail that goes to servers: --relay or --direct`)
  const lookups = ['aliases', 'relay-domains', 'routes', 'maildir']
  if (args.isSet('recipient-delimiter') && way !== undefined && !lookups.some((name) => args.isSet(name)))
    throw new UsageError(
      '--recipient-delimiter is for addresses that are looked up: --aliases, --relay-domains, --routes or --maildir',
    )
  for (const name of ['mta-sts', 'dane', 'dane-server'])
    if (way !== 'direct' && args.isSet(name))
      throw new UsageError(`${flagOf(name)} is for mail that goes to the servers of each domain: --direct`)
}

/** @throws UsageError */
export const mtaStsOf = (args: Arguments): { mtaSts?: MtaSts } =>
  parseYes('mta-sts', args.one('mta-sts') ?? 'no') ? { mtaSts: new MtaSts(sourcesOf(args)) } : {}

/** From where servers are reached. @throws UsageError */
export function sourcesOf(args: Arguments): Pick<SmtpTransportOptions, 'sourceAddresses'> {
  const sourceAddresses = args.all('source-address')
  if (sourceAddresses.length === 0) return {}
  try {
    sourceAddressesOf(sourceAddresses)
  } catch (error) {
    throw isWaybillError(error) ? new UsageError(`--source-address: ${error.message}`) : error
  }
  return { sourceAddresses }
}

/** To all mailboxes. */
export function localTransportOf(args: Arguments, hostname: string): Transport {
  const delimiters = delimitersOf(args)
  return maildirTransport({
    directory: args.one('maildir') ?? maildirDefault,
    hostname,
    ...(delimiters === '' ? undefined : { recipientDelimiter: delimiters }),
  })
}

/** How many there may be, from where, and who hears what is said, with servers of any kind. */
const connectionsOf = (
  args: Arguments,
  { client, processLimit, onConversation }: Surroundings,
): ClientOptions & Pick<SmtpTransportOptions, 'connectionsMax' | 'sourceAddresses' | 'onConversation'> => ({
  ...client,
  ...(onConversation === undefined ? undefined : { onConversation }),
  // As many may wait to be used again as are busy.
  connectionsMax: Math.min(2 * processLimit, countMax),
  ...sourcesOf(args),
})

/** What the table says of servers is for these, too; DANE is for mail hosts. */
export function lmtpTransportOf(
  args: Arguments,
  surroundings: Surroundings,
  { lines }: TlsPolicyTable,
): Transport {
  const tlsPolicy = lines.filter(({ destination, level }) => destination.startsWith('[') && !isDane(level))
  return lmtpTransport({ hostname: surroundings.hostname, tlsPolicy, ...connectionsOf(args, surroundings) })
}

/** Of all mail for which no line of the table names Maildirs, or LMTP. */
export async function transportOf(
  args: Arguments,
  surroundings: Surroundings,
  auth: SmtpTransportOptions['auth'],
  keys?: SmtpTransportOptions['dkim'],
  policy: TlsPolicyTable = noTlsPolicy,
): Promise<Transport> {
  const { relay, direct, places, hostname, ownMail, mtaSts } = surroundings
  const connections = connectionsOf(args, surroundings)
  const dkimSigns = (recipients: readonly string[]): boolean =>
    !mayBeOfStrangers(ownMail?.() ?? {}, recipients, hostname)
  const dkim = keys === undefined ? undefined : { dkim: keys, dkimSigns }
  const tlsPolicy = policy.lines
  if (direct) {
    const tls = parseWord('relay-tls', args.one('relay-tls') ?? 'opportunistic', mxTlsWays)
    return mxTransport({
      hostname,
      tls,
      tlsPolicy,
      mtaSts: mtaSts ?? false,
      ...daneOf(args),
      ...connections,
      ...dkim,
      listeners: places,
    })
  }
  if (relay === undefined) return localTransportOf(args, hostname)
  const tlsDefault = auth === undefined ? 'opportunistic' : 'required'
  const tls = parseWord('relay-tls', args.one('relay-tls') ?? tlsDefault, tlsWays)
  // Without a host they go to the nexthop.
  const toRelay = smtpTransport({
    hostname,
    tls,
    tlsPolicy: policyOfRelay(policy, relay, tls, auth),
    ...connections,
    ...dkim,
    ...(auth === undefined ? undefined : { auth }),
  })
  const elsewhere = smtpTransport({
    hostname,
    tls: tlsElsewhere(args, tls),
    tlsPolicy,
    ...connections,
    ...dkim,
  })
  const isRelay = (nexthop: string): boolean => {
    const parts = nexthopParts(nexthop, 25)
    return parts?.text.toLowerCase() === relay.host.toLowerCase() && parts.port === relay.port
  }
  return {
    deliver: (request, signal) => (isRelay(request.nexthop) ? toRelay : elsewhere).deliver(request, signal),
    releasesSignal: true,
    sources: toRelay.sources,
    close: () => {
      toRelay.close?.()
      elsewhere.close?.()
    },
  }
}

/** Options are for all servers, except the relay's port; what only the password needs is for the
 * server that gets it. */
function tlsElsewhere(args: Arguments, tls: Tls): Tls {
  if (!args.isSet('relay-tls')) return 'opportunistic'
  return tls === 'implicit' ? 'required' : tls
}

/** Its line, when it has one and that will do.
 * @throws WaybillError OPTION_INVALID with path and line */
function policyOfRelay(
  policy: TlsPolicyTable,
  relay: Endpoint,
  tls: Tls,
  auth: SmtpTransportOptions['auth'],
): readonly TlsPolicyLine[] {
  const server = readNexthop(`[${relay.host}]`, relay.port)
  const line = server && policy.find(server)
  if (line === undefined) return []
  const refusal = serverLevelRefusal(line.level, tls, auth)
  if (refusal !== undefined) throw new WaybillError('OPTION_INVALID', `the relay: ${refusal}`, line.place)
  const { level, match } = line
  return [{ destination: `[${relay.host}]`, level, ...(isVerifying(level) ? { match } : undefined) }]
}

/** @returns what the file of `--tls-policy` says @throws UsageError, WaybillError OPTION_INVALID */
export async function tlsPolicyOf(args: Arguments): Promise<TlsPolicyTable> {
  const path = args.one('tls-policy')
  return path === undefined
    ? noTlsPolicy
    : tlsPolicyIn(await fileTextOf('tls-policy', path), path, args.isSet('direct'))
}

/** @returns what the file of `--routes` says @throws UsageError, WaybillError OPTION_INVALID */
export async function routesOf(args: Arguments): Promise<RouteTable> {
  const path = args.one('routes')
  if (path === undefined) return noRoutes
  const ways = {
    findsMailHosts: args.isSet('direct'),
    hasMaildirs: args.isSet('maildir'),
    delimiters: delimitersOf(args),
  }
  return routesIn(await fileTextOf('routes', path), path, ways)
}

/** What is said of recipients beside the table of routes; asked for each of them. */
export interface Routing {
  readonly routes: RouteTable
  /** Of mail for which nothing names a transport. */
  readonly usual: string
  /** It is for a domain of ours that lies behind us. @see Postfix relay_transport */
  readonly isForRelayDomain: (recipient: string) => boolean
  /** @see Postfix defer_transports */
  readonly deferred: ReadonlySet<string>
}

const noRouting: Routing = {
  routes: noRoutes,
  usual: transportDefault,
  isForRelayDomain: () => false,
  deferred: new Set(),
}

/** As in Postfix. */
const deferredRoute: Route = { transport: 'retry', nexthop: '4.3.2 deferred transport' }

/** A relay is one destination. All other mail is grouped by domain, that for Maildirs, too. What
 * the table names goes before both.
 * @param routing asked for each recipient, so that it may be another the next time */
export function routeOf(
  relay: Endpoint | undefined,
  routing: () => Partial<Routing> = () => noRouting,
): (recipient: string) => Route {
  const nexthopDefault = relay === undefined ? comparableDomainOf : (): string => formatEndpoint(relay)
  return (recipient) => {
    const { routes, usual, isForRelayDomain, deferred } = { ...noRouting, ...routing() }
    const found = routes.find(recipient) ?? { transport: '', nexthop: '' }
    const isOwn = found.transport === '' && usual === transportDefault && isForRelayDomain(recipient)
    const transport = found.transport || (isOwn ? transportRelay : usual)
    if (deferred.has(transport)) return deferredRoute
    if (transport === transportLocal) return { transport, nexthop: comparableDomainOf(recipient) }
    return { transport, nexthop: found.nexthop || nexthopDefault(recipient) }
  }
}

/** The table of aliases is for the relay's own reports, too.
 * @see Postfix: what bounce(8) sends passes through cleanup(8) */
export const reportRecipientsOf = ({ aliases }: OwnMail, sender: string): readonly string[] => [
  ...((aliases && expanded(aliases, sender))?.values() ?? []),
]

/** Servers that know the senders of `--senders` alone refuse reports of another. */
export function reportAuthorOf(
  { senders }: { readonly senders?: Senders | undefined },
  hostname: string,
): { readonly reportAuthor?: string } {
  const usual = `MAILER-DAEMON@${hostname}`
  const author = senders === undefined ? usual : shownSender(senders, usual)
  return author === usual ? {} : { reportAuthor: author }
}

/** @see Postfix: what `postsuper -r` requeues passes through cleanup(8) @throws WaybillError
 * RECIPIENTS_TOO_MANY */
export const requeueRecipientsOf = (
  { aliases }: OwnMail,
  recipients: readonly AskedRecipient[],
): readonly (string | AskedRecipient)[] =>
  aliases === undefined ? recipients : expandedAll(recipients, aliases, recipientsOfMessageMax)

/** @throws UsageError */
export function retryOf(
  args: Arguments,
  { retry, retryNames }: Pick<QueueParameters, 'retry' | 'retryNames'>,
): ReturnType<typeof fixedRetry> {
  const lifetimeText = args.one('lifetime')
  const lifetimeMs = lifetimeText === undefined ? undefined : parseDurationOption('lifetime', lifetimeText)
  if (lifetimeMs !== undefined && retry.maximalQueueLifetimeMs !== undefined)
    throw new UsageError('--lifetime or -o maximal_queue_lifetime, not both')
  const times = args.one('retry')
  // How long a dead site rests is not said by --retry.
  const doubled = retryNames.find((name) => name !== 'minimal_backoff_time')
  if (times !== undefined && doubled !== undefined) throw new UsageError(`--retry or -o ${doubled}, not both`)
  if (times !== undefined) return fixedRetry(parseDurations('retry', times), lifetimeMs)
  // As Postfix does, which never waits longer than the shortest time.
  const shortestMs = retry.minimalBackoffTimeMs ?? 0
  const longest = retry.maximalBackoffTimeMs === undefined && shortestMs > 4_000_000
  try {
    return postfixRetry({
      ...(longest ? { maximalBackoffTimeMs: shortestMs } : undefined),
      ...(lifetimeMs === undefined ? undefined : { maximalQueueLifetimeMs: lifetimeMs }),
      ...retry,
    })
  } catch (error) {
    throw new UsageError(`-o ${retryNames.join(', -o ')}: ${lineOf(error)}`)
  }
}
