/** The part of a queue that the control socket uses, and the call for each verb. */
import type { ListedMessage, ListOptions } from '../admin/select/listing.js'
import type { Selector } from '../admin/select/selector.js'
import type { QueueStatistics } from '../admin/select/statistics.js'
import type { VerbOptions, VerbResult } from '../admin/verbs/tally.js'
import type { Route } from '../engine/life/options.js'
import type { Room } from '../engine/accept/space-watch.js'
import type { QueueEvents } from '../engine/life/events.js'
import type { PinnedFiles } from '../engine/checkpoint/pinned-files.js'
import type { DestinationSnapshot } from '../scheduler/scheduler.js'
import type { SlowOptions } from '../admin/verbs/slow.js'
import type { SuspendOptions } from '../admin/verbs/suspend.js'
import type { SuspensionTarget } from '../engine/life/suspensions.js'
import type { VerbRequest } from './protocol.js'
import type { TakingQueue } from './submissions.js'

/** The part of a queue that the control socket uses. */
export interface ControlledQueue extends Partial<TakingQueue> {
  list(selector: Selector, options: ListOptions): AsyncIterable<ListedMessage>
  routesOf(recipients: readonly string[]): readonly (Route | undefined)[]
  written(): Promise<void>
  stats(): QueueStatistics
  room(): Promise<Room>
  destinations(): readonly DestinationSnapshot[]
  resume(transport: string, name: string): boolean
  suspend(target: SuspensionTarget, options?: SuspendOptions): Promise<void>
  unsuspend(target: SuspensionTarget): Promise<boolean>
  slow(options: SlowOptions): void
  pinFiles(): Promise<PinnedFiles>
  on<K extends keyof QueueEvents>(event: K, listener: (...values: QueueEvents[K]) => void): unknown
  off<K extends keyof QueueEvents>(event: K, listener: (...values: QueueEvents[K]) => void): unknown
  hold(selector: Selector, options?: VerbOptions): Promise<VerbResult>
  release(selector: Selector, options?: VerbOptions): Promise<VerbResult>
  requeue(selector: Selector, options?: VerbOptions): Promise<VerbResult>
  delete(selector: Selector, options?: VerbOptions): Promise<VerbResult>
  expire(selector: Selector, options?: VerbOptions): Promise<VerbResult>
  flush(selector: Selector, options?: VerbOptions & { readonly perSecond?: number }): Promise<VerbResult>
  reroute(
    selector: Selector,
    to: { readonly transport?: string; readonly nexthop: string },
    options?: VerbOptions,
  ): Promise<VerbResult>
}

/** The verb, by its name. */
export function carriedOut(
  queue: ControlledQueue,
  request: VerbRequest,
  options: VerbOptions,
): Promise<VerbResult> {
  const { selector } = request
  switch (request.do) {
    case 'flush': {
      const { perSecond } = request
      return queue.flush(selector, { ...options, ...(perSecond === undefined ? undefined : { perSecond }) })
    }
    case 'reroute': {
      const { nexthop, transport } = request
      return queue.reroute(
        selector,
        { nexthop, ...(transport === undefined ? undefined : { transport }) },
        options,
      )
    }
    case 'hold':
    case 'release':
    case 'requeue':
    case 'delete':
    case 'expire':
      return queue[request.do](selector, options)
  }
}
