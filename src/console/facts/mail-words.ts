/** Words for messages, lanes and destinations, and for their states. Pure. */
import type { DestinationState, LaneFigures, Message, SuspensionTarget, WaitingLimit } from './api.js'
import { fromNow, shown, spanText } from './format.js'

export interface Outcome {
  readonly status: string
  readonly text: string
  readonly remote?: string | null | undefined
}

/** The server and its reply, the status where the reply does not say it:
 * `mx.example.net[192.0.2.1]:25: 451 4.2.1 try later` */
export const reasonText = ({ status, text, remote }: Outcome): string =>
  shown(`${text.includes(status) ? '' : `${status} `}${remote ? `${remote}: ` : ''}${text}`, 500)

/** Recipients that ranges of first and last indexes have. */
export function countIn(ranges: readonly number[]): number {
  let count = 0
  for (let i = 0; i < ranges.length; i += 2) count += ranges[i + 1]! - ranges[i]! + 1
  return count
}

/** When it is attempted again. */
export function dueText({ dueAt, queue }: Pick<Message, 'dueAt' | 'queue'>, nowMs: number): string {
  if (dueAt === null) return 'when released'
  if (queue === 'active') return 'under way'
  return dueAt <= nowMs ? 'now' : fromNow(dueAt, nowMs)
}

/** What a lane is called: `deferred, 5m`. */
export const laneTitle = ({ queue, intervalMs }: Pick<LaneFigures, 'queue' | 'intervalMs'>): string =>
  queue === 'deferred' && intervalMs !== null ? `deferred, ${spanText(intervalMs)}` : queue

/** `dead, 4m`; `suspended`, until it is resumed; a living one that comes back from the dead says
 * how. */
export function stateText(state: DestinationState, recovery: Recovery, nowMs: number): string {
  if (state.kind === 'ready') return recovery === 'none' ? 'ready' : recovery
  if (state.untilAt === null) return state.kind
  return `${state.kind}, ${spanText(Math.max(0, state.untilAt - nowMs))}`
}

/** What an operator has suspended, where that is not just this destination. */
export function suspendedText({ transport, nexthop }: SuspensionTarget): string {
  if (nexthop === null) return `by an operator: all of ${transport ?? ''}`
  return transport === null ? 'by an operator: by every transport' : 'by an operator'
}

/** `mail waits for 600 in 1m of tag news`. */
export function limitText({ kind, name, count, perMs }: WaitingLimit): string {
  const rate = `${count} in ${spanText(perMs)}`
  if (kind === 'order') return `slowed by an operator to ${rate}`
  return kind === 'reply' ? `slowed by its reply to ${rate}` : `mail waits for ${rate} of ${kind} ${name}`
}

/** What a page says when it is done. */
export const isSlowedText = (what: string, rateText: string, forText: string): string =>
  `${what} is slowed to ${rateText} for ${forText}, or until you resume it. Mail for it waits its turn.`

/** The same. */
export const isSuspendedText = (what: string, forText: string | undefined): string =>
  `${what} is suspended ${forText === undefined ? 'until you resume it' : `for ${forText}`}. Mail for it is kept.`

export type Recovery = 'none' | 'canary' | 'slow-start'

/** What is meant by it. */
export const stateMeaning: Readonly<Record<DestinationState['kind'] | Recovery, string>> = {
  ready: '',
  none: '',
  dead: 'no attempts there until then: it did not answer',
  suspended: 'no attempts there until then',
  canary: 'one delivery tries out whether it answers again',
  'slow-start': 'it answers again, and gets more from delivery to delivery',
}
