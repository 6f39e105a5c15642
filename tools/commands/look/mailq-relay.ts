/** Asks the relay that has the queue open for what its files do not say.
 * Invariant: a relay that is slow, busy or older costs a listing at most `patienceMs` and its
 * routes, and never the listing itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlClient } from '../../../src/control/client.js'
import { routesMax } from '../../../src/control/protocol.js'
import { isWaybillError } from '../../../src/errors.js'
import type { Route } from '../../../src/index.js'
import type { QueuedMessage } from '../../../src/inspect/messages/queued-message.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import type { Routes } from './mailq-text.js'

export interface Found {
  readonly message: QueuedMessage
  readonly addresses: readonly string[]
}

const patienceMs = 2000
/** Recipients whose routes are asked for: more would keep the relay busy. */
const askedMax = 100_000

export class RelayRoutes {
  readonly #client: ControlClient
  #askedCount = 0

  private constructor(client: ControlClient) {
    this.#client = client
  }

  /** From then on the files say all that has happened by now. @returns undefined without a relay */
  static async of(path: string): Promise<RelayRoutes | undefined> {
    if (isStoreUrl(path)) return undefined
    const client = await orNothing(ControlClient.connect(path))
    if (client === undefined) return undefined
    const isWritten = await orNothing(inTime(client.written().then(() => true)))
    if (isWritten === true) return new RelayRoutes(client)
    client.close()
    return undefined
  }

  /** It may still say routes. */
  get isAsked(): boolean {
    return this.#askedCount < askedMax
  }

  /** The routes of each message's recipients. */
  async of(found: readonly Found[]): Promise<readonly Routes[]> {
    const addresses = found.flatMap((one) => one.addresses).slice(0, askedMax - this.#askedCount)
    this.#askedCount += addresses.length
    const routes: (Route | undefined)[] = []
    for (let from = 0; from < addresses.length; from += routesMax) {
      const asked = addresses.slice(from, from + routesMax)
      const answer = await orNothing(inTime(this.#client.routes(asked)))
      if (answer === undefined) {
        this.#askedCount = askedMax
        break
      }
      routes.push(...answer)
    }
    let next = 0
    return found.map(({ message, addresses: own }) => {
      const usual = routes.slice(next, (next += own.length))
      return usual.map((route) => routeOf(message, route))
    })
  }

  close(): void {
    this.#client.close()
  }
}

/** An operator's route goes before. */
function routeOf({ envelope }: QueuedMessage, usual: Route | undefined): Route | undefined {
  const { route } = envelope
  if (route === undefined) return usual
  if (route.transport !== '') return route
  return usual && { transport: usual.transport, nexthop: route.nexthop }
}

const inTime = <T>(answer: Promise<T>): Promise<T | undefined> =>
  Promise.race([answer, sleep(patienceMs, undefined, { ref: false })])

async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isWaybillError(error)) return undefined
    throw error
  }
}
