/** Where the mail of `serve` goes: to one server, or to Maildirs.
 * Invariant: the relay alone hears the password. */
import type { Route, Transport } from '../../src/index.js'
import { maildirTransport } from '../../src/relay/maildir.js'
import { smtpTransport } from '../../src/relay/smtp-out.js'
import { tlsWays, type SmtpTransportOptions } from '../../src/relay/smtp-out-options.js'
import type { Arguments } from './command.js'
import { formatEndpoint, parseWord, type Endpoint } from './values.js'

/** Mailboxes are here when nothing else is said. */
export const maildirUsual = './var/maildir'

interface Surroundings {
  readonly relay: Endpoint | undefined
  readonly hostname: string
}

export function transportOf(
  args: Arguments,
  { relay, hostname }: Surroundings,
  auth: SmtpTransportOptions['auth'],
): Transport {
  const tlsUsual = auth === undefined ? 'opportunistic' : 'required'
  const tls = parseWord('relay-tls', args.one('relay-tls') ?? tlsUsual, tlsWays)
  if (relay === undefined)
    return maildirTransport({ directory: args.one('maildir') ?? maildirUsual, hostname })
  // Without a host of its own it goes to the nexthop, so that what an operator reroutes goes elsewhere.
  const options: SmtpTransportOptions = { hostname, tls }
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

/** A relay is one destination. Mailboxes are grouped by domain. */
export function routeOf(relay: Endpoint | undefined): (recipient: string) => Route {
  if (relay !== undefined) {
    const route: Route = { transport: 'out', nexthop: formatEndpoint(relay) }
    return () => route
  }
  return (recipient) => ({
    transport: 'out',
    nexthop: recipient.slice(recipient.lastIndexOf('@') + 1).toLowerCase(),
  })
}
