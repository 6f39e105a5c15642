/** Entries that will not be tried: their destination or transport is dead.
 * Invariant: a dead destination has nothing waiting. Recipients go to the retry transport if there is one and it lives, else to
 * the host. */
import { entryDone } from './completion.js'
import { type Destination } from './destination.js'
import { enqueue } from './entry.js'
import { type DeferReason } from './face.js'
import { retryDestination } from './intake.js'
import { obtainJob } from './job-life.js'
import { peerOf } from './peer.js'
import { lowerFloor } from './preemption.js'
import type { SchedulerState } from './state.js'
import type { Transport } from './transport.js'

/** Empties the destination's list of waiting entries. */
export function deferWaiting(state: SchedulerState, destination: Destination, reason: DeferReason): void {
  // Postfix makes the retry destination even when nothing waits here; the traces show it.
  const retry = retryDestination(state, reason)
  for (let entry = destination.firstTodo; entry !== undefined; entry = destination.firstTodo) {
    const { peer } = entry
    const { message } = peer.job
    if (retry === undefined) {
      state.host.deferred(message.handle, entry.recipients, reason)
    } else {
      const job = obtainJob(state.freeJobs, message, retry.transport)
      enqueue(message, peerOf(state.freePeers, job, retry), entry.recipients)
      job.recipientCount += entry.recipients.length
      peer.job.recipientCount -= entry.recipients.length
      entry.recipients = []
      lowerFloor(job)
    }
    entryDone(state, entry)
  }
}

/** The same for all destinations of a transport, in the order of their creation. */
export function deferTransport(state: SchedulerState, transport: Transport, reason: DeferReason): void {
  let next: Destination | undefined
  for (let destination = transport.firstDestination; destination !== undefined; destination = next) {
    next = destination.next
    deferWaiting(state, destination, reason)
  }
}
