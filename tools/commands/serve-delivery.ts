/** Where the mail of `serve` goes: to one server, to the servers of each domain, or to Maildirs.
 * Invariant: the relay alone hears the password. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { comparableDomainOf } from '../../src/base/mail-address.js'
import type { Route, Transport } from '../../src/index.js'
import { maildirTransport } from '../../src/relay/maildir.js'
import { mxTransport } from '../../src/relay/mx-out.js'
import { mxTlsWays } from '../../src/relay/mx-out-options.js'
import { smtpTransport } from '../../src/relay/smtp-out.js'
import { countMax, tlsWays, type SmtpTransportOptions } from '../../src/relay/smtp-out-options.js'
import { flagOf, UsageError, type Arguments } from './command.js'
import { formatEndpoint, parseWord, type Endpoint } from './values.js'

/** Mailboxes are here when nothing else is said. */
export const maildirUsual = './var/maildir'

interface Surroundings {
  readonly relay: Endpoint | undefined
  readonly direct: boolean
  /** Where it listens itself. */
  readonly places: readonly Endpoint[]
  readonly hostname: string
  /** Attempts at once, as the scheduler has it. */
  readonly processLimit: number
}

/** Of the ways one is chosen, and what belongs to a way goes with it. @throws UsageError */
export function checkWays(args: Arguments): void {
  const [way, other] = ['relay', 'direct', 'maildir'].filter((name) => args.isSet(name))
  if (way !== undefined && other !== undefined)
    throw new UsageError(`${flagOf(way)} or ${flagOf(other)}, not both`)
  if (args.isSet('relay-tls') && !args.isSet('relay') && !args.isSet('direct'))
    throw new UsageError('--relay-tls is for a server that --relay names, or for --direct')
}

export async function transportOf(
  args: Arguments,
  { relay, direct, places, hostname, processLimit }: Surroundings,
  auth: SmtpTransportOptions['auth'],
): Promise<Transport> {
  // As many may wait to be used again as are busy.
  const connectionsMax = Math.min(2 * processLimit, countMax)
  if (direct) {
    const tls = parseWord('relay-tls', args.one('relay-tls') ?? 'opportunistic', mxTlsWays)
    return mxTransport({ hostname, tls, connectionsMax, listeners: await listenersAt(places) })
  }
  const tlsUsual = auth === undefined ? 'opportunistic' : 'required'
  const tls = parseWord('relay-tls', args.one('relay-tls') ?? tlsUsual, tlsWays)
  if (relay === undefined)
    return maildirTransport({ directory: args.one('maildir') ?? maildirUsual, hostname })
  // Without a host of its own it goes to the nexthop, so that what an operator reroutes goes elsewhere.
  const options: SmtpTransportOptions = { hostname, tls, connectionsMax }
  const anywhere = smtpTransport(options)
  if (auth === undefined) return anywhere
  const toRelay = smtpTransport({ ...options, auth })
  const nexthop = formatEndpoint(relay)
  return {
    deliver: (request, signal) => (request.nexthop === nexthop ? toRelay : anywhere).deliver(request, signal),
    close: () => {
      toRelay.close?.()
      anywhere.close?.()
    },
  }
}

/** As addresses, by which a mail host is known to be this one. What has none cannot be listened on: that is told to who tries. */
async function listenersAt(places: readonly Endpoint[]): Promise<Endpoint[]> {
  const found = places.map(async ({ host, port }) => {
    if (isIP(host) !== 0) return [{ host, port }]
    const first = await lookup(host).catch(() => undefined)
    return first === undefined ? [] : [{ host: first.address, port }]
  })
  return (await Promise.all(found)).flat()
}

/** A relay is one destination. All other mail is grouped by domain. */
export function routeOf(relay: Endpoint | undefined): (recipient: string) => Route {
  if (relay !== undefined) {
    const route: Route = { transport: 'out', nexthop: formatEndpoint(relay) }
    return () => route
  }
  return (recipient) => ({
    transport: 'out',
    nexthop: comparableDomainOf(recipient),
  })
}
