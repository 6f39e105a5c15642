/** `-o NAME=VALUE`: the scheduler's parameters, by the names that they have in Postfix's main.cf. Pure. */
import { readDuration } from '../../src/policy/duration.js'
import { checkedParameters } from '../../src/scheduler/parameter-bounds.js'
import type { SchedulerOptions } from '../../src/scheduler/parameters.js'
import { lineOf, UsageError } from './command.js'

/** Parameters that are the queue's here, or name what a relay has not. */
const notHere: ReadonlySet<string> = new Set(['qmgr_message_active_limit', 'retry_transport'])

/** @param texts `default_destination_concurrency_limit=5`, `default_destination_rate_delay=1s`; of one name the last counts
 * @throws UsageError */
export function schedulerParameters(texts: readonly string[]): SchedulerOptions {
  const options: Record<string, unknown> = {}
  for (const text of texts) {
    const match = /^([a-z_]+)=(.+)$/.exec(text)
    if (match === null) throw new UsageError(`-o wants NAME=VALUE, not '${text}'`)
    const [, name = '', value = ''] = match
    if (notHere.has(name)) throw new UsageError(`-o ${text}: a relay has no such parameter`)
    const option = {
      [name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())]: valueOf(name, value),
    }
    try {
      checkedParameters(option)
    } catch (error) {
      throw new UsageError(`-o ${text}: ${lineOf(error)}`)
    }
    Object.assign(options, option)
  }
  return options
}

/** A number, seconds where a unit is named, `yes`, `no`, or a word. A feedback is a term, also where it looks like a number. */
function valueOf(name: string, text: string): number | boolean | string {
  if (name.endsWith('_feedback')) return text
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  const durationMs = readDuration(text)
  if (durationMs !== undefined) return durationMs / 1000
  return text === 'yes' || (text === 'no' ? false : text)
}
