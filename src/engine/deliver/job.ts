/** What the scheduler handles: an active message, and what of its recipients the scheduler has been given. */
import type { ActiveMessage } from '../../active/active-message.js'
import { inScheduler } from '../../scheduler/scheduler.js'

export interface Job {
  readonly message: ActiveMessage
  /** The recipients that wait for an attempt, in order; undefined: all. */
  readonly indexes: readonly number[] | undefined
  /** How many of them the scheduler was given, or would have been had they a route. */
  given: number
  /** Addresses by index, of those the scheduler holds, when the envelope does not have them. */
  readonly addresses: Map<number, string> | undefined
  /** The same of original recipients that the sender gave, when the envelope does not have these. */
  readonly orcpts: Map<number, string> | undefined
  [inScheduler]: object | undefined
}

export const jobOf = (message: ActiveMessage): Job => {
  const { recipientCount, recipientFrames, dsn } = message.envelope
  return {
    message,
    indexes: message.pendingCount === recipientCount ? undefined : message.indexesIn('pending'),
    given: 0,
    addresses: recipientFrames.length > 0 ? new Map() : undefined,
    orcpts: recipientFrames.length > 0 && dsn !== undefined ? new Map() : undefined,
    [inScheduler]: undefined,
  }
}
