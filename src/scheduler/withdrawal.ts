/** Removes a message from the scheduler.
 * Invariant: afterwards none of its recipients waits or will be read; those under way are
 * reported as always. */
import { advance, entryDone } from './completion.js'
import { reconsider } from './intake.js'
import type { Message } from './message.js'
import type { Peer } from './peer.js'
import { giveBackAllSlots } from './recipient-slots.js'
import type { SchedulerState } from './state.js'

/** Removes the message's waiting entries, and the message when none is under way. */
export function withdrawMessage(state: SchedulerState, message: Message): void {
  message.unread = false
  message.unreadCount = 0
  message.recipientCount -= message.promisedCount
  state.recipientCount -= message.promisedCount
  message.promisedCount = 0
  if (message.starved) removeStarved(state, message)
  reconsider(message)
  // Counted once more, so that the message does not leave while its peers are walked through.
  message.entryCount++
  for (const peer of peersOf(message))
    for (let entry = peer.firstEntry; entry !== undefined; entry = peer.firstEntry) entryDone(state, entry)
  message.entryCount--
  giveBackAllSlots(message)
  if (message.entryCount === 0) advance(state, message)
}

function peersOf(message: Message): Peer[] {
  const peers: Peer[] = []
  for (let job = message.firstJob; job !== undefined; job = job.messageNext) {
    let peer = job.peers
    if (peer === undefined) continue
    do {
      peers.push(peer)
      peer = peer.ringNext
    } while (peer !== job.peers)
  }
  return peers
}

function removeStarved(state: SchedulerState, message: Message): void {
  let before: Message | undefined
  for (let m = state.firstStarved; m !== undefined && m !== message; m = m.starvedNext) before = m
  if (before === undefined) state.firstStarved = message.starvedNext
  else before.starvedNext = message.starvedNext
  if (state.lastStarved === message) state.lastStarved = before
  message.starvedNext = undefined
  message.starved = false
}
