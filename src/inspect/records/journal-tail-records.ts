/** The records of the journal as they are settled, for following a running queue. */
import { position, type Position } from '../../base/position.js'
import type { Report } from '../damage/finding.js'
import { readLog } from './log-reader.js'
import type { QueueDirectory } from '../queue/queue-directory.js'
import type { LoggedRecord } from './records.js'
import { takeSnapshot } from '../queue/snapshot.js'

export interface Followed {
  readonly records: readonly LoggedRecord[]
  /** Where the journal ended. */
  readonly end: Position
}

/** The last `count` selected records of the journal, read backwards, segment by segment. */
export async function lastRecords(
  directory: QueueDirectory,
  count: number,
  isWanted: (record: LoggedRecord) => boolean,
  report: Report,
): Promise<Followed> {
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const { newest, files } = snapshot.journal
  let kept: LoggedRecord[] = []
  for (
    let index = newest;
    index >= 0 && kept.length < count && snapshot.journal.indexes.includes(index);
    index--
  ) {
    const older: LoggedRecord[] = []
    const range = {
      name: 'journal',
      from: files.grid.firstOf(index),
      to: files.grid.at(index + 1, 0),
    } as const
    for await (const batch of readLog(directory, snapshot, range, report)) {
      older.push(...batch.filter(isWanted))
      older.splice(0, Math.max(0, older.length + kept.length - count))
    }
    kept = [...older, ...kept]
  }
  return { records: kept, end: snapshot.end }
}

/** The records settled behind a position. Recycled segments are skipped.
 * @param visit sees them in order, some at a time
 * @returns where the journal ends now */
export async function recordsSince(
  directory: QueueDirectory,
  since: Position,
  report: Report,
  visit: (records: readonly LoggedRecord[]) => Promise<void>,
): Promise<Position> {
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  if (snapshot.end <= since) return since
  for await (const batch of readLog(directory, snapshot, { name: 'journal', from: position(since) }, report))
    await visit(batch)
  return snapshot.end
}
