/** Reads the valid frames of a log, over damage: behind an invalid frame it looks for the next
 * valid one.
 * Invariant: a found frame belongs to its place, because the checksum covers log, position and
 * the file's epoch. */
import { position, type Position } from '../../base/position.js'
import type { DiskFile } from '../../disk/disk.js'
import type { PositionVisitor, SegmentFiles } from '../../log/segment-files.js'
import { scanFrames } from '../../log/segment-scan.js'
import { frameBytesAt, frameHeaderBytes, isKindAt, verifyFrame } from '../../record/frame.js'
import { isDamage, reasonOf } from './finding.js'
import type { PiecesAhead } from './pieces-ahead.js'

/** A stretch that does not verify. */
export interface Gap {
  readonly from: Position
  /** The next valid frame, or the end. */
  readonly to: Position
  readonly reason: string
}

export interface Stretch {
  readonly from: Position
  readonly end: Position
  /** Where the content of a segment before the last one ends. */
  readonly endOf: (index: number) => Promise<Position>
  readonly visit: PositionVisitor
  /** What each read fills; default: a new one. */
  readonly window?: Buffer
  /** Default: every read is one of the file. */
  readonly ahead?: PiecesAhead
  /** @returns where to continue: `gap.to`, or further if the frames between are of no
   * interest any more */
  readonly onGap: (gap: Gap) => Promise<Position> | Position
}

/** Of a read: a listing is a tenth faster than with pieces of 64 KiB. */
export const windowBytes: number = 512 * 1024
/** Bound of the bytes checked in search of one frame; then the rest of the segment counts as
 * lost. */
const searchBytesMax = 256 * 1024 * 1024

/** Visits the frames in [from, end) that verify, until the visitor returns true. Resolves with
 * where it stopped. */
export async function readSurviving(files: SegmentFiles, stretch: Stretch): Promise<Position> {
  const { grid } = files
  const { end, visit, onGap } = stretch
  let at = stretch.from
  let stopped = false
  while (at < end && !stopped) {
    const index = grid.indexOf(at)
    const lastIndex = grid.indexOf(position(end - 1))
    const base = grid.at(index, 0)
    at = position(Math.max(at, grid.firstOf(index)))
    const segmentEnd = index === lastIndex ? end : await stretch.endOf(index)
    if (at >= segmentEnd) {
      if (index === lastIndex) break
      at = grid.firstOf(index + 1)
      continue
    }
    let gap: Gap | undefined
    try {
      const from = at
      at = await files.with(index, async ({ file, seed }) => {
        const offset = await scanFrames(
          stretch.ahead?.of({ index, file, end: segmentEnd - base }) ?? file,
          seed,
          from - base,
          segmentEnd - base,
          (window, windowAt, offsetBytes, bytes) => {
            stopped = visit(window, windowAt, position(base + offsetBytes), bytes) === true
            return stopped
          },
          stretch.window ?? Buffer.allocUnsafe(Math.min(windowBytes, segmentEnd - from)),
        )
        const reached = position(base + offset)
        if (reached < segmentEnd && !stopped) {
          const next = await nextFrame(file, seed, offset, segmentEnd - base)
          gap = { from: reached, to: position(base + next), reason: 'a frame does not verify' }
        }
        return reached
      })
    } catch (error) {
      if (!isDamage(error)) throw error
      gap = { from: at, to: segmentEnd, reason: reasonOf(error) }
    }
    if (gap !== undefined) at = position(Math.max(await onGap(gap), at))
    else if (!stopped && at < segmentEnd) at = segmentEnd
  }
  return at
}

/** Offset of the next valid frame behind a bad one, or `end`. Frames begin on multiples of 8. */
async function nextFrame(
  file: Pick<DiskFile, 'read'>,
  seed: number,
  bad: number,
  end: number,
): Promise<number> {
  let budget = searchBytesMax
  let window = Buffer.allocUnsafe(Math.min(windowBytes, Math.max(end - bad, 0)))
  let base = bad + 8
  while (base + frameHeaderBytes <= end) {
    const length = await file.read(window.subarray(0, Math.min(window.length, end - base)), base)
    if (length < frameHeaderBytes) return end
    let at = 0
    for (; at + frameHeaderBytes <= length; at += 8) {
      if (!isKindAt(window, at)) continue
      const bytes = frameBytesAt(window, at)
      if (base + at + bytes > end || bytes > budget) continue
      if (at + bytes > length) {
        budget -= bytes
        const whole = Buffer.allocUnsafe(bytes)
        const read = await file.read(whole, base + at)
        if (verifyFrame(whole, 0, read, seed ^ (base + at)) > 0) return base + at
        continue
      }
      budget -= bytes
      if (verifyFrame(window, at, length, seed ^ (base + at)) > 0) return base + at
    }
    base += at
    if (window.length < windowBytes) window = Buffer.allocUnsafe(windowBytes)
  }
  return end
}
