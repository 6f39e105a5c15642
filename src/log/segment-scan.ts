/** Reads the frames of one segment in windows, verifying each.
 * Invariant: every visited frame is valid. The caller decides what an invalid one means: damage, or
 * the end of what was written. */
import type { DiskFile } from '../disk/disk.js'
import {
  frameBytesAt,
  frameHeaderBytes,
  isKindAt,
  kindAt,
  timeAt,
  kinds,
  verifyFrame,
} from '../record/frame.js'
import { batchChecksum, commitAt, commitEndingAt, type Commit } from './commit-frame.js'
import { blockBytes, segmentHeaderBytes, type ReadSegmentHeader } from './segment.js'

/** Short, because recovery reads while mail is accepted: in a new process, whose code is not
 * compiled yet, four times as much delayed the first submission by 30 ms instead of 10. */
const windowBytesDefault = 64 * 1024

/** The search for the last commit reads long pieces, several at a time: one after the other, the
 * two segments of a start took 90 ms, and twice that when they were not in memory. */
const searchBytes = 256 * 1024
const searchersMax = 4

/** @returns true to stop behind this frame */
export type FrameVisitor = (window: Buffer, at: number, offsetBytes: number, bytes: number) => boolean | void

/** Visits valid frames from `offset` on. Resolves with the offset at which it stopped: `end`, the
 * first frame that does not verify, or behind the one at which the visitor stopped.
 * @param file anything that can be read by position
 * @param into what each read fills; a longer frame is read whole */
export async function scanFrames(
  file: Pick<DiskFile, 'read'>,
  seed: number,
  offset: number,
  end: number,
  visit: FrameVisitor,
  into: Buffer = Buffer.allocUnsafe(Math.min(windowBytesDefault, Math.max(end - offset, 0))),
): Promise<number> {
  let window = into
  while (offset < end) {
    const wanted = Math.min(window.length, end - offset)
    const length = await file.read(window.subarray(0, wanted), offset)
    let at = 0
    while (at + frameHeaderBytes <= length) {
      const bytes = frameBytesAt(window, at)
      if (at + bytes > length) break
      if (verifyFrame(window, at, length, seed ^ (offset + at)) === 0) return offset + at
      const stop = visit(window, at, offset + at, bytes)
      at += bytes
      if (stop === true) return offset + at
    }
    if (at > 0) offset += at
    else {
      // A frame longer than the window, or with a wrong length: a window of that length decides. A
      // frame that would fit the window but was not read whole stands at the end of a cut file.
      const bytes = length < frameHeaderBytes || !isKindAt(window, 0) ? 0 : frameBytesAt(window, 0)
      if (bytes <= window.length || offset + bytes > end) return offset
      window = Buffer.allocUnsafe(bytes)
    }
  }
  return offset
}

/** A commit frame that verifies, whether its batch does or not. Offsets in the segment. */
export interface FoundCommit extends Commit {
  readonly start: number
  readonly end: number
  /** When the batch was sealed, milliseconds since 1970. */
  readonly timeMs: number
}

export interface BatchScan {
  /** The commit of the last batch before the first byte that does not count; undefined when the
   * first batch does not. */
  readonly last: FoundCommit | undefined
  readonly first: FoundCommit | undefined
}

/** A segment as far as scanning needs it. */
export interface ScannedSegment {
  readonly file: Pick<DiskFile, 'read'>
  readonly seed: number
  readonly header: Pick<ReadSegmentHeader, 'version'>
}

/** Walks the batches from the first on, as far as their commits count.
 * @param visit sees every frame of every batch, also of a batch that does not count
 * @param batchCountMax stop behind so many
 * @param from where a batch begins; default: the segment's first */
export async function scanBatches(
  { file, seed, header }: ScannedSegment,
  end: number,
  visit: (window: Buffer, at: number, offsetBytes: number, bytes: number) => void,
  batchCountMax: number = Infinity,
  from: number = segmentHeaderBytes,
): Promise<BatchScan> {
  let first: FoundCommit | undefined
  let last: FoundCommit | undefined
  let count = 0
  let start = from
  const checksumWith = batchChecksum(header.version)
  let checksum = 0
  await scanFrames(file, seed, start, end, (window, at, offsetBytes, bytes) => {
    if (kindAt(window, at) !== kinds.commit) {
      checksum = checksumWith(checksum, window, at, bytes)
      visit(window, at, offsetBytes, bytes)
      return false
    }
    const commit = commitAt(window, at)
    if (commit.checksum !== checksum) return true
    last = { ...commit, start, end: offsetBytes + bytes, timeMs: timeAt(window, at) }
    first ??= last
    start = last.end
    checksum = 0
    return ++count >= batchCountMax
  })
  return { first, last }
}

/** The last commit frame of a segment that verifies; undefined when there is none. The search goes
 * down from the end.
 * @param base the position of the segment's offset 0
 * @param segmentBytes how far frames can reach */
export async function lastCommit(
  { file, seed }: ScannedSegment,
  base: number,
  segmentBytes: number,
): Promise<FoundCommit | undefined> {
  const overlap = 2 * blockBytes
  let next = segmentBytes
  let found: FoundCommit | undefined
  // Windows above the one with a find were begun before it, and may end after it.
  const keep = (commit: FoundCommit): void => {
    if (found === undefined || commit.end > found.end) found = commit
  }
  const search = async (): Promise<void> => {
    const window = Buffer.allocUnsafeSlow(Math.min(searchBytes, segmentBytes))
    while (next > segmentHeaderBytes && found === undefined) {
      const to = next
      const from = Math.max(0, to - searchBytes)
      next = from === 0 ? 0 : from + overlap
      const length = await file.read(window.subarray(0, to - from), from)
      for (let end = length - (length % blockBytes); end > 0; end -= blockBytes) {
        const at = commitEndingAt(window, end, from, seed)
        if (at < 0) continue
        keep(foundAt(window, at, base, from + end))
        break
      }
    }
  }
  const searchers: Promise<void>[] = []
  while (searchers.length < searchersMax && next > segmentHeaderBytes) searchers.push(search())
  try {
    await Promise.all(searchers)
  } catch (error) {
    // The other reads stop: the file is about to be closed.
    next = 0
    throw error
  }
  return found
}

/** The commit of a segment's first batch, even if the batch does not verify: no other commit names
 * an end in another segment. @param base as for `lastCommit` */
export async function firstCommit(
  segment: ScannedSegment,
  base: number,
  segmentBytes: number,
): Promise<FoundCommit | undefined> {
  const { first } = await scanBatches(segment, segmentBytes, () => undefined, 1)
  let found = first
  for (let end = segmentHeaderBytes; found === undefined && end <= segmentBytes; end += blockBytes)
    found = await commitEnding(segment, base, end)
  return found !== undefined && found.previousEnd <= base ? found : undefined
}

/** The commit frame that ends at an offset; undefined when none that verifies does. */
export async function commitEnding(
  { file, seed }: ScannedSegment,
  base: number,
  end: number,
): Promise<FoundCommit | undefined> {
  const from = Math.max(0, end - 2 * blockBytes)
  const window = Buffer.allocUnsafe(end - from)
  if ((await file.read(window, from)) < window.length) return undefined
  const at = commitEndingAt(window, window.length, from, seed)
  return at < 0 ? undefined : foundAt(window, at, base, end)
}

function foundAt(window: Buffer, at: number, base: number, end: number): FoundCommit {
  const commit = commitAt(window, at)
  // The batch before the first of a segment ended in another one, at the latest where this one
  // begins.
  const start = Math.max(segmentHeaderBytes, commit.previousEnd - base)
  return { ...commit, start, end, timeMs: timeAt(window, at) }
}

/** Does the batch of a commit verify, every frame of it? */
export async function isWhole(
  segment: ScannedSegment,
  { start, end }: Pick<FoundCommit, 'start' | 'end'>,
): Promise<boolean> {
  const { last } = await scanBatches(segment, end, () => undefined, 1, start)
  return last?.end === end
}
