/** Where a message is, as operators say it.
 * Invariant: Postfix's words, wherever a person or a program reads them; lanes have kinds of their own, whose words are ours. */
import type { LaneKind } from './lane.js'

export type QueueName = 'incoming' | 'active' | 'deferred' | 'hold'

export function queueNameOf(where: LaneKind): Exclude<QueueName, 'active'>
export function queueNameOf(where: LaneKind | 'active'): QueueName
export function queueNameOf(where: LaneKind | 'active'): QueueName {
  return where === 'retry' ? 'deferred' : where
}
