/** Brings recipients into memory: read, resolve, group into entries.
 * Invariant: a batch is never larger than requested, so the recipients in memory stay within
 * `recipientBound`; recipients of one peer fill its last waiting entry before a new one is
 * begun. */
import { assert } from '../base/assert.js'
import { whileDead } from './concurrency.js'
import { crowded, isFull } from './crowding.js'
import { addDestination, Destination } from './destination.js'
import { addRecipient, enqueue, single } from './entry.js'
import type { DeferReason, RecipientBatch, SchedulerRecipient } from './interface.js'
import type { Job } from './job.js'
import { obtainJob } from './job-life.js'
import type { Message } from './message.js'
import { addPeer, type Peer, peerOf } from './peer.js'
import { lowerFloor } from './preemption.js'
import { giveBackAllSlots } from './recipient-slots.js'
import { Arrival, byAddress, byDestination, sortArrivals } from './recipient-order.js'
import { joinBounds } from './shared-bounds.js'
import type { SchedulerState } from './state.js'
import type { Transport } from './transport.js'

/** Recipients read at once at most: keeps the time of one step in check. */
const batchCountMax = 5000

/** The first batch may use the free part of the common limit; each message has its minimum. */
export function readFirst(state: SchedulerState, message: Message): void {
  const common = state.parameters.qmgrMessageRecipientLimit - state.recipientCount
  readBatch(state, message, Math.max(common, message.recipientLimit))
}

/** A further batch, as large as the message's slots allow. */
export function readOn(state: SchedulerState, message: Message): void {
  if (message.readCount === 0) readFirst(state, message)
  else readBatch(state, message, message.recipientLimit - message.recipientCount)
}

function readBatch(state: SchedulerState, message: Message, wanted: number): void {
  assert(message.readable, 'one batch of a message is read at a time')
  const countMax = Math.min(wanted, batchCountMax, state.recipientBound - state.recipientCount)
  if (countMax <= 0) {
    if (message.entryCount === 0) starve(state, message)
    return
  }
  const batch = state.host.read(message.handle, message.readCount, countMax)
  if (batch !== undefined) {
    takeBatch(state, message, batch, countMax)
    return
  }
  message.promisedCount = countMax
  message.recipientCount += countMax
  state.recipientCount += countMax
}

/** It has nothing in memory, and others fill it up: it waits until they leave. */
function starve(state: SchedulerState, message: Message): void {
  message.starved = true
  if (state.lastStarved === undefined) state.firstStarved = message
  else state.lastStarved.starvedNext = message
  state.lastStarved = message
}

/** The first message that waits for room, when there is room. */
export function takeStarved(state: SchedulerState): Message | undefined {
  const message = state.firstStarved
  if (message === undefined || state.recipientCount >= state.recipientBound) return undefined
  state.firstStarved = message.starvedNext
  if (state.firstStarved === undefined) state.lastStarved = undefined
  message.starvedNext = undefined
  message.starved = false
  return message
}

/** The late answer to a read. */
export function takePromised(state: SchedulerState, message: Message, batch: RecipientBatch): void {
  const countMax = message.promisedCount
  message.promisedCount = 0
  message.recipientCount -= countMax
  state.recipientCount -= countMax
  takeBatch(state, message, batch, countMax)
}

function takeBatch(state: SchedulerState, message: Message, batch: RecipientBatch, countMax: number): void {
  const { recipients, complete } = batch
  assert(recipients.length <= countMax, 'a batch is not larger than asked for')
  assert(complete || recipients.length > 0, 'an incomplete batch brings a recipient')
  state.batchCount++
  message.readCount += recipients.length
  message.unread = !complete
  message.unreadCount = batch.unreadCount ?? (complete ? 0 : 1)
  message.refilledAtMs = state.nowMs
  const before = message.recipientCount
  if (recipients.length === 1) takeOne(state, message, recipients[0]!)
  else assign(state, message, resolveAll(state, message, recipients))
  state.recipientCount += message.recipientCount - before
  assert(state.recipientCount <= state.recipientBound, 'recipients in memory stay within their bound')
  reconsider(message)
  if (complete) giveBackAllSlots(message)
}

function takeOne(state: SchedulerState, message: Message, recipient: SchedulerRecipient): void {
  const destination = resolve(state, recipient)
  if (destination instanceof Destination) {
    const job = obtainJob(state.freeJobs, message, destination.transport)
    place(message, peerOf(state.freePeers, job, destination), recipient.index)
  } else {
    state.host.deferred(message.handle, [recipient.index], destination)
  }
}

/** Destinations are made, and recipients deferred, in the order of the addresses; the rest comes
 * back in the order of the destinations, so that a peer's recipients lie together. */
function resolveAll(
  state: SchedulerState,
  message: Message,
  recipients: readonly SchedulerRecipient[],
): Arrival[] {
  const arrivals = recipients.map((recipient) => new Arrival(recipient))
  sortArrivals(arrivals, byAddress)
  const found: Arrival[] = []
  let put: number[] = []
  let why: DeferReason | undefined
  for (const arrival of arrivals) {
    const destination = resolve(state, arrival.recipient)
    if (destination instanceof Destination) {
      arrival.destination = destination
      found.push(arrival)
      continue
    }
    if (why !== undefined && why !== destination) {
      state.host.deferred(message.handle, put, why)
      put = []
    }
    why = destination
    put.push(arrival.recipient.index)
  }
  if (why !== undefined) state.host.deferred(message.handle, put, why)
  sortArrivals(found, byDestination)
  return found
}

/** The destination, or why there is none. */
function resolve(state: SchedulerState, recipient: SchedulerRecipient): Destination | DeferReason {
  const reason = state.host.putsOff?.(recipient.transport, recipient.nexthop)
  if (reason !== undefined) return reason
  const transport = state.transportOf(recipient.transport)
  if (transport.dead !== undefined) return retryDestination(state, transport.dead) ?? transport.dead
  const destination = find(state, transport, recipient)
  if (destination.state.kind !== 'dead') return isFull(state, destination) ? crowded : destination
  const dead = whileDead(destination.state.reason)
  return retryDestination(state, dead) ?? dead
}

function find(state: SchedulerState, transport: Transport, recipient: SchedulerRecipient): Destination {
  const { nexthop, address } = recipient
  if (
    transport.settings.destinationRecipientLimit === 1 &&
    transport.name !== state.parameters.retryTransport
  ) {
    const at = address.lastIndexOf('@')
    const local = at < 0 ? address : address.slice(0, at)
    return findNamed(state, transport, `${local}@${nexthop}`.toLowerCase(), nexthop)
  }
  // A nexthop that is a key is in lower case already.
  return transport.destinations.get(nexthop) ?? findNamed(state, transport, nexthop.toLowerCase(), nexthop)
}

function findNamed(state: SchedulerState, transport: Transport, name: string, nexthop: string): Destination {
  const known = transport.destinations.get(name)
  if (known !== undefined) return known
  state.destinationCount++
  const destination = addDestination(transport, name, nexthop)
  joinBounds(state, destination)
  return destination
}

/** The retry destination for recipients whose destination or transport is dead; undefined if
 * there is none. */
export function retryDestination(
  state: SchedulerState,
  { status, text }: DeferReason,
): Destination | undefined {
  const { retryTransport } = state.parameters
  if (retryTransport === '') return undefined
  const transport = state.transportOf(retryTransport)
  if (transport.dead !== undefined) return undefined
  const nexthop = `${status} ${text}`
  const destination = findNamed(state, transport, nexthop, nexthop)
  return destination.state.kind === 'dead' ? undefined : destination
}

function assign(state: SchedulerState, message: Message, arrivals: readonly Arrival[]): void {
  let job: Job | undefined
  let peer: Peer | undefined
  let hasNoPeers = false
  for (const { recipient, destination } of arrivals) {
    if (destination === undefined) continue
    if (job?.transport !== destination.transport) {
      job = obtainJob(state.freeJobs, message, destination.transport)
      peer = undefined
      hasNoPeers = job.peers === undefined
    }
    if (peer?.destination !== destination)
      peer = (hasNoPeers ? addPeer : peerOf)(state.freePeers, job, destination)
    place(message, peer, recipient.index)
  }
}

function place(message: Message, peer: Peer, index: number): void {
  const limit = peer.destination.transport.settings.destinationRecipientLimit
  const last = peer.lastEntry
  if (last === undefined || (limit !== 0 && last.recipients.length >= limit))
    enqueue(message, peer, single(index))
  else addRecipient(last, index)
  peer.job.recipientCount++
  message.recipientCount++
}

/** The unread count has changed, for jobs too that got no recipients now. */
export function reconsider(message: Message): void {
  for (let job = message.firstJob; job !== undefined; job = job.messageNext) {
    lowerFloor(job)
    if (job.waiting > 0 && !job.isBlocker) job.transport.forgetCandidate()
  }
}
