/** The segments of each log: which are needed, by which messages, and which are garbage. A segment
 * at or behind the log's floor is live; an earlier one with the envelope or data of an active
 * message is pinned. */
import { position } from '../../base/position.js'
import { segmentName } from '../../log/segment.js'
import { kindName, type KindName } from '../../record/frame.js'
import { findingOf, isDamage, isSame, type Report } from '../damage/finding.js'
import { endOfLog, floorOfLog, walkLog } from '../records/log-reader.js'
import { MessageContent } from '../messages/message-content.js'
import { lostWithSegment } from '../queue/journal-view.js'
import { Presence } from '../queue/stale-damage.js'
import type { LogName, QueueDirectory } from '../queue/queue-directory.js'
import { indexesOf, segmentTrouble } from '../damage/segment-trouble.js'
import type { Snapshot } from '../queue/snapshot.js'

export type SegmentState = 'live' | 'pinned' | 'garbage' | 'unused'

export interface SegmentStatistics {
  readonly index: number
  /** Of its file. */
  readonly fileBytes: number
  /** Its content in bytes. */
  readonly contentBytes: number
  readonly state: SegmentState
  /** Ids of active messages that hold it; at most `pinnersMax`. */
  readonly pinnedBy: readonly string[]
}

export interface LogStatistics {
  readonly name: LogName
  readonly segments: readonly SegmentStatistics[]
  /** Needed from here on. */
  readonly floor: number
  readonly end: number
  readonly fileBytes: number
  readonly liveBytes: number
  readonly pinnedBytes: number
  readonly garbageBytes: number
  /** Spare segments, and their bytes: of the journal only. */
  readonly spareCount: number
  readonly spareBytes: number
}

const pinnersMax = 10

/** By log. */
export async function logStatistics(
  directory: QueueDirectory,
  snapshot: Snapshot,
  report: Report,
): Promise<LogStatistics[]> {
  const pins = await pinsOf(directory, snapshot, report)
  const presence = new Presence(directory, snapshot)
  const statistics: LogStatistics[] = []
  for (const { name, directory: path } of await directory.logs(snapshot.lanes)) {
    const files = directory.log(name)
    const { grid } = files
    const end = endOfLog(name, snapshot)
    const floor = floorOfLog(name, snapshot)
    for (const index of indexesOf(files, floor, end)) {
      const trouble = await segmentTrouble(files, index, end, lostWithSegment)
      if (trouble === undefined || snapshot.findings.some((known) => isSame(known, trouble))) continue
      if (floorOfLog(name, await presence.now()) < grid.at(index + 1, 0)) report(trouble)
    }
    const segments: SegmentStatistics[] = []
    for (const index of await directory.segments(path)) {
      const fileBytes = (await directory.size(`${path}/${segmentName(index)}`)) ?? 0
      const isLast = end > 0 && grid.indexOf(position(end - 1)) === index
      const pinnedBy = pins.get(`${name} ${index}`) ?? []
      const state =
        grid.at(index, 0) >= end
          ? 'unused'
          : grid.at(index + 1, 0) > floor
            ? 'live'
            : pinnedBy.length > 0
              ? 'pinned'
              : 'garbage'
      const contentEnd =
        name !== 'journal' || isLast
          ? Math.min(end, grid.at(index + 1, 0))
          : await snapshot.journal.endOf(index)
      const contentBytes = state === 'unused' ? 0 : contentEnd - grid.at(index, 0)
      segments.push({ index, fileBytes, contentBytes, state, pinnedBy })
    }
    const spares =
      name === 'journal'
        ? (await directory.disk.list(path)).filter((file) => /^spare-[0-9]+$/.test(file))
        : []
    let spareBytes = 0
    for (const spare of spares) spareBytes += (await directory.size(`${path}/${spare}`)) ?? 0
    const sum = (state: SegmentState): number =>
      segments.reduce((bytes, segment) => bytes + (segment.state === state ? segment.contentBytes : 0), 0)
    statistics.push({
      name,
      segments,
      floor,
      end,
      fileBytes: segments.reduce((bytes, segment) => bytes + segment.fileBytes, 0),
      liveBytes: sum('live'),
      pinnedBytes: sum('pinned'),
      garbageBytes: sum('garbage'),
      spareCount: spares.length,
      spareBytes,
    })
  }
  return statistics
}

/** Ids of active messages that hold a segment, by log and index; of each at most `pinnersMax`. */
async function pinsOf(
  directory: QueueDirectory,
  snapshot: Snapshot,
  report: Report,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { working, lanes } = snapshot
  const presence = new Presence(directory, snapshot)
  const content = new MessageContent(directory)
  const pins = new Map<string, string[]>()
  const pin = (name: LogName, at: number, id: string): void => {
    const key = `${name} ${content.log(name).grid.indexOf(position(at))}`
    const ids = pins.get(key)
    if (ids === undefined) pins.set(key, [id])
    else if (ids.length < pinnersMax && !ids.includes(id)) ids.push(id)
  }
  for (const { place } of working) {
    const log = lanes.find(({ lane }) => lane === place.lane)?.log ?? `${place.lane}/envelopes`
    try {
      const { id, data } = await content.envelope(log, place)
      pin(log, place.position, id)
      if (data.kind === 'lane') pin(`${place.lane}/data`, data.position, id)
    } catch (error) {
      if (!isDamage(error)) throw error
      const files = content.log(log)
      if (await presence.isThere(place.lane, place.position))
        report(findingOf(error, files.placeOf(place.position), 'an active message'))
    }
  }
  return pins
}

/** Records by kind, of everything of a log that is still on disk. */
export async function countRecords(
  directory: QueueDirectory,
  snapshot: Snapshot,
  name: LogName,
  report: Report,
  onProgress: (readBytes: number) => void,
): Promise<Partial<Record<KindName, { count: number; bytes: number }>>> {
  const byKind: { count: number; bytes: number }[] = []
  const count = (kind: number, bytes: number): void => {
    const entry = (byKind[kind] ??= { count: 0, bytes: 0 })
    entry.count++
    entry.bytes += bytes
  }
  await walkLog(directory, snapshot, { name }, report, count, onProgress)
  return Object.fromEntries(byKind.flatMap((entry, kind) => [[kindName(kind)!, entry]]))
}
