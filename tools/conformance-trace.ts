/** The form of a recorded scenario, and the meaning of its messages and parameters for us.
 * Invariant: recipients are numbered through the groups of their message in the order given: the
 * order in which they are read. */
import { parseFeedback } from '../src/scheduler/concurrency.js'
import type { SchedulerOptions, SchedulerRecipient } from '../src/scheduler/scheduler.js'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

export interface TraceEvent {
  readonly e: string
  readonly [name: string]: Json
}

export interface Trace {
  readonly name: string
  readonly config: {
    readonly mode: 'direct' | 'pipeline'
    readonly feedback_rounding: boolean
    readonly retry: number
    readonly trace_rcpt: boolean
    readonly trace_cache: boolean
    readonly globals: Readonly<Record<string, number>>
    readonly transports: readonly Readonly<Record<string, number | string>>[]
  }
  readonly messages: Readonly<Record<string, readonly (readonly [string, string, number])[]>>
  readonly trace: readonly TraceEvent[]
}

export interface TracedMessage {
  readonly id: string
  readonly recipients: readonly SchedulerRecipient[]
  deferred: boolean
}

const camel = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Postfix takes feedback 1 in the place of one that it does not understand; we refuse the
 * option. */
const accepted = (value: number | string): number | string =>
  typeof value === 'string' && parseFeedback(value) === undefined ? '1' : value

export function optionsOf({ config }: Trace): SchedulerOptions {
  const transports: Record<string, Record<string, number | string>> = {}
  for (const { name, ...parameters } of config.transports)
    transports[String(name)] = Object.fromEntries(
      Object.entries(parameters).map(([parameter, value]) => [camel(parameter), accepted(value)]),
    )
  const globals = Object.fromEntries(Object.entries(config.globals).map(([k, v]) => [camel(k), v]))
  return {
    ...globals,
    feedbackRounding: config.feedback_rounding,
    retryTransport: config.retry === 1 ? 'retry' : '',
    transports,
  }
}

export function messageOf(id: string, groups: Trace['messages'][string]): TracedMessage {
  const recipients: SchedulerRecipient[] = []
  for (const [transport, nexthop, count] of groups)
    for (let i = 0; i < count; i++) {
      const index = recipients.length
      const address = `u${String(index).padStart(5, '0')}.${transport}@${nexthop}`
      recipients.push({ index, address, transport, nexthop })
    }
  return { id, recipients, deferred: false }
}

/** `[first, last]` for each run of consecutive indexes. */
export function rangesOf(indexes: readonly number[]): [number, number][] {
  const ranges: [number, number][] = []
  for (const index of indexes) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] + 1 === index) last[1] = index
    else ranges.push([index, index])
  }
  return ranges
}
