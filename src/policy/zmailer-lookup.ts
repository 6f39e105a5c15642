/** Decides which clauses apply to an address.
 * Invariant: settings accumulate over the matching clauses, in order, later ones first, until a
 * clause with a command has been applied; what no clause sets has the documented default. A cached
 * answer equals that of the clauses.
 * @see ZMailer manual, chapter Scheduler, Clause selection */
import type { DeliveryLimits } from './concurrency-limits.js'
import { globMatches } from './glob.js'
import type { SettingName, ZmailerClause, ZmailerSettings } from './zmailer-clauses.js'

/** What maxta, maxchannel and maxring mean when they are 0. */
export const agentCountDefault = 1000

/** Settings that no clause needs to make; `idlemax` is three intervals. */
export const defaults: Omit<ZmailerSettings, 'idlemaxMs'> = {
  intervalMs: 60_000,
  expiryMs: 3 * 86_400_000,
  retries: [1, 1, 2, 3, 5, 8, 13, 21, 34],
  maxta: 0,
  maxchannel: 0,
  maxring: 0,
  ageorder: false,
  queueonly: false,
  skew: 5,
  overfeed: 0,
  bychannel: false,
  user: 'root',
  group: 'daemon',
  command: '',
}

export interface Lookup {
  readonly settings: ZmailerSettings
  /** The clause that set each of them; nothing where it is the default. */
  readonly lines: Readonly<Partial<Record<SettingName, number>>>
  /** Those that match, in order. The search ended at the last one. */
  readonly clauses: readonly ZmailerClause[]
  readonly limits: DeliveryLimits
}

/** Addresses whose answer is remembered. */
const rememberedMax = 10_000

export class ClauseLookup {
  readonly #clauses: readonly ZmailerClause[]
  readonly #runsAgents: boolean
  readonly #remembered = new Map<string, Lookup>()

  /** @param runsAgents commands are run, and overfed */
  constructor(clauses: readonly ZmailerClause[], runsAgents: boolean) {
    this.#clauses = clauses
    this.#runsAgents = runsAgents
  }

  /** With 500 clauses a search takes half a millisecond, for each message that is deferred. */
  find(transport: string, nexthop: string): Lookup {
    const host = nexthop.toLowerCase()
    const key = `${transport}/${host}`
    const known = this.#remembered.get(key)
    if (known !== undefined) return known
    const found = search(this.#clauses, transport, host, this.#runsAgents)
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear()
    this.#remembered.set(key, found)
    return found
  }
}

function search(
  clauses: readonly ZmailerClause[],
  transport: string,
  host: string,
  runsAgents: boolean,
): Lookup {
  const said: Partial<ZmailerSettings> = {}
  const lines: Lookup['lines'] = {}
  const matching: ZmailerClause[] = []
  for (const clause of clauses) {
    if (!globMatches(clause.channel, transport) || !globMatches(clause.host, host)) continue
    Object.assign(said, clause.settings)
    Object.assign(lines, clause.lines)
    matching.push(clause)
    if (clause.settings.command !== undefined) break
  }
  const intervalMs = said.intervalMs ?? defaults.intervalMs
  const settings = { ...defaults, idlemaxMs: 3 * intervalMs, ...said }
  const each = runsAgents && settings.command !== '' ? 1 + settings.overfeed : 1
  const limits = limitsOf(settings, matching.at(-1)?.line ?? 0, transport, each)
  return { settings, lines, clauses: matching, limits }
}

/** @param each deliveries at once that an agent has: bounds are of agents */
function limitsOf(settings: ZmailerSettings, line: number, transport: string, each: number): DeliveryLimits {
  const { maxta, maxchannel, maxring, bychannel, queueonly } = settings
  return {
    deliveryCountMax: (maxta || agentCountDefault) * each,
    transportDeliveryCountMax: (maxchannel || agentCountDefault) * each,
    ring: bychannel ? `line ${line}, ${transport}` : `line ${line}`,
    ringDeliveryCountMax: (maxring || agentCountDefault) * each,
    queueonly,
  }
}
