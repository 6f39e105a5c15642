/** Applies ZMailer's clauses: retry delays and delivery limits of an address.
 * Invariant: channel = transport, host = nexthop, and the same clauses answer for delays and for
 * limits. A delay is exact where its lane exists; there are as many lanes as a queue takes
 * (README.md).
 * @see ZMailer manual, chapter Scheduler */
import { assert } from '../base/assert.js'
import { checkOptionNames, type OptionNames } from '../base/options.js'
import { below, seededPrng } from '../base/prng.js'
import { WaybillError } from '../errors.js'
import type { DeliveryLimits } from './concurrency-limits.js'
import { durationMsMax } from './duration.js'
import { globMatches, globMatchesAll, globsOverlap, parseGlob } from './glob.js'
import { checkJitter, intervalFor, intervalsOf } from './intervals.js'
import type { RetryPolicy } from './retry-policy.js'
import {
  parseZmailerClauses,
  readZmailerClauses,
  type PolicyProblem,
  type SettingName,
  type ZmailerClause,
  type ZmailerSettings,
} from './zmailer-clauses.js'
import { ClauseLookup, defaults } from './zmailer-lookup.js'

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
  readonly jitter?: number | undefined
  /** Commands are run by agents: `overfeed` lets each have so many deliveries more at once. Default
   * false. */
  readonly agents?: boolean | undefined
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
  readonly #runsAgents: boolean
  readonly #lookup: ClauseLookup

  constructor(clauses: readonly ZmailerClause[], jitter: number, runsAgents: boolean) {
    this.clauses = clauses
    this.#jitter = jitter
    this.#runsAgents = runsAgents
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

  readonly processLimitFor: ZmailerPolicy['processLimitFor'] = (transport) => {
    const said = this.clauses.filter(({ channel }) => globMatches(channel, transport))
    const most = (name: 'maxchannel' | 'overfeed'): number =>
      Math.max(0, ...said.map(({ settings }) => settings[name] ?? 0))
    const each = this.#runsAgents ? 1 + most('overfeed') : 1
    return Math.min(most('maxchannel') * each, processLimitMax)
  }

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

/** More than a machine has, and a number that the scheduler takes. */
const processLimitMax = 999_999_999

type Row = Pick<ZmailerClause, 'channel' | 'host' | 'settings'>

/** For `retries=0`: an interval of 0 would be the lane of new mail. */
const delayMsMin = 1000

/** Attempts after the end of the list until the walk repeats itself. */
const walkLengthMax = 10_000

const delayOf = (intervalMs: number, factor: number): number =>
  Math.min(Math.max(intervalMs * factor, delayMsMin), durationMsMax)

/** The place in a list of retries for the delay after an attempt. An address goes through its list
 * once, then enters it again and again at a random spot and goes on to its end. Where ZMailer keeps
 * the place in the list in memory, per thread (channel and host), and loses it with the process,
 * the walk here is a function of the thread's name and the number of attempts.
 * @param attempts ≥ 1 @param listLength ≥ 1 @param thread channel/host */
function retryIndex(attempts: number, listLength: number, thread: string): number {
  if (attempts <= listLength) return attempts - 1
  let left = (attempts - listLength - 1) % walkLengthMax
  const spots = seededPrng(hash(thread))
  for (;;) {
    const spot = below(spots, listLength)
    if (spot + left < listLength) return spot + left
    left -= listLength - spot
  }
}

/** The wait of queue-only mail that never expires and is not asked for. */
const unaskedMs = 30 * 86_400_000
/** It has three lanes, so that it expires at most a sixteenth of its lifetime late. */
const unaskedShares = [1, 4, 16] as const

/** How long queue-only mail waits: until it expires. @param ageMs of the message */
function unaskedDelayMs(expiryMs: number, ageMs: number): number {
  const delaysMs = unaskedDelaysMs(expiryMs)
  if (expiryMs === 0) return delaysMs[0]!
  return delaysMs.find((delayMs) => delayMs <= expiryMs - ageMs) ?? delaysMs.at(-1)!
}

/** All of these, the longest first. */
const unaskedDelaysMs = (expiryMs: number): readonly number[] =>
  expiryMs === 0
    ? [unaskedMs]
    : unaskedShares.map((share) => Math.max(Math.round(expiryMs / share), delayMsMin))

/** Every delay that some address may get. A few that none gets are harmless; a missing one
 * would be rounded. */
function* delaysOf(
  defaults: Partial<ZmailerSettings>,
  clauses: readonly ZmailerClause[],
): Generator<number, undefined> {
  yield* listedDelaysOf(defaults, clauses)
  if (!clauses.some(({ settings }) => settings.queueonly)) return
  for (const { settings } of [{ settings: defaults }, ...clauses])
    if (settings.expiryMs !== undefined) yield* unaskedDelaysMs(settings.expiryMs)
}

function* listedDelaysOf(
  defaults: Partial<ZmailerSettings>,
  clauses: readonly ZmailerClause[],
): Generator<number, undefined> {
  const everything = parseGlob('*')
  const rows: Row[] = [{ channel: everything, host: everything, settings: defaults }, ...clauses]
  const givers = rows.filter(
    (row, i) => row.settings.intervalMs !== undefined && !isHidden(rows, i, 'intervalMs'),
  )
  const listers = rows.filter((row, i) => row.settings.retries !== undefined && !isHidden(rows, i, 'retries'))
  for (const giver of givers)
    for (const lister of listers) {
      // Of two clauses that match the same address, the later has the last word on what it sets.
      const giverIsLater = rows.indexOf(giver) > rows.indexOf(lister)
      if (
        giver !== lister &&
        (giverIsLater ? giver.settings.retries : lister.settings.intervalMs) !== undefined
      )
        continue
      if (!globsOverlap(giver.channel, lister.channel) || !globsOverlap(giver.host, lister.host)) continue
      for (const factor of lister.settings.retries ?? [])
        yield delayOf(giver.settings.intervalMs ?? 0, factor)
    }
}

/** True when every address that gets `setting` from row `i` gets it again from a later one that
 * matches everything. */
function isHidden(rows: readonly Row[], i: number, setting: 'intervalMs' | 'retries'): boolean {
  for (let j = i; j + 1 < rows.length && rows[j]?.settings.command === undefined; j++) {
    const next = rows[j + 1]
    if (next?.settings[setting] !== undefined && globMatchesAll(next.channel) && globMatchesAll(next.host))
      return true
  }
  return false
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (const character of text) h = Math.imul(h ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return h
}
