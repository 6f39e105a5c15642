/** Jobs none of whose destinations has room: blockers, which selection skips.
 * Invariant: every waiting entry of a blocker is for a destination that carries the blocker tag
 * too, so the end of a delivery there releases the blockers. All are released at once: destinations
 * stay first in, first out. */
import type { Destination } from './destination.js'
import type { Job } from './job.js'
import type { Transport } from './transport.js'

/** Marks the job, and the destinations that it waits for. */
export function block(job: Job): void {
  const tag = job.transport.blockerTag
  job.blockerTag = tag
  const head = job.peers
  if (head === undefined) return
  let peer = head
  do {
    const { destination } = peer
    if (peer.firstEntry !== undefined) {
      destination.blockerTag = tag
      if (destination.isHeldBack) job.transport.holdsBack = true
      if (destination.bounds?.hasRoom === false) destination.bounds.holdsBack = true
    }
    peer = peer.ringNext
  } while (peer !== head)
}

/** A delivery to this destination ended, or its suspension. */
export function releaseBlockers(destination: Destination): void {
  const { transport } = destination
  if (destination.blockerTag !== transport.blockerTag) return
  if (destination.hasRoom && destination.todo > 0) releaseAll(transport)
  // It waits for others now, and perhaps none of its deliveries is under way.
  else if (destination.bounds?.hasRoom === false) destination.bounds.holdsBack = true
  if (destination.hasRoom || destination.state.kind === 'dead') destination.blockerTag = 0
}

/** A delivery of the transport ended: destinations that have not answered are not held back any
 * more, once so few are under way. */
export function releaseHeldBack(transport: Transport): void {
  if (!transport.holdsBack || transport.busy >= transport.settings.unansweredProcessLimit) return
  transport.holdsBack = false
  releaseAll(transport)
}

/** Everything is looked at again: a blocker may find a place. */
export function releaseAll(transport: Transport): void {
  transport.blockerTag += 2
  transport.selectAnew()
}
