/** Messages as the API shows them, and selectors as the query of a request names them. Pure. */
import type { ListedMessage } from '../../admin/select/listing.js'
import { checkSelector, type Selector } from '../../admin/select/selector.js'
import { queueNameOf, type QueueName } from '../../lane/lane.js'
import { parseDuration } from '../../policy/duration.js'
import type { Schema } from './route.js'
import { text } from './schemas.js'

export interface ShownMessage extends Omit<ListedMessage, 'where' | 'dueAt'> {
  readonly queue: QueueName
  /** 0: due now; null: on hold. */
  readonly dueAt: number | null
}

export function shownMessage({ where, dueAt, ...facts }: ListedMessage): ShownMessage {
  return { ...facts, queue: queueNameOf(where), dueAt: dueAt === Infinity ? null : dueAt }
}

/** The members of a selector in a query, all of them strings. */
export const selectorQuery: Readonly<Record<string, Schema>> = {
  id: text,
  sender: { ...text, description: 'exactly; empty is the null sender' },
  recipient: { ...text, description: 'one of the recipients that still wait' },
  domain: { ...text, description: 'the domain of one of them' },
  nexthop: { ...text, description: 'where one of them goes now' },
  lane: { ...text, description: 'incoming, active, deferred, hold or the number of a lane' },
  olderThan: { ...text, description: 'accepted longer ago: milliseconds, or 90m, 2d' },
  lastStatus: { ...text, description: 'the status of the last outcome begins with this: 4.4' },
  tag: { ...text, description: 'one of its tags' },
}

/** @throws WaybillError OPTION_INVALID */
export function selectorInQuery(query: Readonly<Record<string, unknown>>): Selector {
  const selector: Record<string, unknown> = {}
  for (const name of Object.keys(selectorQuery)) {
    const value = query[name]
    if (typeof value !== 'string') continue
    if (name === 'lane') selector[name] = /^\d{1,9}$/.test(value) ? Number(value) : value
    else if (name === 'olderThan')
      selector[name] = /^\d{1,15}$/.test(value) ? Number(value) : parseDuration(value, 'olderThan')
    else selector[name] = value
  }
  checkSelector(selector)
  return selector
}
