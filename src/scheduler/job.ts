/** One message's deliveries through one transport.
 * Invariant: `level` is -1 exactly while the job is in neither of its transport's lists
 * (scheduler's order, time order); `slotsAvailable` counts in 1/cost of a slot.
 * Both lists of a transport, the scheduler's order and that of time, hold the same jobs; without
 * preemption they are the same. */
import type { Destination } from './destination.js'
import type { Message } from './message.js'
import type { Peer } from './peer.js'
import type { Transport } from './transport.js'

export class Job {
  message: Message
  transport: Transport
  /** The message's next job. */
  messageNext: Job | undefined = undefined
  /** Neighbours in the scheduler's order. */
  previous: Job | undefined = undefined
  next: Job | undefined = undefined
  /** Neighbours in the order of the messages' time. */
  older: Job | undefined = undefined
  younger: Job | undefined = undefined
  /** Depth in the preemption tree; a job whose parent is gone keeps its depth. */
  level = -1
  parent: Job | undefined = undefined
  firstChild: Job | undefined = undefined
  lastChild: Job | undefined = undefined
  siblingPrevious: Job | undefined = undefined
  siblingNext: Job | undefined = undefined
  /** The job is a blocker while this equals its transport's. */
  blockerTag = 0
  slotsUsed = 0
  slotsAvailable = 0
  readEntries = 0
  selectedEntries = 0
  recipientCount = 0
  recipientLimit = 0
  /** Head of the ring of peers. */
  peers: Peer | undefined = undefined
  /** Index of the ring, made when a later batch needs it. */
  peerOf: Map<Destination, Peer> | undefined = undefined

  constructor(message: Message, transport: Transport) {
    this.message = message
    this.transport = transport
  }

  /** As the constructor, for one that was freed: it is in no list, in no tree and without
   * peers already. */
  renew(message: Message, transport: Transport): this {
    this.message = message
    this.transport = transport
    this.messageNext = undefined
    this.blockerTag = 0
    this.slotsUsed = 0
    this.slotsAvailable = 0
    this.readEntries = 0
    this.selectedEntries = 0
    this.peerOf = undefined
    return this
  }

  /** Entries that wait. */
  get waiting(): number {
    return this.readEntries - this.selectedEntries
  }

  /** The most entries that it can come to: every unread recipient becomes one. */
  get entriesMax(): number {
    return this.readEntries + this.message.unreadCount
  }

  get isBlocker(): boolean {
    return this.blockerTag === this.transport.blockerTag
  }
}

/** Puts `job` into the scheduler's list behind `previous` (first, when undefined). */
export function insertInOrder(transport: Transport, previous: Job | undefined, job: Job): void {
  const next = previous === undefined ? transport.firstJob : previous.next
  job.previous = previous
  job.next = next
  if (previous === undefined) transport.firstJob = job
  else previous.next = job
  if (next === undefined) transport.lastJob = job
  else next.previous = job
}

/** Removes `job` from its transport's list of order. */
export function removeFromOrder(transport: Transport, job: Job): void {
  const { previous, next } = job
  if (previous === undefined) transport.firstJob = next
  else previous.next = next
  if (next === undefined) transport.lastJob = previous
  else next.previous = previous
  job.previous = job.next = undefined
}

/** Puts `job` into the list of time behind `older` (first, when undefined). */
export function insertInTime(transport: Transport, older: Job | undefined, job: Job): void {
  const younger = older === undefined ? transport.oldestJob : older.younger
  job.older = older
  job.younger = younger
  if (older === undefined) transport.oldestJob = job
  else older.younger = job
  if (younger === undefined) transport.youngestJob = job
  else younger.older = job
}

/** Removes `job` from its transport's list of time. */
export function removeFromTime(transport: Transport, job: Job): void {
  const { older, younger } = job
  if (older === undefined) transport.oldestJob = younger
  else older.younger = younger
  if (younger === undefined) transport.youngestJob = older
  else younger.older = older
  job.older = job.younger = undefined
}
