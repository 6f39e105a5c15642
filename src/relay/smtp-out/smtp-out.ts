/** Delivery over SMTP to one server, or to the one that the nexthop names.
 * Invariant: what an attempt may do is said in smtp-delivery.ts. A name's addresses are one place:
 * they are asked of the system, and nodemailer tries them in turn until one is connected. */
import { isIP } from 'node:net'
import type { Transport } from '../../delivery/transport.js'
import { signerOf } from '../dkim/dkim-signer.js'
import { asciiName, nexthopParts, type Nexthop } from '../tables/nexthop.js'
import { checkSmtpOptions, serverPoliciesOf, type SmtpTransportOptions } from './smtp-out-options.js'
import { siteOfError } from './smtp-outcome.js'
import { smtpDelivery, type PlacesOf } from './smtp-delivery.js'
import { OutSessions, type Place } from './out-sessions.js'
import { demandOf, type TlsPolicies } from '../tls/tls-policy.js'

/** For one queue at a time, and its next life: when it crashes, attempts of another one would lose
 * their connections.
 * @throws WaybillError OPTION_INVALID */
export function smtpTransport(options: SmtpTransportOptions = {}): Transport {
  checkSmtpOptions(options)
  const signer = signerOf(options)
  const policies = serverPoliciesOf(options)
  const placesOf: PlacesOf = ({ nexthop }) => {
    const place = placeOf(options.host ?? nexthop, options)
    return place === undefined ? badNexthop(nexthop) : [withDemand(place, policies)]
  }
  return smtpDelivery(new OutSessions(options), placesOf, signer)
}

/** To a server of this machine, wherever the mail goes. @param connect returns undefined when it
 * does not answer
 * @throws WaybillError OPTION_INVALID */
export function localTransport(
  connect: NonNullable<Place['connect']>,
  options: Omit<SmtpTransportOptions, 'host' | 'port'>,
): Transport {
  checkSmtpOptions(options)
  const place = { ...namedPlace('localhost', 25), connect }
  return smtpDelivery(new OutSessions(options), () => [place], signerOf(options))
}

function placeOf(nexthop: string, options: SmtpTransportOptions): Place | undefined {
  const portDefault = options.port ?? (options.tls === 'implicit' ? 465 : 25)
  if (options.host !== undefined) return namedPlace(options.host, portDefault)
  const parts = nexthopParts(nexthop, portDefault)
  return parts === undefined ? undefined : namedPlace(parts.text, parts.port)
}

export const namedPlace = (host: string, port: number): Place => ({
  name: `${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
  host,
  port,
})

export const badNexthop = (nexthop: string): ReturnType<typeof siteOfError> =>
  siteOfError(Object.assign(new Error(`no host and port: ${JSON.stringify(nexthop)}`), { code: 'EDNS' }))

export function withDemand(place: Place, policies: TlsPolicies): Place {
  const { host, port } = place
  const server: Nexthop =
    isIP(host) === 0
      ? { kind: 'host', name: asciiName(host), port }
      : { kind: 'address', address: host, port }
  const policy = policies.for(server)
  return policy === undefined ? place : { ...place, tls: demandOf(policy, asciiName(host), server) }
}
