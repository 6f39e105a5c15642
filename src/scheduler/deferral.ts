/** Defers entries without an attempt: their destination or transport is dead, or too many wait for
 * it.
 * Invariant: a dead destination has nothing waiting. Recipients go to the retry transport if there
 * is one and it lives, else to the host. */
import { entryDone } from './completion.js'
import { crowded, isCrowded, isFull, lookMs, watch } from './crowding.js'
import { type Destination } from './destination.js'
import { enqueue } from './entry.js'
import { type DeferReason } from './interface.js'
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
  for (const destination of transport.destinations) deferWaiting(state, destination, reason)
}

/** Defers what waits for destinations whose mail the host puts off now. */
export function putOffWaiting(state: SchedulerState): void {
  for (const transport of state.transports.values()) {
    for (const destination of transport.destinations) {
      const reason = state.host.putsOff?.(transport.name, destination.nexthop)
      if (reason === undefined) continue
      for (let entry = destination.firstTodo; entry !== undefined; entry = destination.firstTodo) {
        state.host.deferred(entry.message, entry.recipients, reason)
        entryDone(state, entry)
      }
    }
  }
}

/** Entries put off in one step, so that the step is short. */
const crowdedStepMax = 200

/** Memory is crowded: puts off the entries that are too many for one destination. Called at
 * `relieveAtMs`. */
export function relieve(state: SchedulerState): void {
  state.relieveAtMs = Infinity
  if (!isCrowded(state)) return
  let left = crowdedStepMax
  for (const transport of state.transports.values())
    for (const destination of transport.destinations) {
      watch(state, destination)
      while (left > 0 && isFull(state, destination)) {
        putOffLast(state, destination)
        left--
      }
    }
  state.relieveAtMs = state.nowMs + (left === 0 ? 1 : lookMs)
}

/** An entry of the message that came last. */
function putOffLast(state: SchedulerState, destination: Destination): void {
  // Of one peer the first goes first: entries leave their peer in their order.
  const entry = destination.lastTodo!.peer.firstEntry!
  state.host.deferred(entry.message, entry.recipients, crowded)
  entryDone(state, entry)
}
