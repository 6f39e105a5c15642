/** `-o NAME=VALUE`: parameters of the queue and of its scheduler, by the names that they have in
 * Postfix's main.cf. Pure. */
import { readDuration } from '../../../src/policy/duration.js'
import type { PostfixRetryOptions } from '../../../src/policy/postfix-retry.js'
import { checkedParameters } from '../../../src/scheduler/parameter-bounds.js'
import type { SchedulerOptions } from '../../../src/scheduler/parameters.js'
import { lineOf, UsageError } from '../cli/command.js'

/** Parameters that are the queue's here, or name what a relay has not: nothing there is a transport that is dead as a whole. */
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

export interface QueueParameters {
  /** Those of the scheduler, `minimal_backoff_time` among them: a dead site rests for it, too. */
  readonly scheduler: readonly string[]
  /** Of the retry rule, as they were given. */
  readonly retry: PostfixRetryOptions
  /** Names of these. */
  readonly retryNames: readonly string[]
  readonly activeCountMax: number | undefined
}

/** @param texts of one name the last counts @throws UsageError */
export function queueParameters(texts: readonly string[]): QueueParameters {
  const scheduler: string[] = []
  const retry: Partial<Record<keyof PostfixRetryOptions, number>> = {}
  const named = new Set<string>()
  let activeCountMax: number | undefined
  for (const text of texts) {
    const [, name = '', value = ''] = /^([a-z_\d]+)=(.+)$/.exec(text) ?? []
    const known = retryNames[name]
    if (known !== undefined) {
      const ms = /^\d+$/.test(value) ? Number(value) * known.unitMs : readDuration(value)
      if (ms === undefined) throw new UsageError(`-o ${text}: a time is wanted, such as 10m or 5d`)
      retry[known.name] = ms
      named.add(name)
    }
    if (name === activeLimitName) {
      activeCountMax = Number(value)
      if (!Number.isInteger(activeCountMax) || activeCountMax < 1 || activeCountMax > 1_000_000)
        throw new UsageError(`-o ${text}: a number from 1 to 1000000 is wanted`)
    } else if (known === undefined || name === 'minimal_backoff_time') scheduler.push(text)
  }
  return { scheduler, retry, retryNames: [...named], activeCountMax }
}

/** @param texts `default_destination_concurrency_limit=5`, `slow_destination_rate_delay=1s`; of one name the last counts
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
    if (match === null) throw new UsageError(`-o wants NAME=VALUE, not '${text}'`)
    const [, name = '', value = ''] = match
    if (notHere.has(name)) throw new UsageError(`-o ${text}: a relay has no such parameter`)
    const transport = transports.find((one) => name.startsWith(`${one}_`))
    const parameter = transport === undefined ? name : name.slice(transport.length + 1)
    const option = { [camelCase(parameter)]: valueOf(parameter, value) }
    try {
      checkedParameters(transport === undefined ? option : { transports: { [transport]: option } })
    } catch (error) {
      throw new UsageError(`-o ${text}: ${lineOf(error)}`)
    }
    if (transport === undefined) Object.assign(options, option)
    else own[transport] = { ...own[transport], ...option }
  }
  return Object.keys(own).length === 0 ? options : { ...options, transports: own }
}

/** What parameters begin with that are not a transport's own. */
const beginnings = (): string[] => [
  'default_',
  'initial_',
  activeLimitName,
  ...Object.keys(retryNames),
  ...Object.keys(checkedParameters({})).map(snakeCase),
]

/** May it be no transport's name, because a parameter begins with it? With a transport `qmgr`,
 * `qmgr_message_active_limit=5` would be a parameter of that. */
export const beginsParameter = (name: string): boolean =>
  beginnings().some((beginning) => beginning.startsWith(`${name}_`))

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** A number, `yes`, `no`, or a word; of a time seconds, or with units. A feedback is a term, also where it looks like a number. */
function valueOf(name: string, text: string): number | boolean | string {
  if (name.endsWith('_feedback')) return text
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  const durationMs = /_(?:time|delay|interval)$/.test(name) ? readDuration(text) : undefined
  if (durationMs !== undefined) return durationMs / 1000
  return text === 'yes' || (text === 'no' ? false : text)
}

/** Attempts at once, of these together. */
export function processLimitOf(options: SchedulerOptions, transports: readonly string[]): number {
  const { defaults, transports: own } = checkedParameters(options)
  return transports.reduce((sum, name) => sum + (own.get(name) ?? defaults).processLimit, 0)
}
