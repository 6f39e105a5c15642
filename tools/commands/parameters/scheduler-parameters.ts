/** `-o NAME=VALUE`: parameters of the queue, of its scheduler and of its transports, by the names
 * that they have in Postfix's main.cf and master.cf. Pure.
 * Invariant: an error begins with what was given, and speaks of parameters as main.cf spells
 * them. */
import { isMailAddress } from '../../../src/base/mail-address.js'
import { isWaybillError } from '../../../src/errors.js'
import { readDuration } from '../../../src/policy/duration.js'
import type { PostfixRetryOptions } from '../../../src/policy/postfix-retry.js'
import { checkedParameters } from '../../../src/scheduler/parameter-bounds.js'
import type { SchedulerOptions } from '../../../src/scheduler/parameters.js'
import { lineOf, UsageError } from '../cli/command.js'
import { clientParameter, withClientParameter, type SaidOfClient } from './client-parameters.js'
import { otherNames } from './other-names.js'
import { beginsParameter, snakeCase } from './parameter-names.js'
import { transportLocal } from './transport-names.js'

/** Parameters that are the queue's here, or name what a relay has not: nothing there is a transport
 * that is dead as a whole. */
const notHere: ReadonlySet<string> = new Set(['retry_transport', 'transport_retry_time', 'transports'])

const secondMs = 1000
const hourMs = 3_600_000
const dayMs = 86_400_000

/** Of the retry rule, with the unit that Postfix gives a number without one. */
const retryNames: Readonly<
  Record<string, { readonly name: keyof PostfixRetryOptions; readonly unitMs: number }>
> = {
  minimal_backoff_time: { name: 'minimalBackoffTimeMs', unitMs: secondMs },
  maximal_backoff_time: { name: 'maximalBackoffTimeMs', unitMs: secondMs },
  maximal_queue_lifetime: { name: 'maximalQueueLifetimeMs', unitMs: dayMs },
  bounce_queue_lifetime: { name: 'bounceQueueLifetimeMs', unitMs: dayMs },
  delay_warning_time: { name: 'delayWarningTimeMs', unitMs: hourMs },
}
const activeLimitName = 'qmgr_message_active_limit'
const deferName = 'defer_transports'
const inFlowName = 'in_flow_delay'
const bccName = 'always_bcc'
/** As in Postfix. */
const inFlowDelayMsDefault = 1000
const inFlowDelayMsMax = 10_000

/** @see Postfix local_destination_concurrency_limit, local_destination_recipient_limit */
const localLimits = { destinationConcurrencyLimit: 2, destinationRecipientLimit: 1 } as const

export interface QueueParameters {
  readonly scheduler: SchedulerOptions
  /** Of the retry rule, as they were given. */
  readonly retry: PostfixRetryOptions
  /** Names of these. */
  readonly retryNames: readonly string[]
  readonly activeCountMax: number | undefined
  /** Of each transport that was named. */
  readonly clients: ReadonlyMap<string, SaidOfClient>
  /** Transports whose mail is put off. */
  readonly deferred: ReadonlySet<string>
  /** Between two answers to one client while the active queue is full; 0: none. */
  readonly inFlowDelayMs: number
  /** Gets a copy of each message that comes in; undefined: no copies. */
  readonly alwaysBcc: string | undefined
}

/** @param texts of one name the last counts
 * @param transports that there are
 * @throws UsageError */
export function queueParameters(texts: readonly string[], transports: readonly string[]): QueueParameters {
  const scheduler: string[] = []
  const retry: Partial<Record<keyof PostfixRetryOptions, number>> = {}
  const named = new Set<string>()
  const clients = new Map<string, SaidOfClient>()
  let deferred: ReadonlySet<string> = new Set()
  let inFlowDelayMs = inFlowDelayMsDefault
  let alwaysBcc: string | undefined
  let activeCountMax: number | undefined
  for (const text of texts) {
    const [, name = '', value = ''] = /^([a-z_\d]+)=(.*)$/.exec(text) ?? []
    const known = retryNames[name]
    const transport = transportIn(name, transports)
    const client =
      transport === undefined ? undefined : clientParameter(transport, name.slice(transport.length + 1))
    if (known !== undefined) {
      const ms = /^\d+$/.test(value) ? Number(value) * known.unitMs : readDuration(value)
      if (ms === undefined) throw new UsageError(`-o ${text}: expected a time such as 10m or 5d`)
      retry[known.name] = ms
      named.add(name)
    }
    if (name === activeLimitName) activeCountMax = activeLimitOf(text, value)
    else if (name === bccName) alwaysBcc = bccOf(text, value)
    else if (name === inFlowName) inFlowDelayMs = inFlowDelayOf(text, value)
    else if (name === deferName) deferred = deferredOf(text, value, transports)
    else if (client !== undefined) {
      const before = clients.get(transport!) ?? {}
      clients.set(transport!, withClientParameter(before, client, text, value))
    } else if (known === undefined || name === 'minimal_backoff_time') scheduler.push(text)
  }
  return {
    scheduler: withLocalLimits(schedulerParameters(scheduler, transports), transports),
    retry,
    retryNames: [...named],
    activeCountMax,
    clients,
    deferred,
    inFlowDelayMs,
    alwaysBcc,
  }
}

const transportIn = (name: string, transports: readonly string[]): string | undefined =>
  transports.find((transport) => name.startsWith(`${transport}_`))

function activeLimitOf(text: string, value: string): number {
  const count = Number(value)
  if (!Number.isInteger(count) || count < 1 || count > 1_000_000)
    throw new UsageError(`-o ${text}: expected a number from 1 to 1000000`)
  return count
}

/** An empty value is none. */
function bccOf(text: string, value: string): string | undefined {
  if (value === '') return undefined
  if (!isMailAddress(value) || !value.includes('@')) throw new UsageError(`-o ${text}: expected an address`)
  return value
}

function inFlowDelayOf(text: string, value: string): number {
  const ms = /^\d+$/.test(value) ? Number(value) * secondMs : readDuration(value)
  if (ms === undefined || ms > inFlowDelayMsMax)
    throw new UsageError(`-o ${text}: expected a time from 0 to 10s`)
  return ms
}

/** An empty list defers none. */
function deferredOf(text: string, value: string, transports: readonly string[]): ReadonlySet<string> {
  const names = value.split(/[\s,]+/).filter((name) => name !== '')
  const unknown = names.find((name) => !transports.includes(name))
  if (unknown !== undefined)
    throw new UsageError(`-o ${text}: there is no transport '${unknown}'; there are ${transports.join(', ')}`)
  return new Set(names)
}

function withLocalLimits(options: SchedulerOptions, transports: readonly string[]): SchedulerOptions {
  if (!transports.includes(transportLocal)) return options
  const { [transportLocal]: local, ...others } = options.transports ?? {}
  return { ...options, transports: { ...others, [transportLocal]: { ...localLimits, ...local } } }
}

/** @param texts `default_destination_concurrency_limit=5`, `slow_destination_rate_delay=1s`; of one
 * name the last counts
 * @param transports whose names may stand where `default` does
 * @throws UsageError */
export function schedulerParameters(
  texts: readonly string[],
  transports: readonly string[] = [],
): SchedulerOptions {
  const options: Record<string, unknown> = {}
  const own: Record<string, Record<string, unknown>> = {}
  for (const text of texts) {
    const match = /^([a-z_\d]+)=(.+)$/.exec(text)
    if (match === null) throw new UsageError(`-o takes NAME=VALUE, not '${text}'`)
    const [, name = '', value = ''] = match
    if (notHere.has(name)) throw new UsageError(`-o ${text}: a relay has no such parameter`)
    const transport = transportIn(name, transports)
    const parameter = transport === undefined ? name : name.slice(transport.length + 1)
    const option = { [camelCase(parameter)]: valueOf(parameter, value) }
    try {
      checkedParameters(transport === undefined ? option : { transports: { [transport]: option } })
    } catch (error) {
      throw new UsageError(`-o ${text}: ${reasonOf(error, name, transports)}`)
    }
    if (transport === undefined) Object.assign(options, option)
    else own[transport] = { ...own[transport], ...option }
  }
  return Object.keys(own).length === 0 ? options : { ...options, transports: own }
}

/** What is wrong, without the names that parameters have in programs. */
function reasonOf(error: unknown, name: string, transports: readonly string[]): string {
  if (!isWaybillError(error, 'OPTION_INVALID')) return lineOf(error)
  const bound = / must be (.*?)(?: \(option \S+\))?$/.exec(error.message)?.[1]
  if (bound !== undefined) return `it must be ${bound === 'true or false' ? 'yes or no' : bound}`
  const here = otherNames[name]
  if (here !== undefined) return `here it is ${here}`
  const [, prefix = ''] = /^([a-z\d]+)_/.exec(name) ?? []
  const isOfTransport = !beginsParameter(prefix) && !transports.includes(prefix)
  if (isOfTransport && isKnown(name.slice(prefix.length + 1)))
    return `there is no transport '${prefix}'; there are ${transports.join(', ')}`
  return 'there is no such parameter'
}

/** Of the scheduler or of a client, behind the name of a transport. */
function isKnown(parameter: string): boolean {
  const { defaults } = checkedParameters({})
  const isSchedulers = Object.keys(defaults).some((name) => snakeCase(name) === parameter)
  return isSchedulers || clientParameter('smtp', parameter) !== undefined
}

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** A number, `yes`, `no`, or a word; of a time seconds, or with units. A feedback is a term, also
 * where it looks like a number. */
function valueOf(name: string, text: string): number | boolean | string {
  if (name.endsWith('_feedback')) return text
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  const durationMs = /_(?:time|delay|interval)$/.test(name) ? readDuration(text) : undefined
  if (durationMs !== undefined) return durationMs / 1000
  return text === 'yes' || (text === 'no' ? false : text)
}

/** Attempts at once, of one transport. */
export function processLimitOf(options: SchedulerOptions, transport: string): number {
  const { defaults, transports } = checkedParameters(options)
  return (transports.get(transport) ?? defaults).processLimit
}
