/** Figures as the API shows them. Pure. */
import type { LaneStatistics, QueueStatistics } from '../../admin/select/statistics.js'
import type { Room } from '../../engine/accept/space-watch.js'
import { queueNameOf } from '../../lane/lane.js'
import type { ShownDestination } from './destinations.js'
import type { Problem } from './problems.js'
import type { Counts } from './traffic.js'

export interface ShownLane {
  readonly lane: number
  readonly queue: string
  readonly intervalMs: number | null
  readonly waitingBytes: number
  readonly segmentCount: number
  readonly markCount: number
  readonly nextDueAt: number | null
  readonly damage: string | null
}

export interface ShownSync {
  readonly count: number
  readonly perSecond: number
  /** Of the last second; 0 when there was none. */
  readonly meanMs: number
  readonly lastMs: number
  readonly underWayMs: number
}

/** Times are milliseconds since 1970, rates are per second. */
export interface ShownFigures {
  readonly at: number
  readonly version: string
  readonly hostname: string
  readonly startedAt: number
  readonly recovering: boolean
  readonly rates: Counts
  readonly totals: Counts
  readonly active: { readonly count: number; readonly max: number }
  readonly damagedCount: number
  readonly sync: ShownSync
  readonly deliveries: { readonly isHeld: boolean; readonly heldMs: number }
  readonly journal: QueueStatistics['journal']
  readonly lanes: readonly ShownLane[]
  readonly room: Room | null
  readonly destinationCount: number
  readonly deadCount: number
  readonly suspendedCount: number
  readonly problems: readonly Problem[]
  readonly destinations?: readonly ShownDestination[]
}

export const shownLane = (lane: LaneStatistics): ShownLane => ({
  lane: lane.lane,
  queue: queueNameOf(lane.kind),
  intervalMs: lane.intervalMs === Infinity ? null : lane.intervalMs,
  waitingBytes: lane.waitingBytes,
  segmentCount: lane.segmentCount,
  markCount: lane.markCount,
  nextDueAt: lane.nextDueAt ?? null,
  damage: lane.damage ?? null,
})
