/** Where a recipient goes now: asked anew at every attempt, unless an operator has set it
 * for the message. */
import type { Envelope } from '../../record/envelope.js'
import type { EngineOptions, Route } from './options.js'

/** @throws what the embedder's `route` throws; TypeError when it answers something
 * else than a route */
export function routeOf(
  { route: ask }: Pick<EngineOptions, 'route'>,
  { route }: Pick<Envelope, 'route'>,
  address: string,
): Route {
  if (route !== undefined && route.transport !== '') return route
  const asked: Partial<Route> | undefined = ask(address)
  // A list of one name works as a property name, but not as a key of a Map: that would end each
  // life.
  if (typeof asked?.transport !== 'string')
    throw new TypeError('route() answers { transport, nexthop }, and at once')
  if (route !== undefined) return { transport: asked.transport, nexthop: route.nexthop }
  if (typeof asked.nexthop !== 'string' || asked.nexthop === '')
    throw new TypeError('a route names a nexthop')
  return asked as Route
}
