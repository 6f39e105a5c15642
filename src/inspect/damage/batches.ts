/** Walks the batches of one segment of the journal, over damage.
 * Invariant: a valid commit frame says where its batch begins, so each batch is judged for
 * itself, also behind a bad one. If commit frames are gone, the bad batches up to the next valid
 * one are reported as one stretch. Work is bounded by the segment's length: lengths in damaged
 * frames are not trusted. */
import { batchChecksum, commitAt } from '../../log/commit-frame.js'
import { commitEnding, scanFrames, type FoundCommit, type ScannedSegment } from '../../log/segment-scan.js'
import { blockBytes, segmentHeaderBytes } from '../../log/segment.js'
import { kindAt, kinds } from '../../record/frame.js'

/** Batches one behind the other that do not verify. Offsets in the segment. */
export interface BadBatches {
  readonly from: number
  readonly to: number
  readonly batchCountLeast: number
  /** There may be more of them: a commit frame is gone. */
  readonly mayBeMore: boolean
}

export interface WalkedBatches {
  readonly batchCount: number
  readonly recordCount: number
  readonly bad: readonly BadBatches[]
}

/** @param base the position of the segment's offset 0
 * @param end offset behind its last batch */
export async function walkBatches(
  segment: ScannedSegment,
  base: number,
  end: number,
): Promise<WalkedBatches> {
  const { file, seed, header } = segment
  const checksumWith = batchChecksum(header.version)
  const bad: BadBatches[] = []
  let batchCount = 0
  let recordCount = 0
  let checkpoint = 0
  const isInBad = (offset: number): boolean => bad.some(({ from, to }) => offset >= from && offset < to)
  /** Counts batches that verify. @returns where the first begins that does not, or `to` */
  const scan = async (from: number, to: number): Promise<number> => {
    let start = from
    let checksum = 0
    let inBatch = 0
    await scanFrames(file, seed, from, to, (window, at, offsetBytes, bytes) => {
      if (kindAt(window, at) !== kinds.commit) {
        checksum = checksumWith(checksum, window, at, bytes)
        if (kindAt(window, at) === kinds.checkpoint) checkpoint = offsetBytes
        inBatch++
        return false
      }
      const commit = commitAt(window, at)
      const isLinked = start === segmentHeaderBytes || commit.previousEnd === base + start
      // A batch in a stretch without a valid frame cannot be found.
      if (isInBad(commit.checkpoint)) checkpoint = commit.checkpoint
      const namesNewest = commit.checkpoint === 0 || commit.checkpoint === checkpoint
      if (commit.checksum !== checksum || !isLinked || !namesNewest) return true
      batchCount++
      recordCount += inBatch
      start = offsetBytes + bytes
      checksum = 0
      inBatch = 0
      return false
    })
    return start
  }
  const addBad = (from: number, to: number, mayBeMore: boolean): void => {
    const before = bad.at(-1)?.to === from ? bad.pop() : undefined
    bad.push({
      from: before?.from ?? from,
      to,
      batchCountLeast: (before?.batchCountLeast ?? 0) + 1,
      mayBeMore: mayBeMore || before?.mayBeMore === true,
    })
  }
  let start = await scan(segmentHeaderBytes, end)
  while (start < end) {
    const commit = await nextCommit(segment, base, start, end)
    if (commit === undefined || commit.start < start) addBad(start, commit?.end ?? end, true)
    else {
      if (commit.start > start) addBad(start, commit.start, true)
      if ((await scan(commit.start, commit.end)) < commit.end) addBad(commit.start, commit.end, false)
    }
    start = commit?.end ?? end
  }
  return { batchCount, recordCount, bad }
}

/** The first commit frame behind an offset at which a batch begins, or may begin, whether its batch
 * verifies or not. */
export async function nextCommit(
  segment: ScannedSegment,
  base: number,
  from: number,
  end: number,
): Promise<FoundCommit | undefined> {
  for (let at = from + blockBytes; at <= end; at += blockBytes) {
    const commit = await commitEnding(segment, base, at)
    if (commit !== undefined) return commit
  }
  return undefined
}
