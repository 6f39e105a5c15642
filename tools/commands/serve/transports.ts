/** The transports of `serve`, by the names that they have in Postfix's master.cf.
 * Invariant: each has separate limits, timeouts and connections. A transport may be replaced while
 * the relay runs: attempts that have begun end with the one that they began with. */
import { isVerdict, verdictOutcome, verdicts, type Verdict } from '../../../src/relay/tables/route-verdict.js'
import { smtpClients } from '../../../src/relay/smtp-out/out-sessions.js'
import { pipeRoutes } from '../../../src/relay/agents/pipe-routes.js'
import type { ClauseAgents, DeliveryRequest, DeliveryResult, Transport } from '../../../src/index.js'
import { agentOptionsOf } from '../policy/agent-options.js'
import type { Arguments } from '../cli/command.js'
import { clientOptionsOf } from '../parameters/client-parameters.js'
import { lmtpTransportOf, localTransportOf, transportOf, type Surroundings } from './delivery.js'
import {
  transportLmtp,
  transportLocal,
  transportPipe,
  transportRelay,
  transportDefault,
} from '../parameters/transport-names.js'
import { processLimitOf, type QueueParameters } from '../parameters/scheduler-parameters.js'
import type { Tables } from './tables.js'

type Ways = Pick<Surroundings, 'relay' | 'direct'>

/** The transport of mail for which nothing names one. */
export const defaultTransport = ({ relay, direct }: Ways): string =>
  relay === undefined && !direct ? transportLocal : transportDefault

/** Those that there are. @param ways where mail may go */
export function transportNamesOf(
  args: Arguments,
  ways: Ways,
  { routes }: Pick<Tables, 'routes'>,
): readonly string[] {
  const usual = defaultTransport(ways)
  const toServers = usual === transportDefault ? [transportDefault, transportRelay, transportLmtp] : []
  const local = usual === transportLocal || args.isSet('maildir') ? [transportLocal] : []
  return [...new Set([...toServers, ...local, ...routes.transports.keys(), ...verdicts])]
}

/** By name. @param surroundings of all of them */
export async function transportsOf(
  args: Arguments,
  names: readonly string[],
  surroundings: Omit<Surroundings, 'processLimit' | 'client'>,
  { credentials, dkim, tlsPolicy, routes }: Pick<Tables, 'credentials' | 'dkim' | 'tlsPolicy' | 'routes'>,
  { scheduler, clients }: Pick<QueueParameters, 'scheduler' | 'clients'>,
): Promise<Record<string, Transport>> {
  // Now, and not at the first delivery: a relay must not take mail that it cannot send.
  await smtpClients()
  const transports: Record<string, Transport> = {}
  for (const name of names) {
    const processLimit = processLimitOf(scheduler, name)
    const own = { ...surroundings, processLimit, client: clientOptionsOf(clients, name) }
    if (isVerdict(name)) transports[name] = verdictTransport(name)
    else if (name === transportLocal) transports[name] = localTransportOf(args, surroundings.hostname)
    else if (name === transportPipe) transports[name] = pipeRoutes(routes.commands, agentOptionsOf(args))
    else if (name === transportLmtp) transports[name] = lmtpTransportOf(args, own, tlsPolicy)
    else transports[name] = await transportOf(args, own, credentials, dkim.keys, tlsPolicy)
  }
  return transports
}

/** Where a clause names a command, its agent delivers. */
export const behindAgents = (
  transports: Readonly<Record<string, Transport>>,
  agents: ClauseAgents,
): Record<string, Transport> =>
  Object.fromEntries(
    Object.entries(transports).map(([name, transport]) => [name, agents.before(name, transport)]),
  )

const verdictTransport = (verdict: Verdict): Transport => ({
  deliver: ({ nexthop }) => verdictOutcome(verdict, nexthop),
})

class ReplaceableTransport implements Transport {
  #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  deliver(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> | DeliveryResult {
    return this.#transport.deliver(request, signal)
  }

  get releasesSignal(): boolean {
    return this.#transport.releasesSignal === true
  }

  get sources(): readonly string[] | undefined {
    return this.#transport.sources
  }

  /** The one before keeps its connections until its attempts have ended, and a little longer. */
  replace(by: Transport): void {
    this.#transport = by
  }

  close(): void {
    this.#transport.close?.()
  }
}

/** All of them; each may be replaced. */
export class ReplaceableTransports {
  readonly #byName = new Map<string, ReplaceableTransport>()

  /** Takes these up. @returns those of a new name */
  replace(transports: Readonly<Record<string, Transport>>): Record<string, Transport> {
    const added: Record<string, Transport> = {}
    for (const [name, transport] of Object.entries(transports)) {
      const known = this.#byName.get(name)
      if (known === undefined) {
        added[name] = new ReplaceableTransport(transport)
        this.#byName.set(name, added[name] as ReplaceableTransport)
      } else known.replace(transport)
    }
    return added
  }
}
