/** ZMailer's clauses at work: which settings an address has, when it is tried again, and which limits it asks for.
 * Invariant: settings accumulate over the matching clauses, in order, later ones first, until a clause with a command has been
 * applied; what no clause sets has the documented default. channel = transport, host = nexthop.
 * @see ZMailer manual, chapter Scheduler */
import { assert } from '../base/assert.js'
import { checkOptionNames, type OptionNames } from '../base/option-names.js'
import { WaybillError } from '../errors.js'
import { globMatches, globMatchesAll } from './glob.js'
import { checkJitter, intervalFor, intervalsOf, jitterDefault } from './intervals.js'
import type { RetryPolicy } from './retry-policy.js'
import { parseZmailerClauses, type ZmailerClause } from './zmailer-clauses.js'
import type { ZmailerSettings } from './zmailer-keywords.js'
import { delayOf, delaysOf, retryIndex } from './zmailer-retries.js'

/** What maxta, maxchannel and maxring mean when they are 0. */
export const agentCountDefault = 1000

const defaults = {
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
} satisfies Partial<ZmailerSettings>

/** What the clauses want the scheduler to keep to for one destination. The queue does not ask: who opens it hands it on. Counts are ≥ 1. */
export interface ZmailerLimits {
  /** Deliveries at once, of all transports (maxta). */
  readonly deliveryCountMax: number
  /** Deliveries at once, for this destination: the least of maxring, maxchannel and maxta. */
  readonly destinationConcurrencyLimit: number
  /** Destinations with the same ring share `ringConcurrencyLimit` (maxring) deliveries at once. */
  readonly ring: string
  readonly ringConcurrencyLimit: number
  /** Oldest first; otherwise ZMailer shuffles. */
  readonly ageorder: boolean
  /** Mail waits until somebody asks for its site (ETRN, flush). */
  readonly queueonly: boolean
}

export interface ZmailerPolicy extends RetryPolicy {
  readonly clauses: readonly ZmailerClause[]
  settingsFor(transport: string, nexthop: string): ZmailerSettings
  limitsFor(transport: string, nexthop: string): ZmailerLimits
  /** Deliveries at once of a whole transport: the largest maxchannel that any of its destinations has. */
  processLimitFor(transport: string): number
}

const optionNames: OptionNames<{ jitter?: number }> = { jitter: true }

/** @param text a ZMailer scheduler configuration
 * @param jitter how far a delay may be moved before its lane is chosen, as a share of it: 0 (off) … 0.5
 * @throws WaybillError POLICY_INVALID with the line, OPTION_INVALID */
export function zmailerPolicy(text: string, options: { readonly jitter?: number } = {}): ZmailerPolicy {
  if (typeof text !== 'string')
    throw new WaybillError('OPTION_INVALID', 'a policy is the text of its clauses', { option: 'text' })
  checkOptionNames(options, optionNames)
  const { jitter = jitterDefault } = options
  checkJitter(jitter)
  const clauses = parseZmailerClauses(text)
  const intervalsMs = intervalsOf(delaysOf(defaults, clauses))
  const expiriesMs = [
    defaults.expiryMs,
    ...clauses.map(({ settings }) => settings.expiryMs ?? defaults.expiryMs),
  ]
  const settingsFor = (transport: string, nexthop: string): ZmailerSettings =>
    accumulate(clauses, transport, nexthop).settings
  return {
    clauses,
    intervalsMs,
    bounceQueueLifetimeMs: expiriesMs.includes(0) ? Number.MAX_SAFE_INTEGER : Math.max(...expiriesMs),
    delayWarningAgesMs: [],
    settingsFor,
    limitsFor: (transport, nexthop) => {
      const { settings, line } = accumulate(clauses, transport, nexthop)
      const deliveryCountMax = settings.maxta || agentCountDefault
      const ringConcurrencyLimit = settings.maxring || agentCountDefault
      return {
        deliveryCountMax,
        destinationConcurrencyLimit: Math.min(
          ringConcurrencyLimit,
          settings.maxchannel || agentCountDefault,
          deliveryCountMax,
        ),
        ring: `${transport}/${line}`,
        ringConcurrencyLimit,
        ageorder: settings.ageorder,
        queueonly: settings.queueonly,
      }
    },
    processLimitFor: (transport) => processLimit(clauses, transport),
    decide: ({ attempts, ageMs, transport, nexthop }, prng) => {
      assert(attempts >= 1, 'a policy is asked after an attempt')
      const { intervalMs, expiryMs, retries } = settingsFor(transport, nexthop)
      if (expiryMs > 0 && ageMs >= expiryMs) return { kind: 'expire' }
      const factor = retries[retryIndex(attempts, retries.length, `${transport}/${nexthop.toLowerCase()}`)]
      assert(factor !== undefined, 'the walk stays inside the list of retries')
      return { kind: 'retry', delayMs: intervalFor(intervalsMs, delayOf(intervalMs, factor), jitter, prng) }
    },
  }
}

/** Settings of an address, and the line of the last clause that gave any (0 = none did). */
function accumulate(
  clauses: readonly ZmailerClause[],
  transport: string,
  nexthop: string,
): { settings: ZmailerSettings; line: number } {
  const host = nexthop.toLowerCase()
  const said: Partial<ZmailerSettings> = {}
  let line = 0
  for (const clause of clauses) {
    if (!globMatches(clause.channel, transport) || !globMatches(clause.host, host)) continue
    Object.assign(said, clause.settings)
    line = clause.line
    if (clause.settings.command !== undefined) break
  }
  const intervalMs = said.intervalMs ?? defaults.intervalMs
  return { settings: { ...defaults, idlemaxMs: 3 * intervalMs, command: '', ...said }, line }
}

/** ZMailer counts a channel's agents against the limit of the address at hand; a transport here has one limit. The largest, so
 * that a clause for a few hosts does not throttle the others: these few are held back by their destinationConcurrencyLimit. */
function processLimit(clauses: readonly ZmailerClause[], transport: string): number {
  const reached: number[] = []
  let standing = defaults.maxchannel
  for (const { channel, host, settings } of clauses) {
    if (!globMatches(channel, transport)) continue
    const limit = settings.maxchannel ?? standing
    if (!globMatchesAll(host)) {
      reached.push(limit)
    } else {
      standing = limit
      if (settings.command !== undefined) break
    }
  }
  return Math.max(...[...reached, standing].map((limit) => limit || agentCountDefault))
}
