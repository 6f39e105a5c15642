/** Applies ZMailer's clauses: retry delays and delivery limits of an address.
 * Invariant: channel = transport, host = nexthop, and the same clauses answer for delays and for
 * limits. A delay is exact where its lane exists; there are as many lanes as a queue takes
 * (README.md).
 * @see ZMailer manual, chapter Scheduler */
import { assert } from '../base/assert.js'
import { checkOptionNames, type OptionNames } from '../base/option-names.js'
import { WaybillError } from '../errors.js'
import type { DeliveryLimits } from './delivery-limits.js'
import { globMatches } from './glob.js'
import { checkJitter, intervalFor, intervalsOf } from './intervals.js'
import type { RetryPolicy } from './retry-policy.js'
import {
  parseZmailerClauses,
  readZmailerClauses,
  type PolicyProblem,
  type SettingName,
  type ZmailerClause,
} from './zmailer-clauses.js'
import type { ZmailerSettings } from './zmailer-keywords.js'
import { ClauseLookup, defaults } from './zmailer-lookup.js'
import { delayOf, delaysOf, retryIndex, unaskedDelayMs } from './zmailer-retries.js'

/** Why an address has what it has. */
export interface ZmailerExplanation {
  readonly transport: string
  readonly nexthop: string
  /** The clauses that match, in order; the search ended at the last one. */
  readonly clauses: readonly {
    readonly line: number
    /** Of an empty clause, the line of the one whose contents it has. */
    readonly contentsLine: number
    readonly pattern: string
  }[]
  readonly settings: ZmailerSettings
  /** Where each setting stands; one that is missing has its default. */
  readonly lines: Readonly<Partial<Record<SettingName, number>>>
  readonly limits: DeliveryLimits
  /** Delays after the attempts in turn, milliseconds, until the list of retries ends. */
  readonly delaysMs: readonly number[]
}

export interface ZmailerPolicy extends RetryPolicy {
  readonly clauses: readonly ZmailerClause[]
  settingsFor(transport: string, nexthop: string): ZmailerSettings
  limitsFor(transport: string, nexthop: string): DeliveryLimits
  processLimitFor(transport: string): number
  explain(transport: string, nexthop: string): ZmailerExplanation
}

export interface ZmailerPolicyOptions {
  /** How far a delay may be moved before one of its clause's own delays is chosen, as a share of
   * it: 0 (default: delays are exact) … 0.5. */
  readonly jitter?: number
  /** Commands are run by agents: `overfeed` lets each have so many deliveries more at once. Default
   * false. */
  readonly agents?: boolean
}

const optionNames: OptionNames<ZmailerPolicyOptions> = { jitter: true, agents: true }

/** @param text a ZMailer scheduler configuration
 * @throws WaybillError POLICY_INVALID with every problem, by line and column; OPTION_INVALID */
export function zmailerPolicy(text: string, options: ZmailerPolicyOptions = {}): ZmailerPolicy {
  checkText(text)
  checkOptionNames(options, optionNames)
  const { jitter = 0, agents = false } = options
  checkJitter(jitter)
  return new ClausePolicy(parseZmailerClauses(text), jitter, agents)
}

/** @param text a ZMailer scheduler configuration
 * @returns every problem in the order of the text, at most 100; none: `zmailerPolicy` takes it
 * @throws WaybillError OPTION_INVALID when it is no text */
export function zmailerPolicyProblems(text: string): readonly PolicyProblem[] {
  checkText(text)
  return readZmailerClauses(text).problems
}

function checkText(text: unknown): void {
  if (typeof text !== 'string')
    throw new WaybillError('OPTION_INVALID', 'a policy is the text of its clauses', { option: 'text' })
}

class ClausePolicy implements ZmailerPolicy {
  readonly clauses: readonly ZmailerClause[]
  readonly intervalsMs: readonly number[]
  readonly bounceQueueLifetimeMs: number
  readonly delayWarningAgesMs: readonly number[] = []
  readonly #jitter: number
  readonly #lookup: ClauseLookup

  constructor(clauses: readonly ZmailerClause[], jitter: number, runsAgents: boolean) {
    this.clauses = clauses
    this.#jitter = jitter
    this.#lookup = new ClauseLookup(clauses, runsAgents)
    const { intervalMs, retries, expiryMs } = defaults
    this.intervalsMs = intervalsOf(delaysOf({ intervalMs, retries, expiryMs }, clauses))
    const expiriesMs = clauses.map(({ settings }) => settings.expiryMs ?? defaults.expiryMs)
    this.bounceQueueLifetimeMs = expiriesMs.includes(0)
      ? Number.MAX_SAFE_INTEGER
      : Math.max(defaults.expiryMs, ...expiriesMs)
  }

  // Properties, so that one can be handed on by itself.
  readonly settingsFor: ZmailerPolicy['settingsFor'] = (transport, nexthop) =>
    this.#lookup.find(transport, nexthop).settings

  readonly limitsFor: ZmailerPolicy['limitsFor'] = (transport, nexthop) =>
    this.#lookup.find(transport, nexthop).limits

  readonly processLimitFor: ZmailerPolicy['processLimitFor'] = (transport) =>
    this.clauses.reduce(
      (most, { channel, settings }) =>
        globMatches(channel, transport) ? Math.max(most, settings.maxchannel ?? 0) : most,
      0,
    )

  readonly explain: ZmailerPolicy['explain'] = (transport, nexthop) => {
    const { settings, lines, clauses, limits } = this.#lookup.find(transport, nexthop)
    const { intervalMs, retries, expiryMs, queueonly } = settings
    return {
      transport,
      nexthop,
      clauses: clauses.map(({ line, contentsLine, channel, host }) => ({
        line,
        contentsLine,
        pattern: `${channel.source}/${host.source}`,
      })),
      settings,
      lines,
      limits,
      delaysMs: queueonly
        ? [unaskedDelayMs(expiryMs, 0)]
        : retries.map((factor) => this.#nearest(delayOf(intervalMs, factor))),
    }
  }

  readonly decide: ZmailerPolicy['decide'] = ({ attempts, ageMs, transport, nexthop }, prng) => {
    assert(attempts >= 1, 'a policy is asked after an attempt')
    const { intervalMs, expiryMs, retries, queueonly } = this.settingsFor(transport, nexthop)
    if (expiryMs > 0 && ageMs >= expiryMs) return { kind: 'expire' }
    if (queueonly) return { kind: 'retry', delayMs: this.#nearest(unaskedDelayMs(expiryMs, ageMs)) }
    const factor = retries[retryIndex(attempts, retries.length, `${transport}/${nexthop.toLowerCase()}`)]
    assert(factor !== undefined, 'the walk stays inside the list of retries')
    const delayMs = delayOf(intervalMs, factor)
    if (this.#jitter === 0) return { kind: 'retry', delayMs: this.#nearest(delayMs) }
    // Lanes of other clauses are none of its delays.
    const ownMs = intervalsOf(retries.map((own) => this.#nearest(delayOf(intervalMs, own))))
    return { kind: 'retry', delayMs: intervalFor(ownMs, delayMs, this.#jitter, prng) }
  }

  /** Of the lanes that there are: the delay itself, unless there are too many. */
  #nearest(delayMs: number): number {
    return intervalFor(this.intervalsMs, delayMs, 0, noChance)
  }
}

const noChance = {
  uint32: (): number => {
    throw new Error('without jitter nothing is drawn')
  },
}
