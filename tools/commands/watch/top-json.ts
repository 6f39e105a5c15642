/** A frame of `waybill top` for programs. Pure. Rates are numbers a second; unknown
 * values are null. */
import type { Sample } from '../../../src/control/protocol.js'
import { queueNameOf } from '../../../src/lane/lane.js'
import { perSecond, problemsIn, slowest, syncMeanMs, type TopView } from './top-frame.js'

export function topJson(view: Pick<TopView, 'now' | 'before' | 'counts'>): Record<string, unknown> {
  const { now, counts } = view
  const { lanes, journal, activeCount, damagedCount, recovering } = now.statistics
  const rate = (count: (of: Sample) => number): number | null => rounded(perSecond(view, count))
  return {
    time: now.wallMs / 1000,
    recovering,
    problems: problemsIn(view).map(({ code, severity, text }) => ({ code, severity, text })),
    accepted_rate: rate((of) => of.acceptedCount),
    delivered_rate: rate((of) => of.deliveredCount),
    deferred_rate: rate((of) => of.deferredCount),
    failed_rate: rate((of) => of.failedCount),
    active: activeCount,
    damaged: damagedCount,
    sync_rate: rate((of) => of.statistics.journal.syncCount),
    sync_mean_ms: rounded(syncMeanMs(view)),
    sync_last_ms: rounded(journal.syncLastMs),
    written_bytes_rate: rate((of) => of.statistics.journal.writtenBytes),
    journal: {
      segments: journal.segmentCount,
      spares: journal.spareCount,
      disk_full: journal.diskFull,
      suffix_bytes: journal.suffixBytes,
      staged_bytes: journal.stagedBytes,
      checkpoints: journal.checkpointCount,
    },
    counted_time: counts === undefined ? null : counts.atMs / 1000,
    lanes: lanes.map(({ lane, kind, intervalMs, waitingBytes, markCount, damage }) => ({
      queue_name: queueNameOf(kind),
      lane,
      interval_ms: intervalMs === Infinity ? null : intervalMs,
      messages: counts === undefined ? null : (counts.byLane.get(lane)?.count ?? 0),
      data_bytes: counts === undefined ? null : (counts.byLane.get(lane)?.dataBytes ?? 0),
      envelope_bytes: waitingBytes,
      marks: markCount,
      damage: damage ?? null,
    })),
    destination_count: now.destinationCount,
    destinations: slowest(view).map(({ destination, rate: delivered }) => ({
      transport: destination.transport,
      destination: destination.name,
      state: destination.state.kind,
      window: destination.window,
      busy: destination.busy,
      waiting: destination.todo,
      delivered_rate: rounded(delivered),
    })),
  }
}

const rounded = (value: number | undefined): number | null =>
  value === undefined ? null : Math.round(value * 1000) / 1000
