/** Ends an entry, and with it its peer, destination and message.
 * Invariant: after `entryDone` the counts of job, message and scheduler hold only entries that
 * wait or are under way; a message without entries is read on, or waits for a batch or for
 * room, or is gone. */
import { assert } from '../base/assert.js'
import { releaseBlockers } from './blockers.js'
import { delayRate, revive, setTimer } from './concurrency.js'
import { type Destination, removeDestination } from './destination.js'
import { dequeue, type QueuedEntry } from './entry.js'
import { readOn } from './intake.js'
import type { Job } from './job.js'
import { freeJob } from './job-life.js'
import type { Message } from './message.js'
import { freePeer } from './peer.js'
import { lowerFloor } from './preemption.js'
import { settleSlots } from './recipient-slots.js'
import { leaveBounds } from './shared-bounds.js'
import type { SchedulerState } from './state.js'

/** The entry leaves memory: it was delivered (busy), or it never will be (todo).
 * @param delays what begins next there keeps its distance */
export function entryDone(state: SchedulerState, entry: QueuedEntry, delays = true): void {
  const { destination, peer } = entry
  const { job } = peer
  const { message } = job
  const delivered = entry.phase === 'busy'
  if (delivered) {
    destination.busy--
    destination.endCount++
  } else {
    dequeue(entry)
    lowerFloor(job)
  }
  entry.phase = 'gone'
  destination.recount()

  const count = entry.recipients.length
  job.recipientCount -= count
  message.recipientCount -= count
  state.recipientCount -= count
  settleSlots(message, job)

  if (delivered && delays) delayRate(state, destination)
  if (destination.state.kind !== 'suspended') releaseBlockers(destination)
  if (--peer.entryCount === 0) freePeer(state.freePeers, peer)
  forgetIfIdle(state, destination)
  if (--message.entryCount === 0) advance(state, message)
}

/** A destination without entries is forgotten with its feedback, unless it is dead, suspended,
 * or has a history to keep: a recovery that is being tried out, or starts that count against
 * its rate limit. */
export function forgetIfIdle(state: SchedulerState, destination: Destination): void {
  if (!destination.isIdle) return
  const crowded = state.destinationCount > 2 * state.parameters.qmgrMessageRecipientLimit
  if (destination.state.kind === 'dead' && crowded) revive(state, destination, false)
  if (destination.state.kind !== 'ready') return
  const keepUntilMs = Math.max(
    destination.recovery === 'none' ? 0 : destination.recoveryUntilMs,
    destination.rate?.emptyAtMs ?? 0,
  )
  if (keepUntilMs > state.nowMs && !crowded) {
    if (destination.timer === undefined) setTimer(state, destination, 'forget', keepUntilMs)
    return
  }
  if (destination.timer !== undefined) state.timers.cancel(destination.timer)
  leaveBounds(state, destination)
  removeDestination(destination)
  state.destinationCount--
}

/** Nothing of the message waits or is under way: the next batch, or its end. Bounded by the number
 * of its batches. */
export function advance(state: SchedulerState, message: Message): void {
  while (message.entryCount === 0 && message.promisedCount === 0 && !message.starved) {
    if (message.unread) {
      readOn(state, message)
      continue
    }
    state.messages.remove(message)
    let next: Job | undefined
    for (let job = message.firstJob; job !== undefined; job = next) {
      next = job.messageNext
      freeJob(state.freeJobs, job)
    }
    assert(message.recipientCount === 0, 'a message that leaves has no recipients in memory')
    const handle = message.leave()
    state.freeMessages.give(message)
    state.host.done(handle)
    return
  }
}
