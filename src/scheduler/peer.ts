/** The entries of one message for one destination.
 * Invariant: the peers of a job form a ring whose head is the one to be tried first; a peer leaves
 * it with its last entry. */
import { assert } from '../base/assert.js'
import type { Destination } from './destination.js'
import type { QueuedEntry } from './entry.js'
import type { FreeList } from '../base/free-list.js'
import type { Job } from './job.js'

export class Peer {
  job: Job
  destination: Destination
  firstEntry: QueuedEntry | undefined = undefined
  lastEntry: QueuedEntry | undefined = undefined
  /** Entries that wait or are under way. */
  entryCount = 0
  ringPrevious: Peer
  ringNext: Peer

  constructor(job: Job, destination: Destination) {
    this.job = job
    this.destination = destination
    this.ringPrevious = this
    this.ringNext = this
  }
}

/** A peer alone in a ring. @param free peers that were freed */
function newPeer(free: FreeList<Peer>, job: Job, destination: Destination): Peer {
  const peer = free.take()
  if (peer === undefined) return new Peer(job, destination)
  peer.job = job
  peer.destination = destination
  return peer
}

/** The peer of this destination; made at the end of the ring when there is none. */
export function peerOf(free: FreeList<Peer>, job: Job, destination: Destination): Peer {
  const head = job.peers
  if (head === undefined) return addPeer(free, job, destination)
  if (head.destination === destination) return head
  return indexOf(job, head).get(destination) ?? addPeer(free, job, destination)
}

/** A peer at the end of the ring, for a destination that has none there. That is known without an
 * index while a job gets its first recipients, because they come in the order of their
 * destinations; and most jobs get no others. An index took an eighth of the processor time of mail
 * with ten recipients, because V8 grows and shrinks it with each entry. */
export function addPeer(free: FreeList<Peer>, job: Job, destination: Destination): Peer {
  const peer = newPeer(free, job, destination)
  const head = job.peers
  if (head === undefined) return (job.peers = peer)
  peer.ringPrevious = head.ringPrevious
  peer.ringNext = head
  head.ringPrevious.ringNext = peer
  head.ringPrevious = peer
  job.peerOf?.set(destination, peer)
  return peer
}

/** Made when it is first needed. */
function indexOf(job: Job, head: Peer): Map<Destination, Peer> {
  if (job.peerOf !== undefined) return job.peerOf
  const index = new Map<Destination, Peer>()
  let peer = head
  do {
    index.set(peer.destination, peer)
    peer = peer.ringNext
  } while (peer !== head)
  return (job.peerOf = index)
}

/** The first peer in turn that has an entry and whose destination has room; its turn is over then.
 * Cost: one step per peer that is passed. */
export function nextPeer(job: Job): Peer | undefined {
  const head = job.peers
  if (head === undefined) return undefined
  let peer = head
  do {
    if (peer.firstEntry !== undefined && peer.destination.hasRoom) {
      job.peers = peer.ringNext
      return peer
    }
    peer = peer.ringNext
  } while (peer !== head)
  return undefined
}

/** Removes a peer from its job. @throws InvariantError when the peer has entries */
export function freePeer(free: FreeList<Peer>, peer: Peer): void {
  assert(peer.entryCount === 0, 'a peer that leaves has no entries')
  const job = peer.job
  if (peer.ringNext === peer) {
    job.peers = undefined
    // Otherwise the ring would lack the first peer, and the next batch would make a second one for
    // its destination.
    job.peerOf = undefined
  } else if (job.peers === peer) job.peers = peer.ringNext
  peer.ringPrevious.ringNext = peer.ringNext
  peer.ringNext.ringPrevious = peer.ringPrevious
  job.peerOf?.delete(peer.destination)
  peer.ringPrevious = peer.ringNext = peer
  free.give(peer)
}
