/** Selects the next entry of a transport: jobs in the scheduler's order, peers of a job in turn.
 * Invariant: an entry is selected only while its destination has room; a job with nothing to select
 * leaves the lists, one whose destinations are full becomes a blocker. */
import { block } from './blockers.js'
import { limitRate } from './concurrency.js'
import { dequeue, type QueuedEntry } from './entry.js'
import { readOn } from './intake.js'
import { retireJob } from './job-life.js'
import type { Job } from './job.js'
import { nextPeer, type Peer } from './peer.js'
import { countSlot, preempt } from './preemption.js'
import type { SchedulerState } from './state.js'
import type { Transport } from './transport.js'

/** Takes the next entry, or undefined when none can be selected now.
 * Cost: one step per blocker between the current job and the one that is found; each is passed once
 * until blockers are released. */
export function selectEntry(state: SchedulerState, transport: Transport): QueuedEntry | undefined {
  if (transport.isReserved) return selectReserved(state, transport)
  const current = transport.currentJob
  if (current === undefined) return undefined
  let job: Job | undefined =
    transport.settings.deliverySlotCost >= 2 ? preempt(current, state.nowMs) : current
  while (job !== undefined) {
    const next: Job | undefined = job.next
    if (!job.isBlocker) {
      const peer = selectPeer(state, job)
      if (peer !== undefined) return start(state, job, peer)
      // A job that waits for its batch is passed like a blocker: retired, it would lose its place
      // in the preemption tree.
      if (job.waiting > 0 || job.message.promisedCount > 0) block(job)
      else retireJob(job)
    }
    job = next
  }
  transport.currentJob = undefined
  return undefined
}

/** Takes the first entry for the destination that has been idle longest, whatever the order of
 * its job: the place where selection goes on stays where it is. */
function selectReserved(state: SchedulerState, transport: Transport): QueuedEntry | undefined {
  const peer = transport.firstIdle?.firstTodo?.peer
  if (peer === undefined) return undefined
  const { currentJob } = transport
  const entry = begin(state, peer.job, peer)
  transport.currentJob = currentJob
  retireIfDone(peer.job)
  return entry
}

function start(state: SchedulerState, job: Job, peer: Peer): QueuedEntry {
  const entry = begin(state, job, peer)
  job.transport.currentJob = job
  retireIfDone(job)
  return entry
}

function begin(state: SchedulerState, job: Job, peer: Peer): QueuedEntry {
  const entry = peer.firstEntry!
  const { destination } = peer
  dequeue(entry)
  entry.phase = 'busy'
  destination.busy++
  state.total.busy++
  if (destination.bounds !== undefined) destination.bounds.ring.busy++
  destination.recount()
  job.transport.busy++
  countSlot(job)
  if (destination.rate !== undefined) {
    destination.rate.start(state.nowMs)
    limitRate(state, destination)
  }
  return entry
}

function retireIfDone(job: Job): void {
  if (job.waiting === 0 && !job.message.unread) retireJob(job)
}

/** New recipients are read early, so that one slow destination does not starve the message; but
 * not one by one. */
function selectPeer(state: SchedulerState, job: Job): Peer | undefined {
  const { message } = job
  const { recipientRefillLimit, recipientRefillDelay } = job.transport.settings
  if (message.unread && message.readable && message.entryCount > 0) {
    const free = message.recipientLimit - message.recipientCount
    const waitedMs = state.nowMs - message.refilledAtMs
    if (free >= recipientRefillLimit || (free > 0 && waitedMs >= recipientRefillDelay * 1000))
      readOn(state, message)
  }
  if (job.waiting > 0) {
    const peer = nextPeer(job)
    if (peer !== undefined) return peer
  }
  if (!message.readable || message.entryCount === 0 || message.recipientLimit <= message.recipientCount)
    return undefined
  readOn(state, message)
  return job.waiting > 0 ? nextPeer(job) : undefined
}

/** Requests of one transport that may wait for a delivery agent. */
const pendingMax = 2

/** The ring of transports, in the order of their turns.
 * Invariant: a transport that was taken comes last; those passed on the way stay, in their order,
 * just before it. */
export class Rotation {
  readonly #ring: Transport[] = []
  #head = 0

  /** A new transport is the next in turn. */
  add(transport: Transport): void {
    this.#ring.splice(this.#head, 0, transport)
  }

  get size(): number {
    return this.#ring.length
  }

  *[Symbol.iterator](): Generator<Transport> {
    for (let i = 0; i < this.#ring.length; i++) yield this.#ring[(this.#head + i) % this.#ring.length]!
  }

  /** The next transport that has an entry to select and a process for it. */
  takeFree(): Transport | undefined {
    const ring = this.#ring
    const length = ring.length
    for (let i = 0, at = this.#head; i < length; i++) {
      const transport = ring[at]!
      at = at + 1 === length ? 0 : at + 1
      if (!transport.isSelectable) continue
      this.#head = at
      return transport
    }
    return undefined
  }

  /** The next transport that has more entries to select than requests that wait. */
  takeForRequest(): Transport | undefined {
    const ring = this.#ring
    for (let i = 0; i < ring.length; i++) {
      const at = (this.#head + i) % ring.length
      const transport = ring[at]!
      if (transport.dead !== undefined || transport.pending >= pendingMax) continue
      if (!transport.hasOpen(transport.pending + 1)) continue
      this.#head = (at + 1) % ring.length
      return transport
    }
    return undefined
  }
}
