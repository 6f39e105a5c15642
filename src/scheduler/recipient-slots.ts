/** Decides how many recipients each job may have in memory.
 * Invariant: of a transport, unused slots + slots of its jobs = recipientLimit, and unused
 * slots ≥ -extraRecipientLimit. The first job (in time) whose message is not wholly read holds
 * all unused slots. */
import { assert } from '../base/assert.js'
import type { Job } from './job.js'
import type { Message } from './message.js'

/** Slots that neither the job nor its message needs now go back to the transport, and from
 * there to the first job that can read more. Amortized constant: the pointer to that job only
 * moves forward. */
export function giveBackSlots(job: Job): void {
  const { transport, message } = job
  if (transport.firstUnread === job) {
    let next = job.younger
    while (next !== undefined && !next.message.unread) next = next.younger
    transport.firstUnread = next
  }
  const unused = Math.min(
    job.recipientLimit - job.recipientCount,
    message.recipientLimit - message.recipientCount,
  )
  if (unused <= 0) return
  job.recipientLimit -= unused
  message.recipientLimit -= unused
  transport.unusedSlots += unused
  assert(
    transport.unusedSlots <= transport.settings.recipientLimit,
    'a transport never has more slots than its limit',
  )
  if (transport.firstUnread !== undefined) takeUnusedSlots(transport.firstUnread)
}

/** All unused slots of the transport go to this job. */
export function takeUnusedSlots(job: Job): void {
  const unused = job.transport.unusedSlots
  if (unused <= 0) return
  job.recipientLimit += unused
  job.message.recipientLimit += unused
  job.transport.unusedSlots = 0
}

/** A job that preempts and is not wholly read gets half of the extra slots that are left. */
export function takeExtraSlots(job: Job): void {
  const { transport, message } = job
  const slots = Math.trunc((transport.settings.extraRecipientLimit + transport.unusedSlots + 1) / 2)
  job.recipientLimit += slots
  message.recipientLimit += slots
  transport.unusedSlots -= slots
  assert(
    transport.unusedSlots >= -transport.settings.extraRecipientLimit,
    'preempting jobs never get more than the extra slots',
  )
}

/** Slots after an entry of `job` left memory: first those lent by other jobs of the
 * message, then its own. */
export function settleSlots(message: Message, job: Job): void {
  for (let lender = message.firstJob; lender !== undefined; lender = lender.messageNext) {
    if (lender === job || lender.recipientCount >= lender.recipientLimit) continue
    if (lender.level < 0 || !message.unread) giveBackSlots(lender)
  }
  if (!message.unread) giveBackSlots(job)
}

/** The message has been read to its end: no job has to hold slots for it. */
export function giveBackAllSlots(message: Message): void {
  for (let job = message.firstJob; job !== undefined; job = job.messageNext) giveBackSlots(job)
}
