/** A snapshot of the whole queue, from memory. Each destination that is chosen takes time. */
import { checkOptionNames, type OptionNames } from '../../base/options.js'
import { destinationChoices, type DestinationChoice } from '../../engine/deliver/destinations-now.js'
import { WaybillError } from '../../errors.js'
import type { LaneKind } from '../../lane/lane.js'
import { journalLog } from '../../log/journal-writer.js'
import type { DestinationSnapshot, TransportSnapshot } from '../../scheduler/scheduler.js'
import type { Engine } from '../../engine/engine.js'
import { dataLog, envelopesLog } from '../../directory/log-files.js'
import type { Parts } from '../../engine/life/parts.js'

export interface LaneStatistics {
  readonly lane: number
  readonly kind: LaneKind
  /** The retry interval, milliseconds; 0 for `incoming`, Infinity for `hold`. */
  readonly intervalMs: number
  /** Bytes of the lane's log of envelopes between its runner and its end: the waiting part. For a
   * lane in the journal, such as `incoming`, bytes of the journal from the first waiting message
   * on, all records included. */
  readonly waitingBytes: number
  readonly segmentCount: number
  /** When the next message is due, milliseconds since 1970. Known only of a message in memory,
   * which came into an empty lane or was read ahead; otherwise undefined, as for `hold`. */
  readonly nextDueAt: number | undefined
  /** Envelopes started out of order that the runner has not passed. */
  readonly markCount: number
  /** The damage that has stopped the lane; undefined while it works. */
  readonly damage: string | undefined
}

export interface QueueStatistics {
  readonly recovering: boolean
  readonly activeCount: number
  /** Messages that may be active at once: `activeCountMax`. */
  readonly activeCountMax: number
  /** Messages that were being worked on and that the recovery could not read, each with a `warning`
   * that says where. They are not listed (a listing of all ends with LIST_INCOMPLETE), and stay
   * until the readable mail is rescued to another queue. */
  readonly damagedCount: number
  readonly lanes: readonly LaneStatistics[]
  readonly journal: {
    /** Segments in use. */
    readonly segmentCount: number
    /** Segments that are made ahead. */
    readonly spareCount: number
    /** The disk had no room when a segment was made last. */
    readonly diskFull: boolean
    /** Bytes that a recovery would read now: from the suffix of the last durable checkpoint on. */
    readonly suffixBytes: number
    /** Bytes appended and not yet durable. */
    readonly stagedBytes: number
    /** Synced writes of this life, here and below. */
    readonly syncCount: number
    readonly writtenBytes: number
    /** Duration of the last one, milliseconds. */
    readonly syncLastMs: number
    readonly syncTotalMs: number
    /** Checkpoints of this life. */
    readonly checkpointCount: number
    /** How long the synced write under way has taken until now; 0 if there is none. */
    readonly syncUnderWayMs: number
  }
  /** `isHeld`: no delivery begins now, because the disk is slow (`proofMs`). `heldMs`: how long
   * that was so in this life, milliseconds. */
  readonly deliveries: { readonly isHeld: boolean; readonly heldMs: number }
  /** Deliveries under way beside the process limit, of each transport in use. */
  readonly transports: readonly TransportSnapshot[]
  /** Those that the option `destinations` chooses. */
  readonly destinations: readonly DestinationSnapshot[]
}

export interface StatsOptions {
  /** Default: `all`. Of very many, a choice of few takes a small part of the time. */
  readonly destinations?: DestinationChoice | undefined
}

const optionNames: OptionNames<StatsOptions> = { destinations: true }

/** @throws WaybillError OPTION_INVALID */
export function statistics(parts: Parts, engine: Engine, given: StatsOptions): QueueStatistics {
  checkOptionNames(given, optionNames)
  const { destinations: choice = 'all' } = given
  if (!destinationChoices.includes(choice))
    throw new WaybillError('OPTION_INVALID', `destinations are one of ${destinationChoices.join(', ')}`, {
      option: 'destinations',
    })
  const { journal, lanes, active, garbage, options } = parts
  const { durableEnd, inFlightSinceMs } = journal
  const { gate } = engine.dispatch
  return {
    recovering: engine.isRecovering,
    activeCount: active.count,
    activeCountMax: options.activeCountMax,
    damagedCount: active.damagedCount,
    lanes: [...lanes].map(({ number, kind, intervalMs, logs, runner, marks, damage }) => ({
      lane: number,
      kind,
      intervalMs,
      waitingBytes:
        logs === undefined ? runner.waitingBytes : Math.max(0, logs.envelopes.end - runner.position),
      segmentCount:
        logs === undefined
          ? 0
          : garbage.of(envelopesLog(number)).existingCount + garbage.of(dataLog(number)).existingCount,
      nextDueAt: kind === 'hold' ? undefined : runner.headDueAt(intervalMs),
      markCount: marks.count,
      damage: damage?.message,
    })),
    journal: {
      segmentCount: garbage.of(journalLog).existingCount,
      spareCount: journal.spares.readyCount,
      diskFull: journal.spares.diskFull,
      suffixBytes: durableEnd - engine.checkpointer.suffix,
      stagedBytes: journal.stagedBytes,
      ...journal.statistics,
      checkpointCount: engine.checkpointer.count,
      syncUnderWayMs: inFlightSinceMs === undefined ? 0 : options.clock.monotonicMs() - inFlightSinceMs,
    },
    deliveries: { isHeld: gate.isHolding, heldMs: gate.heldMs },
    transports: engine.dispatch.transports(),
    destinations: engine.dispatch.destinations(choice),
  }
}
