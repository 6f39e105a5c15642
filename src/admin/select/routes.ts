/** Where recipients would go now, for listings.
 * Invariant: a route that the embedder's function cannot give is undefined, and no error of it
 * ends a listing. */
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
