/** Reads the frames of one segment in windows, verifying each. What it visits is valid; what does not verify is left to the
 * caller, who knows whether the end of what was written may be here. */
import type { Position } from '../base/position.js'
import type { DiskFile } from '../disk/disk.js'
import { frameBytesAt, frameHeaderBytes, kindAt, kinds, verifyFrame } from '../record/frame.js'
import { batchChecksum, commitAt, commitEndingAt } from './commit-frame.js'
import { blockBytes, segmentHeaderBytes, type ReadSegmentHeader } from './segment.js'

const windowBytes = 256 * 1024

/** What lies behind the end of a log is read in long pieces, several at a time: one after the other, the two segments that a start
 * looks through cost it 90 ms, and twice that when they are not in memory. */
const searchBytes = 1024 * 1024
const searchersMax = 4

/** @returns true to stop behind this frame */
export type FrameVisitor = (window: Buffer, at: number, offsetBytes: number, bytes: number) => boolean | void

/** Visits valid frames from `offset` on. Resolves with the offset at which it stopped: `end`, the first frame that
 * does not verify, or behind the one at which the visitor stopped.
 * @param file anything that can be read by position */
export async function scanFrames(
  file: Pick<DiskFile, 'read'>,
  seed: number,
  offset: number,
  end: number,
  visit: FrameVisitor,
): Promise<number> {
  let window = Buffer.allocUnsafe(Math.min(windowBytes, Math.max(end - offset, 0)))
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
      // A frame longer than the window, or one whose length is nonsense: a window of that length decides. One that would have fitted
      // the window and was not read whole stands at the end of a file that was cut.
      const bytes = length < frameHeaderBytes ? 0 : frameBytesAt(window, 0)
      if (bytes <= window.length || offset + bytes > end) return offset
      window = Buffer.allocUnsafe(bytes)
    }
  }
  return offset
}

/** A batch whose commit counts: the whole of it verifies. Offsets in the segment. */
export interface CountedBatch {
  readonly start: number
  readonly end: number
  readonly previousEnd: Position
}

export interface BatchScan {
  /** The last batch before the first byte that does not count; undefined when the first batch does not. */
  readonly last: CountedBatch | undefined
  readonly first: CountedBatch | undefined
}

/** A segment as far as scanning needs it. */
export interface ScannedSegment {
  readonly file: Pick<DiskFile, 'read'>
  readonly seed: number
  readonly header: Pick<ReadSegmentHeader, 'version'>
}

/** Walks the batches from the first on, as far as their commits count.
 * @param visit sees every frame of every batch, also of one that turns out not to count
 * @param batchCountMax stop behind so many */
export async function scanBatches(
  { file, seed, header }: ScannedSegment,
  end: number,
  visit: (window: Buffer, at: number, offsetBytes: number, bytes: number) => void,
  batchCountMax: number = Infinity,
): Promise<BatchScan> {
  let first: CountedBatch | undefined
  let last: CountedBatch | undefined
  let count = 0
  let start = segmentHeaderBytes
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
    last = { start, end: offsetBytes + bytes, previousEnd: commit.previousEnd }
    first ??= last
    start = last.end
    checksum = 0
    return ++count >= batchCountMax
  })
  return { first, last }
}

/** Does a commit count somewhere behind `offset`, whose batch began behind it? Batch N+1 is written only after batch N was synced, so
 * then what does not verify at `offset` had been durable: corruption, not a torn tail.
 * @param base the position of the segment's offset 0 */
export async function countsBehind(
  segment: ScannedSegment,
  base: number,
  offset: number,
  end: number,
): Promise<number | undefined> {
  const { file, seed } = segment
  const overlap = 2 * blockBytes
  let next = Math.floor(offset / blockBytes) * blockBytes
  let found = Infinity
  const search = async (): Promise<void> => {
    const window = Buffer.allocUnsafeSlow(Math.min(searchBytes, end - next))
    while (next < end && found === Infinity) {
      const from = next
      next += searchBytes - overlap
      const length = await file.read(window.subarray(0, Math.min(searchBytes, end - from)), from)
      for (let block = blockBytes; block <= length; block += blockBytes) {
        const at = commitEndingAt(window, block, from, seed)
        if (at < 0) continue
        const start = commitAt(window, at).previousEnd - base
        if (start <= offset || start >= from + at) continue
        if (await isWhole(segment, start, from + block)) found = Math.min(found, start)
      }
    }
  }
  const searchers: Promise<void>[] = []
  while (searchers.length < searchersMax && next < end) searchers.push(search())
  try {
    await Promise.all(searchers)
  } catch (error) {
    // The others read no further: the file is about to be closed.
    next = end
    throw error
  }
  return found === Infinity ? undefined : found
}

async function isWhole({ file, seed, header }: ScannedSegment, start: number, end: number): Promise<boolean> {
  const checksumWith = batchChecksum(header.version)
  let checksum = 0
  let counts = false
  const stopped = await scanFrames(file, seed, start, end, (window, at, offsetBytes, bytes) => {
    if (kindAt(window, at) === kinds.commit) {
      counts = offsetBytes + bytes === end && commitAt(window, at).checksum === checksum
      return true
    }
    checksum = checksumWith(checksum, window, at, bytes)
    return false
  })
  return counts && stopped === end
}
