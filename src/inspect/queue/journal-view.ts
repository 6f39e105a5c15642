/** The journal as an inspection sees it: its end and newest checkpoint, even if a start would
 * refuse it.
 * Invariant: recovery/journal-tail.ts alone judges an undamaged journal. If it refuses, this file
 * continues with the valid rest, and reports it. */
import { nowhere, position, type Position } from '../../base/position.js'
import { commitAt } from '../../log/commit-frame.js'
import type { SegmentFiles } from '../../log/segment-files.js'
import { scanBatches } from '../../log/segment-scan.js'
import { segmentHeaderBytes, segmentIndexOf, segmentName } from '../../log/segment.js'
import type { LimitOf } from '../../log/write-limit.js'
import { decodeCheckpoint, type Checkpoint } from '../../record/checkpoint.js'
import { kindAt, kinds, payloadAt } from '../../record/frame.js'
import { findTail } from '../../recovery/journal-tail.js'
import { nextCommit } from '../damage/batches.js'
import { damageAt, findingOf, isDamage, type Finding } from '../damage/finding.js'
import { isRefusal } from '../damage/refused-blocks.js'
import { sizeTrouble } from '../damage/segment-trouble.js'
import { readSurviving } from '../damage/surviving-frames.js'

export interface JournalView {
  readonly files: SegmentFiles
  /** Segments that have a file, ascending. */
  readonly indexes: readonly number[]
  /** The newest begun segment; −1 when there is none. */
  readonly newest: number
  /** Behind the last commit that counts. */
  readonly end: Position
  readonly checkpoint: Checkpoint | undefined
  /** Bytes of valid frames behind the end: of a batch that was torn, or is being written. */
  readonly cutBytes: number
  readonly lastBatchBytes: number
  readonly findings: readonly Finding[]
  /** Where the content of a segment ends. */
  readonly endOf: (index: number) => Promise<Position>
  /** Does the segment behind it name that end? If not, `endOf` is the last valid commit frame:
   * there may have been more. */
  readonly isEndNamed: (index: number) => Promise<boolean>
}

/** The cost of a missing or foreign segment. */
export const lostWithSegment = 'the records of the segment: accepted mail, and outcomes of other mail'
const lostWithSegments = 'the records of the segments: accepted mail, and outcomes of other mail'

/** @param files without open files, so that present contents are read
 * @param ofStart as a start reads them
 * @param limitOf how far a segment may have been written, as a start believes it */
export async function viewJournal(
  files: SegmentFiles,
  ofStart: SegmentFiles,
  names: readonly string[],
  limitOf?: LimitOf,
): Promise<JournalView> {
  const findings: Finding[] = []
  const indexes = names.map(segmentIndexOf).filter((index) => index !== undefined)
  const usable = new Set(indexes)
  const ends = endsOf(files)
  let headless: Salvaged | undefined
  for (;;) {
    try {
      const tail = await findTail(ofStart, [...usable].map(segmentName), limitOf)
      if (tail.index < 0 && headless !== undefined) return { files, indexes, ...headless, findings, ...ends }
      for (const index of [...tail.begun.slice(-1), ...tail.unbegun]) {
        const trouble = await sizeTrouble(files, index, lostWithSegment)
        if (trouble !== undefined) findings.push(trouble)
      }
      const checkpoint = tail.checkpoint === undefined ? undefined : decodeCheckpoint(tail.checkpoint)
      const lastBatchBytes = tail.lastBatch?.bytes ?? 0
      return {
        files,
        indexes,
        newest: tail.index,
        end: tail.end,
        checkpoint,
        cutBytes: tail.cutBytes,
        lastBatchBytes,
        findings,
        ...ends,
      }
    } catch (error) {
      if (!isDamage(error)) throw error
      // A disk that refuses names the file, not the segment.
      const finding = findingOf(error, { log: 'journal' }, lostWithSegment)
      const { log, segment: index } = finding
      if (index === undefined || !usable.has(index)) throw error
      // Later segments never began, or this one would not be the last.
      for (const other of indexes) if (other >= index) usable.delete(other)
      const salvaged = await salvage(files, index)
      const isInPart = isRefusal(error) && (await hasHeader(files, index))
      findings.push(isInPart ? { log, segment: index, ...refusedInPart } : finding)
      if (salvaged?.checkpoint !== undefined) return { files, indexes, ...salvaged, findings, ...ends }
      headless ??= salvaged
    }
  }
}

/** The reader reports which part. */
const refusedInPart = {
  bytes: 0,
  reason: 'the disk refuses a part of it',
  lost: 'that part, and the queue does not open',
}

/** Without it nothing of a segment verifies. */
async function hasHeader(files: SegmentFiles, index: number): Promise<boolean> {
  try {
    return await files.with(index, async () => true)
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  }
}

type Salvaged = Pick<JournalView, 'newest' | 'end' | 'checkpoint' | 'cutBytes' | 'lastBatchBytes'>

/** End and checkpoint of a segment with an invalid batch; undefined if nothing of it verifies. */
async function salvage(files: SegmentFiles, index: number): Promise<Salvaged | undefined> {
  const { grid } = files
  const segmentEnd = grid.at(index, grid.segmentBytes)
  let end: Position = nowhere
  let pending: Buffer | undefined
  let counted: Buffer | undefined
  await readSurviving(files, {
    from: grid.firstOf(index),
    end: segmentEnd,
    endOf: async () => segmentEnd,
    onGap: ({ to }) => to,
    visit: (window, at, where, bytes) => {
      const kind = kindAt(window, at)
      if (kind === kinds.checkpoint) pending = Buffer.from(payloadAt(window, at))
      if (kind !== kinds.commit) return
      end = position(where + bytes)
      counted = pending
    },
  })
  if (end === nowhere) return undefined
  const checkpoint = counted && decodeCheckpoint(counted)
  return { newest: index, end, checkpoint, cutBytes: 0, lastBatchBytes: 0 }
}

/** The first commit of the next segment names the end of this one. If it does not verify, the whole
 * segment is read. */
function endsOf(files: SegmentFiles): Pick<JournalView, 'endOf' | 'isEndNamed'> {
  const { grid } = files
  const known = new Map<number, { readonly end: Position; readonly isNamed: boolean }>()
  const look = async (index: number): Promise<{ readonly end: Position; readonly isNamed: boolean }> => {
    const before = known.get(index)
    if (before !== undefined) return before
    const name = await named(files, index)
    const end = name ?? (await lastCommitIn(files, index))
    const found = { end: end < grid.firstOf(index) ? grid.firstOf(index) : end, isNamed: name !== undefined }
    known.set(index, found)
    return found
  }
  return {
    endOf: async (index) => (await look(index)).end,
    isEndNamed: async (index) => (await look(index)).isNamed,
  }
}

/** A valid commit frame counts even if its batch does not verify. */
async function named(files: SegmentFiles, index: number): Promise<Position | undefined> {
  const { grid } = files
  try {
    const first = await files.with(
      index + 1,
      async (segment) =>
        (await scanBatches(segment, grid.segmentBytes, () => undefined, 1)).first ??
        (await nextCommit(segment, grid.at(index + 1, 0), segmentHeaderBytes, grid.segmentBytes)),
    )
    return first !== undefined && grid.indexOf(position(first.previousEnd - 1)) === index
      ? first.previousEnd
      : undefined
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

async function lastCommitIn(files: SegmentFiles, index: number): Promise<Position> {
  const { grid } = files
  let end = grid.firstOf(index)
  const segmentEnd = grid.at(index, grid.segmentBytes)
  await readSurviving(files, {
    from: end,
    end: segmentEnd,
    endOf: async () => segmentEnd,
    onGap: ({ to }) => to,
    visit: (window, at, where, bytes) => {
      if (kindAt(window, at) === kinds.commit && commitAt(window, at).previousEnd <= where)
        end = position(where + bytes)
    },
  })
  return end
}

/** Missing segments between the first needed one and the newest file. Consecutive ones are one
 * finding, because a foreign file may have the name of a distant segment. */
export function missingSegments({ files, indexes }: JournalView, from: Position): Finding[] {
  const { grid } = files
  const contentBytesMax = grid.segmentBytes - segmentHeaderBytes
  const findings: Finding[] = []
  let wanted = grid.indexOf(from)
  for (const index of indexes) {
    const count = index - wanted
    const at = grid.at(wanted, 0)
    if (count === 1)
      findings.push(damageAt(files, at, contentBytesMax, 'the segment is missing', lostWithSegment))
    else if (count > 1)
      findings.push(
        damageAt(files, at, 0, `${count} segments are missing, this is the first`, lostWithSegments),
      )
    wanted = Math.max(wanted, index + 1)
  }
  return findings
}
