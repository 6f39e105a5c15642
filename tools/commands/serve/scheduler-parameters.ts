/** `-o NAME=VALUE`: the scheduler's parameters, by the names that they have in Postfix's main.cf. Pure. */
import { readDuration } from '../../../src/policy/duration.js'
import { checkedParameters } from '../../../src/scheduler/parameter-bounds.js'
import type { SchedulerOptions } from '../../../src/scheduler/parameters.js'
import { lineOf, UsageError } from '../cli/command.js'

/** Parameters that are the queue's here, or name what a relay has not: nothing there is a transport that is dead as a whole. */
const notHere: ReadonlySet<string> = new Set([
  'qmgr_message_active_limit',
  'retry_transport',
  'transport_retry_time',
  'transports',
])

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

const { defaults: _, transports: __, ...ofAll } = checkedParameters({})

/** Is it what a parameter of the whole scheduler begins with, so that it may be no transport's name? `qmgr_message_active_limit=5` would be a
 * parameter of a transport `qmgr`. */
export const beginsParameter = (name: string): boolean =>
  ['default', 'initial', 'maximal', 'bounce', 'delay', 'qmgr'].includes(name) ||
  Object.keys(ofAll).some((parameter) => snakeCase(parameter).startsWith(`${name}_`))

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
