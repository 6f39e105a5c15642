/** A job of the scheduler: an active message, and which of its recipients the scheduler has. */
import type { ActiveMessage } from '../../active/active-message.js'
import { assert } from '../../base/assert.js'
import { namesRecipients, type Priority } from '../../record/envelope.js'
import { inScheduler } from '../../scheduler/scheduler.js'

export interface Job {
  readonly message: ActiveMessage
  /** Recipients that wait for an attempt and that the scheduler was not given yet: all of them
   * have `next` or a higher index. */
  left: number
  /** Index of the recipient with which the next batch begins, or a lower one. */
  next: number
  /** Attempts that have no outcome yet, and readings of recipients: they know where it stands. */
  useCount: number
  /** Addresses by index, of those that the scheduler holds or that are being routed, when the
   * envelope does not have them. */
  readonly addresses: Map<number, string> | undefined
  /** The same of original recipients that the sender gave, when the envelope does not have
   * these. */
  readonly orcpts: Map<number, string> | undefined
  [inScheduler]: object | undefined
}

/** Of a recipient that the scheduler holds, or that is being routed.
 * @throws InvariantError where nobody knows it: it would reach transports and consumers */
export function addressOf({ message, addresses }: Pick<Job, 'message' | 'addresses'>, index: number): string {
  const address = addresses?.get(index) ?? message.envelope.recipients[index]
  assert(address !== undefined, 'the job knows the addresses of its recipients')
  return address
}

/** Bands are far apart, so that a message comes before all of a lower band, whatever their ages. */
const bandOffsetMs: Readonly<Record<Priority, number>> = { high: -1e12, normal: 0, low: 1e12 }

/** The message's place in the scheduler's order of time, milliseconds.
 * @param nowMs when it becomes active */
export const placeOf = ({ envelope: { priority } }: ActiveMessage, nowMs: number): number =>
  nowMs + bandOffsetMs[priority]

/** A new job for a message of which the scheduler has no recipients yet. */
export const jobOf = (message: ActiveMessage): Job => {
  const { envelope } = message
  const isRead = !namesRecipients(envelope)
  return {
    message,
    left: message.pendingCount,
    next: 0,
    useCount: 0,
    addresses: isRead ? new Map() : undefined,
    orcpts: isRead && envelope.dsn !== undefined ? new Map() : undefined,
    [inScheduler]: undefined,
  }
}

/** Does anybody but the scheduler have it now? What has no job is being settled, or waits for
 * that. */
export const isInUse = ({ job, reading, readerCount }: ActiveMessage): boolean =>
  job === undefined || (job as Job).useCount > 0 || reading !== undefined || readerCount > 0
