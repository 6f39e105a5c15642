/** Where a recipient goes now: asked anew at every attempt, unless an operator has set it for the message. */
import type { Envelope } from '../record/envelope.js'
import type { EngineOptions, Route } from './options.js'

/** @throws what the embedder's `route` throws */
export function routeOf(
  { route: ask }: Pick<EngineOptions, 'route'>,
  { route }: Pick<Envelope, 'route'>,
  address: string,
): Route {
  if (route === undefined) return ask(address)
  return route.transport === '' ? { transport: ask(address).transport, nexthop: route.nexthop } : route
}
