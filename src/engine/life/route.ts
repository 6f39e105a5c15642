/** The present route of a recipient: asked anew at every attempt, unless an operator has set it for
 * the message. */
import { isProgramError } from '../../base/realms.js'
import type { MessageId } from '../../base/message-id.js'
import { notAwaited } from '../../delivery/call-listener.js'
import { safeThrownText } from '../../delivery/outcome.js'
import type { Envelope } from '../../record/envelope.js'
import type { QueueEmitter } from './events.js'
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
  // A promise has no transport. A list of one name works as a property name, but not as a key of a
  // Map: that would end each life.
  if (typeof asked?.transport !== 'string') {
    notAwaited(asked)
    throw new TypeError('route() answers { transport, nexthop }, and at once')
  }
  if (route !== undefined) return { transport: asked.transport, nexthop: route.nexthop }
  if (typeof asked.nexthop !== 'string' || asked.nexthop === '')
    throw new TypeError('a route names a nexthop')
  return asked as Route
}

/** Warnings in a life. */
const mistakesMax = 100

/** Mistakes in the program of `route`. Each is one warning in a life, because `route` is asked for
 * each recipient, and all mail may be concerned: a transport's name that is misspelt keeps it
 * waiting until it is returned. */
export class RouteMistakes {
  readonly #events: Pick<QueueEmitter, 'tellMistake'>
  readonly #told = new Set<string>()

  constructor(events: Pick<QueueEmitter, 'tellMistake'>) {
    this.#events = events
  }

  /** @param error of `routeOf`; one without a mistake says that there is no route */
  tell(error: unknown, id: MessageId): void {
    if (!isProgramError(error) || error.cause !== undefined) return
    const message = `route: ${safeThrownText(error)}`
    if (this.#told.has(message) || this.#told.size === mistakesMax) return
    this.#told.add(message)
    this.#events.tellMistake({ code: 'ROUTE_DEFECT', message, id })
  }
}
