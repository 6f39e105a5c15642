/** The queue at an earlier position of the journal: the checkpoint before it, and the journal from
 * there.
 * Recycled segments are gone: lanes are listed as far as their logs still exist. */
import { position, type Position } from '../../base/position.js'
import { decodeCheckpoint, type Checkpoint } from '../../record/checkpoint.js'
import { kindAt, kinds, payloadAt } from '../../record/frame.js'
import { readSurviving } from '../damage/surviving-frames.js'
import type { Finding } from '../damage/finding.js'
import type { JournalView } from '../queue/journal-view.js'
import { floorOfLog } from './log-reader.js'
import type { LogName, QueueDirectory } from '../queue/queue-directory.js'
import { snapshotOf, takeSnapshot, type Snapshot } from '../queue/snapshot.js'

export type Past =
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot }
  /** The position lies behind the end, or no checkpoint before it is on disk. */
  | { readonly kind: 'gone'; readonly reason: string }

export async function snapshotAt(
  directory: QueueDirectory,
  { journal }: Snapshot,
  at: Position,
): Promise<Past> {
  const { grid } = journal.files
  if (at > journal.end || journal.indexes.length === 0) return goneFrom(journal, at)
  const { checkpoint, end } = await checkpointBefore(journal, at)
  const suffix = checkpoint?.suffix
  // A life's first segment repeats the checkpoint of the life before; before the very first there
  // is none, and nothing to miss.
  if (suffix === undefined || !journal.indexes.includes(grid.indexOf(suffix))) return goneFrom(journal, at)
  const snapshot = await snapshotOf(directory, journal, checkpoint, end, false)
  if (snapshot.findings.length === 0) return { kind: 'snapshot', snapshot }
  const { journal: later } = await takeSnapshot(directory)
  // Recycled while it was read.
  if (!later.indexes.includes(grid.indexOf(suffix))) return goneFrom(later, at)
  return { kind: 'snapshot', snapshot }
}

function goneFrom({ files, indexes: [first], end }: JournalView, at: Position): Past {
  const oldest = first === undefined ? 0 : files.grid.firstOf(first)
  const missing = at < oldest || at > end ? `position ${at}` : `a checkpoint before position ${at}`
  return { kind: 'gone', reason: `${missing} is not on disk: the journal reaches from ${oldest} to ${end}` }
}

interface CheckpointBefore {
  readonly checkpoint: Checkpoint | undefined
  /** The end of the last record before the position. */
  readonly end: Position
}

/** Each segment begins with a copy of the newest checkpoint; up to the end of that one the segment
 * before it counts. So at most two segments are read. */
async function checkpointBefore(journal: JournalView, at: Position): Promise<CheckpointBefore> {
  const index = journal.files.grid.indexOf(position(Math.max(0, at - 1)))
  const own = await lastCheckpointIn(journal, index, at)
  const hasOther = own.checkpoint === undefined && journal.indexes.includes(index - 1)
  return hasOther ? lastCheckpointIn(journal, index - 1, at) : own
}

async function lastCheckpointIn(
  { files, endOf, newest, end: journalEnd }: JournalView,
  index: number,
  at: Position,
): Promise<CheckpointBefore> {
  const { grid } = files
  const contentEnd = index === newest ? journalEnd : await endOf(index)
  let checkpoint: Checkpoint | undefined
  let end = grid.firstOf(index)
  await readSurviving(files, {
    from: end,
    end: contentEnd,
    endOf: async () => contentEnd,
    onGap: ({ to }) => to,
    visit: (window, windowAt, place, bytes) => {
      if (place + bytes > at) return true
      end = position(place + bytes)
      if (kindAt(window, windowAt) === kinds.checkpoint)
        checkpoint = decodeCheckpoint(payloadAt(window, windowAt))
      return false
    },
  })
  return { checkpoint, end }
}

/** Decides whether an invalid place is damage, or was recycled since. */
export function isStillNeeded(
  { log, segment, offsetBytes }: Finding,
  directory: QueueDirectory,
  now: Snapshot,
): boolean {
  const [, lane, part] = /^lane (\d+) (envelopes|data)$/.exec(log) ?? []
  const name: LogName = lane === undefined ? 'journal' : `${Number(lane)}/${part as 'envelopes' | 'data'}`
  if (segment === undefined || (lane === undefined && log !== 'journal')) return true
  const { grid } = directory.log(name)
  const isFile = offsetBytes === undefined || offsetBytes === 0
  const until = isFile ? grid.at(segment + 1, 0) : grid.at(segment, offsetBytes)
  if (until >= floorOfLog(name, now)) return true
  return now.working.some(({ place }) => {
    const isHere = now.lanes.find((view) => view.lane === place.lane)?.log === name
    return isHere && (isFile ? grid.indexOf(place.position) === segment : place.position === until)
  })
}
