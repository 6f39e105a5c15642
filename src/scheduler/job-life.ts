/** Decides when a job is in its transport's lists.
 * Invariant: a job is listed from its first recipients until its last entry is SELECTED and
 * nothing is unread; it comes back when further recipients come, with the slots it had, and is
 * freed with its message. */
import { assert } from '../base/assert.js'
import type { FreeList } from '../base/free-list.js'
import { insertInOrder, insertInTime, Job, removeFromOrder, removeFromTime } from './job.js'
import type { Message } from './message.js'
import { passChildrenTo, popFromStack } from './preemption.js'
import { giveBackSlots, takeUnusedSlots } from './recipient-slots.js'
import type { Transport } from './transport.js'

/** The message's job for this transport, listed and no blocker: it is about to get recipients. */
export function obtainJob(free: FreeList<Job>, message: Message, transport: Transport): Job {
  let job = message.firstJob
  while (job !== undefined && job.transport !== transport) job = job.messageNext
  if (job === undefined) {
    job = free.take()?.renew(message, transport) ?? new Job(message, transport)
    if (message.lastJob === undefined) message.firstJob = job
    else message.lastJob.messageNext = job
    message.lastJob = job
  }
  if (job.level < 0) list(job)
  transport.forgetCandidate()
  if (job.isBlocker) unblock(job)
  return job
}

/** The job is tried again: selection starts anew at the head, because this one may lie before
 * the current job. */
export function unblock(job: Job): void {
  job.blockerTag = 0
  job.transport.selectAnew()
}

/** Cost: one step per job that is younger than this one: none if it is the newest, as always except
 * for messages of several transports that are read in batches. */
function list(job: Job): void {
  const { transport, message } = job
  let passedCurrent = transport.currentJob === undefined
  let previous = transport.lastJob
  // A child stands where it preempted, not where its time puts it; an orphan of any depth is
  // compared like the rest.
  while (
    previous !== undefined &&
    (previous.parent !== undefined || previous.message.queuedAtMs > message.queuedAtMs)
  ) {
    if (previous === transport.currentJob) passedCurrent = true
    previous = previous.previous
  }
  let passedUnread = transport.firstUnread === undefined
  let older = transport.youngestJob
  while (older !== undefined && older.message.queuedAtMs > message.queuedAtMs) {
    if (older === transport.firstUnread) passedUnread = true
    older = older.older
  }
  job.level = 0
  insertInOrder(transport, previous, job)
  insertInTime(transport, older, job)
  if (passedCurrent) transport.currentJob = job
  if (passedUnread) {
    const unread = transport.firstUnread
    transport.firstUnread = job
    if (unread !== undefined) giveBackSlots(unread)
  }
  takeUnusedSlots(job)
}

/** Takes the job from the lists: nothing of it waits. */
export function retireJob(job: Job): void {
  if (job.level > 0) popFromStack(job)
  giveBackSlots(job)
  unlist(job)
}

function unlist(job: Job): void {
  const { transport } = job
  assert(job.level === 0 && job.parent === undefined, 'a job that leaves the lists is out of the tree')
  passChildrenTo(job, undefined)
  const isCurrent = transport.currentJob === job
  // Facts about the jobs behind this one hold for those behind the next.
  if (transport.floorFor === job) transport.floorFor = isCurrent ? job.next : undefined
  if (isCurrent) transport.currentJob = job.next
  if (transport.candidate === job || transport.candidateFor === job) transport.forgetCandidate()
  removeFromOrder(transport, job)
  removeFromTime(transport, job)
  job.level = -1
}

/** The job's message leaves memory. */
export function freeJob(free: FreeList<Job>, job: Job): void {
  assert(job.recipientCount === 0, 'a job that is freed has no recipients')
  if (job.level > 0) popFromStack(job)
  giveBackSlots(job)
  assert(job.recipientLimit === 0, 'a job that is freed has given back its slots')
  if (job.level >= 0) unlist(job)
  free.give(job)
}
