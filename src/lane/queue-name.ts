/** Names of queues as operators know them.
 * Invariant: Postfix's words wherever a person or a program reads them; kinds of lanes
 * have our words. */
import type { LaneKind } from './lane.js'

export type QueueName = 'incoming' | 'active' | 'deferred' | 'hold'

export function queueNameOf(where: LaneKind): Exclude<QueueName, 'active'>
export function queueNameOf(where: LaneKind | 'active'): QueueName
export function queueNameOf(where: LaneKind | 'active'): QueueName {
  return where === 'retry' ? 'deferred' : where
}
