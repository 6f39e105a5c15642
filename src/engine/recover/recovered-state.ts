/** The state that a recovery reads before it acts: the working suffix, the marks of each lane, and
 * the spool files that nobody needs.
 * Damaged data may have ended the previous life before its first checkpoint. The next life reads
 * that data before it takes mail: else, under a supervisor, each life would take a little mail,
 * make a segment, and end. */
import { nowhere, position, type Position } from '../../base/position.js'
import type { Disk } from '../../disk/disk.js'
import { isWaybillError } from '../../errors.js'
import { JournalReader } from '../../log/journal-reader.js'
import type { Journal } from '../../log/journal.js'
import type { SegmentFiles } from '../../log/segment-files.js'
import { decodeCheckpoint, trustedEndIn, type Checkpoint } from '../../record/checkpoint.js'
import type { JournalTail } from '../../recovery/journal-tail.js'
import { journalFiles, laneFiles } from '../../directory/log-files.js'
import type { QueueHeader } from '../../directory/header.js'
import { readMarks, readSuffix, type KeyedEnvelope } from '../../recovery/read-suffix.js'
import type { WorkingSet } from '../../recovery/working-set.js'
import type { Spool } from '../message/spool.js'

export interface RecoveredState {
  readonly working: WorkingSet
  /** By lane, those that the checkpoint knows of and the runner has not passed. Of a lane whose
   * records cannot be read there are none. */
  readonly marks: ReadonlyMap<number, readonly Position[]>
  /** Orphans of the crash, and files whose message is known to be finished. */
  readonly needlessSpools: ReadonlySet<number>
  readonly keyed: readonly KeyedEnvelope[]
}

export interface RecoveryLogs {
  readonly journal: Pick<Journal, 'read' | 'files'>
  /** Of a lane with separate logs. */
  readonly envelopesOf: (lane: number) => SegmentFiles
}

/** @param tailEnd where the journal ended when this life began, @param spools the files that
 * existed then
 * @param isSingle the layout has one log for everything
 * @throws WaybillError LOG_CORRUPT */
export async function readState(
  { journal, envelopesOf }: RecoveryLogs,
  checkpoint: Checkpoint,
  tailEnd: Position,
  spools: readonly number[],
  isSingle: boolean,
): Promise<RecoveredState> {
  const unclear = spools.filter(
    (number) => number > checkpoint.spoolHighest || checkpoint.spoolPending.includes(number),
  )
  const facts = {
    suffix: checkpoint.suffix,
    trustedEnd: (lane: number): Position | undefined => trustedEndIn(checkpoint, lane),
  }
  const inJournal = checkpoint.lanes.some((lane) => lane.inJournal && lane.lane !== 0)
  const { working, spoolsNamed, keyed } = await readSuffix(
    journal,
    facts,
    tailEnd,
    inJournal || unclear.length > 0 || isSingle,
  )
  const marks = new Map<number, readonly Position[]>()
  for (const { lane, runner, inJournal: isInJournal, marks: last } of checkpoint.lanes) {
    if (last === nowhere) continue
    const reached = position(Math.max(runner, working.lanes.get(lane)?.runner ?? 0))
    const log = isInJournal ? journal.files : envelopesOf(lane)
    try {
      marks.set(lane, await readMarks(log, last, reached))
    } catch (error) {
      // One lane's trouble is not the queue's.
      if (!isWaybillError(error)) throw error
    }
  }
  const there = new Set(spools)
  const finished = working.finishedSpools.filter((number) => there.has(number))
  const orphans = unclear.filter((number) => !spoolsNamed.has(number))
  return { working, marks, needlessSpools: new Set([...finished, ...orphans]), keyed }
}

/** The same before anything is opened for writing, so that a start that is refused changes nothing.
 * @returns undefined when the last life that has a batch came to a checkpoint: then it can be read
 * while mail is accepted. One that has made its segment, and no batch, has ended for something
 * else, and nothing stands behind what those before it have said:
 *    1. finish durable, killed
 *    2. restart makes a segment, killed
 *    3. restart unlinks its file at once, killed
 *    4. rot in that of the finish
 * @throws WaybillError LOG_CORRUPT */
export async function readStateFirst(
  disk: Disk,
  header: QueueHeader,
  tail: JournalTail,
  spools: readonly number[],
  isSingle: boolean,
): Promise<RecoveredState | undefined> {
  const checkpoint = tail.checkpoint && decodeCheckpoint(tail.checkpoint)
  if (checkpoint === undefined || checkpoint.life === tail.begunLife) return undefined
  const files = journalFiles(disk, header)
  const opened = [files]
  const reader = new JournalReader(files)
  const envelopesOf = (lane: number): SegmentFiles => {
    const { files: envelopes } = laneFiles(disk, header, lane, 'envelopes')
    opened.push(envelopes)
    return envelopes
  }
  try {
    const journal = { files, read: reader.read.bind(reader) }
    return await readState({ journal, envelopesOf }, checkpoint, tail.end, spools, isSingle)
  } finally {
    for (const log of opened) await log.forgetAll()
  }
}

/** Takes away the files that nobody needs, durably, so that a start which cannot do that is refused
 * as well.
 * @param spool of a life whose journal is open: there is a batch behind the one that says that they
 * are not needed
 * @returns what is left to be done */
export async function withoutSpools(spool: Spool, recoveredState: RecoveredState): Promise<RecoveredState> {
  for (const number of recoveredState.needlessSpools) await spool.unlink(number)
  await spool.syncNames()
  return { ...recoveredState, needlessSpools: new Set() }
}
