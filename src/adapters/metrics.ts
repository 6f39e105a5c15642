/** Metrics of a queue's present state: names, meaning and source. Pure, independent of a library.
 * event-metrics.ts has those that are counted by events.
 * Invariant: everything that `stats` counts is read from it. Base units, `_total` for what only
 * grows. No label has a domain or an address: lanes are those of the policies, and consumers are
 * at most 32. */
import { isOrdered } from '../engine/deliver/destinations-now.js'
import type { ConsumerStatus } from '../engine/outcomes/consume.js'
import type { Room } from '../engine/accept/space-watch.js'
import type { LaneStatistics, QueueStatistics } from '../admin/select/statistics.js'
import type { TransportSnapshot } from '../scheduler/scheduler.js'
import { queueNameOf } from '../lane/lane.js'

export type Labels = Readonly<Record<string, string>>
/** Tells the queues of a registry apart. */
export const queueLabel = 'queue'
export interface Reading {
  readonly labels: Labels
  readonly value: number
}

export interface Named {
  readonly name: string
  readonly help: string
  readonly labelNames?: readonly string[]
}

/** Read at each scrape. */
export interface Measured extends Named {
  readonly kind: 'gauge' | 'counter'
  readonly read: (statistics: QueueStatistics) => number | readonly Reading[]
}

/** Asked of the disk at each scrape, and shown at the next. */
export interface Asked extends Named {
  readonly read: (room: Room) => number
}

/** Of each consumer of outcomes that has a name. */
export interface Followed extends Named {
  readonly read: (consumer: ConsumerStatus) => number
}

export const seconds = (ms: number): number => ms / 1000
const yes = (is: boolean): number => (is ? 1 : 0)

const laneLabels = ['lane', 'kind', 'interval_seconds'] as const
const perLane =
  (value: (lane: LaneStatistics) => number) =>
  ({ lanes }: QueueStatistics): Reading[] =>
    lanes.map((lane) => ({
      labels: {
        lane: String(lane.lane),
        kind: queueNameOf(lane.kind),
        interval_seconds: lane.intervalMs === Infinity ? '+Inf' : String(seconds(lane.intervalMs)),
      },
      value: value(lane),
    }))

const perTransport =
  (value: (transport: TransportSnapshot) => number) =>
  ({ transports }: QueueStatistics): Reading[] =>
    transports.map((transport) => ({
      labels: { transport: transport.transport },
      value: value(transport),
    }))

const destinationStates = ['ready', 'dead', 'suspended'] as const
const sumOf = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((sum, item) => sum + value(item), 0)

export const measured: readonly Measured[] = [
  {
    kind: 'gauge',
    name: 'waybill_recovering',
    help: '1 during recovery: mail is accepted, and nothing is attempted.',
    read: ({ recovering }) => yes(recovering),
  },
  {
    kind: 'gauge',
    name: 'waybill_active_messages',
    help: 'Messages started and not yet finished or deferred: those in memory.',
    read: ({ activeCount }) => activeCount,
  },
  {
    kind: 'gauge',
    name: 'waybill_active_messages_limit',
    help: 'Messages that may be active at once: qmgr_message_active_limit.',
    read: ({ activeCountMax }) => activeCountMax,
  },
  {
    kind: 'gauge',
    name: 'waybill_damaged_messages',
    help: 'Active messages that recovery could not read: no verb reaches them.',
    read: ({ damagedCount }) => damagedCount,
  },
  {
    kind: 'gauge',
    name: 'waybill_lane_waiting_bytes',
    help: 'Bytes of envelopes that wait; of incoming, of the journal in which they do.',
    labelNames: laneLabels,
    read: perLane(({ waitingBytes }) => waitingBytes),
  },
  {
    kind: 'gauge',
    name: 'waybill_lane_segments',
    help: 'Segments on disk, of envelopes and of data.',
    labelNames: laneLabels,
    read: perLane(({ segmentCount }) => segmentCount),
  },
  {
    kind: 'gauge',
    name: 'waybill_lane_marks',
    help: 'Envelopes in the waiting part that were started out of order.',
    labelNames: laneLabels,
    read: perLane(({ markCount }) => markCount),
  },
  {
    kind: 'gauge',
    name: 'waybill_lane_damaged',
    help: '1 for a lane that is stopped by damage.',
    labelNames: laneLabels,
    read: perLane(({ damage }) => yes(damage !== undefined)),
  },
  {
    kind: 'gauge',
    name: 'waybill_journal_segments',
    help: 'Segments in use.',
    read: ({ journal }) => journal.segmentCount,
  },
  {
    kind: 'gauge',
    name: 'waybill_journal_spare_segments',
    help: 'Segments ready to be used; below 2 the reserve of accepted mail is being used.',
    read: ({ journal }) => journal.spareCount,
  },
  {
    kind: 'gauge',
    name: 'waybill_journal_suffix_bytes',
    help: 'Bytes of the journal that a recovery would read.',
    read: ({ journal }) => journal.suffixBytes,
  },
  {
    kind: 'gauge',
    name: 'waybill_journal_staged_bytes',
    help: 'Appended and not yet durable, bytes.',
    read: ({ journal }) => journal.stagedBytes,
  },
  {
    kind: 'gauge',
    name: 'waybill_journal_disk_full',
    help: '1 when the last attempt to make a segment met a full disk.',
    read: ({ journal }) => yes(journal.diskFull),
  },
  {
    kind: 'counter',
    name: 'waybill_journal_syncs_total',
    help: 'Synced writes: batches of all that waited.',
    read: ({ journal }) => journal.syncCount,
  },
  {
    kind: 'counter',
    name: 'waybill_journal_sync_seconds_total',
    help: 'Time that synced writes took.',
    read: ({ journal }) => seconds(journal.syncTotalMs),
  },
  {
    kind: 'counter',
    name: 'waybill_journal_written_bytes_total',
    help: 'Bytes of synced writes; divided by syncs it is the size of a batch.',
    read: ({ journal }) => journal.writtenBytes,
  },
  {
    kind: 'gauge',
    name: 'waybill_journal_last_sync_seconds',
    help: 'How long the last synced write took.',
    read: ({ journal }) => seconds(journal.syncLastMs),
  },
  {
    kind: 'gauge',
    name: 'waybill_journal_sync_under_way_seconds',
    help: 'Age of the synced write that is under way; 0 when there is none.',
    read: ({ journal }) => seconds(journal.syncUnderWayMs),
  },
  {
    kind: 'gauge',
    name: 'waybill_deliveries_held',
    help: '1 while no delivery begins, because the disk does not answer a synced write.',
    read: ({ deliveries }) => yes(deliveries.isHeld),
  },
  {
    kind: 'counter',
    name: 'waybill_deliveries_held_seconds_total',
    help: 'Time in which no delivery began, because the disk did not answer a synced write.',
    read: ({ deliveries }) => seconds(deliveries.heldMs),
  },
  {
    kind: 'counter',
    name: 'waybill_checkpoints_total',
    help: 'Checkpoints.',
    read: ({ journal }) => journal.checkpointCount,
  },
  {
    kind: 'gauge',
    name: 'waybill_destinations',
    help: 'Destinations by state; dead ones are attempted when their time has come.',
    labelNames: ['state'],
    read: ({ destinations }) =>
      destinationStates.map((state) => ({
        labels: { state },
        value: sumOf(destinations, (destination) => yes(destination.state.kind === state)),
      })),
  },
  {
    kind: 'gauge',
    name: 'waybill_limited_destinations',
    help: 'Destinations whose mail waits for a limit, or for the rate of a reply.',
    read: ({ destinations }) => sumOf(destinations, ({ limit }) => yes(limit !== undefined)),
  },
  {
    kind: 'gauge',
    name: 'waybill_suspensions',
    help: 'Nexthops and transports that an operator has suspended.',
    read: ({ destinations }) => sumOf(destinations, (destination) => yes(isOrdered(destination))),
  },
  {
    kind: 'gauge',
    name: 'waybill_deliveries_under_way',
    help: 'Deliveries under way.',
    read: ({ destinations }) => sumOf(destinations, ({ busy }) => busy),
  },
  {
    kind: 'gauge',
    name: 'waybill_transport_deliveries',
    help: 'Deliveries under way, by transport.',
    labelNames: ['transport'],
    read: perTransport(({ busy }) => busy),
  },
  {
    kind: 'gauge',
    name: 'waybill_transport_process_limit',
    help: 'Deliveries that a transport may have under way at once.',
    labelNames: ['transport'],
    read: perTransport(({ processLimit }) => processLimit),
  },
  {
    kind: 'gauge',
    name: 'waybill_transport_delayed_entries',
    help: 'What waits for nothing but the process limit of its transport.',
    labelNames: ['transport'],
    read: perTransport(({ delayedCount }) => delayedCount),
  },
  {
    kind: 'gauge',
    name: 'waybill_entries_waiting',
    help: 'Waiting entries: recipients of one message for one destination.',
    read: ({ destinations }) => sumOf(destinations, ({ todo }) => todo),
  },
]

export const asked: readonly Asked[] = [
  {
    name: 'waybill_disk_free_bytes',
    help: 'Bytes that the queue may still allocate on its disk.',
    read: ({ freeBytes }) => freeBytes,
  },
  {
    name: 'waybill_disk_free_files',
    help: 'Files that may still be made.',
    read: ({ freeFiles }) => freeFiles,
  },
  {
    name: 'waybill_disk_short',
    help: '1 while new mail is refused for lack of room.',
    read: ({ isShort }) => yes(isShort),
  },
]

export const followed: readonly Followed[] = [
  {
    name: 'waybill_consumer_waiting_outcomes',
    help: 'Outcomes that a webhook, or another consumer, has not acknowledged yet.',
    labelNames: ['consumer'],
    read: ({ cursor, last }) => Math.max(0, last - cursor),
  },
]
