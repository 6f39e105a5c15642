/** The present routes of recipients, for listings.
 * Invariant: a route that the embedder's function cannot give is undefined, and no error of it
 * ends a listing. */
import { WaybillError } from '../../errors.js'
import type { EngineOptions, Route } from '../../engine/life/options.js'
import { routeOf } from '../../engine/life/route.js'
import type { Envelope } from '../../record/envelope.js'

export function routesNow(
  options: Pick<EngineOptions, 'route'>,
  envelope: Pick<Envelope, 'route'>,
  addresses: readonly string[],
): (Route | undefined)[] {
  return addresses.map((address) => {
    try {
      const { transport, nexthop } = routeOf(options, envelope, address)
      return { transport, nexthop }
    } catch {
      return undefined
    }
  })
}

/** Where mail to these addresses would go now. @throws WaybillError OPTION_INVALID */
export function routesOf(
  options: Pick<EngineOptions, 'route'>,
  recipients: readonly string[],
): (Route | undefined)[] {
  if (!Array.isArray(recipients) || !recipients.every((one) => typeof one === 'string'))
    throw new WaybillError('OPTION_INVALID', 'expected a list of addresses', { option: 'recipients' })
  return routesNow(options, { route: undefined }, recipients)
}
