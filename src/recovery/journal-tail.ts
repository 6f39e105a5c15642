/** Finds the end of the journal and the checkpoint to start from.
 * It reads the newest begun segment, its last commit, and the checkpoint that this names: one batch
 * or two, however long the segment is. The working suffix is verified when recovery reads it.
 * tail-verdict.ts decides; a corrupt journal is refused; nothing is written. */
import { nowhere, type Position } from '../base/position.js'
import { isWaybillError } from '../errors.js'
import type { OpenSegment, SegmentFiles } from '../log/segment-files.js'
import {
  commitEnding,
  isWhole,
  lastCommit,
  scanBatches,
  scanFrames,
  type FoundCommit,
} from '../log/segment-scan.js'
import { segmentHeaderBytes, segmentIndexOf } from '../log/segment.js'
import type { LimitOf } from '../log/write-limit.js'
import { kindAt, kinds, payloadAt } from '../record/frame.js'
import { tailVerdict } from './tail-verdict.js'

export interface JournalTail {
  /** The newest begun segment; −1 when the journal was never written. */
  readonly index: number
  /** Behind the last commit that counts. */
  readonly end: Position
  /** The last batch that counts, to be rewritten in place. */
  readonly lastBatch: { readonly offsetBytes: number; readonly bytes: number } | undefined
  /** The newest checkpoint's payload. */
  readonly checkpoint: Buffer | undefined
  /** Segments that never began, above `index`. */
  readonly unbegun: readonly number[]
  /** All begun segments, ascending. */
  readonly begun: readonly number[]
  /** The torn batch behind `end`: all of it if its commit frame is there, else the part
   * that verifies. */
  readonly cutBytes: number
  /** The highest life that made a segment; it may have written no batch. */
  readonly life: number
  /** The life of the newest batch. */
  readonly begunLife: number
  /** When that batch was sealed, milliseconds since 1970; 0 when there is none. */
  readonly sealedAtMs: number
}

/** Of a journal that was never written. */
export const emptyTail: JournalTail = {
  index: -1,
  end: nowhere,
  lastBatch: undefined,
  checkpoint: undefined,
  unbegun: [],
  begun: [],
  cutBytes: 0,
  life: 0,
  begunLife: 0,
  sealedAtMs: 0,
}

/** A begun segment. */
interface Begun {
  readonly last: FoundCommit
  readonly checkpoint: Buffer | undefined
}

interface Examined {
  /** Undefined when it was never begun. */
  readonly begun: Begun | undefined
  /** Where the segment before ends, as its torn first batch says; `nowhere` if it does not say. */
  readonly previousEnd: Position
  readonly cutBytes: number
  readonly life: number
}

/** @param names of the journal's directory
 * @param limitOf how far a segment may have been written; all of it is searched by default
 * @throws WaybillError LOG_CORRUPT with the place of what does not verify, FORMAT_NEWER */
export async function findTail(
  files: SegmentFiles,
  names: readonly string[],
  limitOf: LimitOf = () => undefined,
): Promise<JournalTail> {
  const indexes = names.map(segmentIndexOf).filter((index) => index !== undefined)
  const unbegun: number[] = []
  let life = 0
  let cutBytes = 0
  let named: Position = nowhere
  for (let i = indexes.length - 1; i >= 0; i--) {
    const index = indexes[i]!
    // The segments of a queue without a batch may be removed in any order: they are the first two.
    const examined = await examine(files, index, index <= 1 || indexes[i - 1] === index - 1, limitOf)
    await files.forget(index)
    life = Math.max(life, examined.life)
    cutBytes += examined.cutBytes
    if (examined.begun === undefined) {
      unbegun.push(index)
      if (examined.previousEnd > named) named = examined.previousEnd
      continue
    }
    const { last, checkpoint } = examined.begun
    const end = files.grid.at(index, last.end)
    if (end < named) throw files.corrupt(end, namedAndMissing)
    return {
      index,
      end,
      lastBatch: { offsetBytes: last.start, bytes: last.end - last.start },
      checkpoint,
      unbegun,
      begun: indexes.slice(0, i + 1),
      cutBytes,
      life,
      begunLife: examined.life,
      sealedAtMs: last.timeMs,
    }
  }
  if (named !== nowhere) throw files.corrupt(named, namedAndMissing)
  return { ...emptyTail, unbegun, cutBytes, life }
}

const namedAndMissing =
  'a batch does not verify, but its end is named by one that was written after it was synced'

const givenFree =
  'the first batch does not verify, but the segment before was released by a checkpoint in this one'

async function examine(
  files: SegmentFiles,
  index: number,
  previousThere: boolean,
  limitOf: LimitOf,
): Promise<Examined> {
  return files.with(index, async (segment) => {
    const { segmentBytes } = files.grid
    const limitBytes = Math.min(limitOf(index, segment.header.epoch) ?? segmentBytes, segmentBytes)
    const whole = (): Promise<Examined> => examineBelow(files, index, segment, previousThere, segmentBytes)
    if (limitBytes === segmentBytes) return whole()
    try {
      const below = await examineBelow(files, index, segment, previousThere, limitBytes)
      return below.isBehindLimit ? await whole() : below
    } catch (error) {
      // Of a limit that is older than its segment, all that is written says whether it is damaged.
      if (!isWaybillError(error, 'LOG_CORRUPT')) throw error
      return whole()
    }
  })
}

interface ExaminedBelow extends Examined {
  /** What is written behind the limit says that it is older than the segment. */
  readonly isBehindLimit: boolean
}

async function examineBelow(
  files: SegmentFiles,
  index: number,
  segment: OpenSegment,
  previousThere: boolean,
  limitBytes: number,
): Promise<ExaminedBelow> {
  const { segmentBytes } = files.grid
  const { last, torn } = await lastWhole(files, index, segment, previousThere, limitBytes)
  const end = last?.end ?? segmentHeaderBytes
  const found = torn?.end ?? end
  const validEnd = await validEndBehind(segment, found, segmentBytes)
  const begun = last && { last, checkpoint: await newestCheckpoint(files, index, segment, last) }
  return {
    begun,
    previousEnd: begun === undefined && torn !== undefined ? torn.previousEnd : nowhere,
    cutBytes: (torn === undefined ? validEnd : found) - end,
    life: segment.header.life,
    isBehindLimit: limitBytes < segmentBytes && validEnd > limitBytes,
  }
}

/** The commit at which the segment's content ends, and the one behind it whose batch was torn.
 * @throws WaybillError LOG_CORRUPT */
async function lastWhole(
  files: SegmentFiles,
  index: number,
  segment: OpenSegment,
  previousThere: boolean,
  limitBytes: number,
): Promise<{ readonly last: FoundCommit | undefined; readonly torn: FoundCommit | undefined }> {
  const { grid } = files
  const base = grid.at(index, 0)
  const last = await lastCommit(segment, base, limitBytes)
  const isFirst = last?.start === segmentHeaderBytes
  const lastIsWhole = last !== undefined && (await isWhole(segment, last))
  const before =
    last === undefined || lastIsWhole || isFirst ? undefined : await commitEnding(segment, base, last.start)
  const verdict = tailVerdict({
    headerValid: true,
    found: last === undefined ? 'none' : isFirst ? 'first' : 'later',
    lastWhole: lastIsWhole,
    beforeWhole: before !== undefined && (await isWhole(segment, before)),
    previousThere,
  })
  if (verdict === 'corrupt')
    throw last === undefined || isFirst
      ? files.corrupt(grid.firstOf(index), givenFree)
      : files.corrupt(
          grid.at(index, before?.start ?? last.start),
          `a batch does not verify, but the one at offset ${last.start} was written after it was synced`,
        )
  if (verdict === 'last') return { last, torn: undefined }
  return { last: verdict === 'before' ? before : undefined, torn: last }
}

/** Behind the part before the tear of a batch without a commit frame, or behind the commit of one
 * that was not looked for so far up. */
const validEndBehind = (segment: OpenSegment, from: number, segmentBytes: number): Promise<number> =>
  scanFrames(
    segment.file,
    segment.seed,
    from,
    segmentBytes,
    (window, at) => kindAt(window, at) === kinds.commit,
  )

/** The payload of the newest checkpoint that counts; undefined when there is none.
 * @throws WaybillError LOG_CORRUPT */
async function newestCheckpoint(
  files: SegmentFiles,
  index: number,
  segment: OpenSegment,
  last: FoundCommit,
): Promise<Buffer | undefined> {
  const { grid } = files
  if (last.checkpoint === 0) return checkpointByScan(files, index, segment, last)
  const at = grid.at(index, last.checkpoint)
  const { kind, payload } = await files.frame(at)
  if (kind !== 'checkpoint') throw files.corrupt(at, `a ${kind} record stands where a checkpoint should`)
  return payload
}

/** In a segment of an earlier release, whose commits name no checkpoint: all of it is read. */
async function checkpointByScan(
  files: SegmentFiles,
  index: number,
  segment: OpenSegment,
  { end }: FoundCommit,
): Promise<Buffer | undefined> {
  let newest: Buffer | undefined
  const scan = await scanBatches(segment, end, (window, at) => {
    if (kindAt(window, at) === kinds.checkpoint) newest = Buffer.from(payloadAt(window, at))
  })
  const reached = scan.last?.end ?? segmentHeaderBytes
  if (reached < end)
    throw files.corrupt(
      files.grid.at(index, reached),
      'a batch does not verify, but one that was written after it was synced does',
    )
  return newest
}
