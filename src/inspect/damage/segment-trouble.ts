/** Checks the file of a segment: is it there, is it that segment, is it long enough?
 * Not its contents. */
import { nowhere, position, type Position } from '../../base/position.js'
import type { SegmentFiles } from '../../log/segment-files.js'
import { damageAt, findingOf, isDamage, type Finding } from './finding.js'

/** Indexes of the segments with a part of [floor, end). */
export function indexesOf({ grid }: SegmentFiles, floor: Position, end: Position): number[] {
  if (end === nowhere || floor >= end) return []
  const first = grid.indexOf(floor)
  // An end on the border of two segments is that of the first.
  const last = grid.indexOf(position(end - 1))
  if (end <= grid.firstOf(last)) return indexesBetween(first, last - 1)
  return indexesBetween(first, last)
}

const indexesBetween = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)

/** A segment of the journal has its full length before it gets its name.
 * @throws WaybillError LOG_CORRUPT, DISK_FAILED */
export async function sizeTrouble(
  files: SegmentFiles,
  index: number,
  lost: string,
): Promise<Finding | undefined> {
  const { segmentBytes } = files.grid
  const size = await files.with(index, ({ file }) => file.size())
  if (size === segmentBytes) return undefined
  const offsetBytes = Math.min(size, segmentBytes)
  const bytes = segmentBytes - offsetBytes
  const reason = bytes > 0 ? 'the segment is cut short' : 'the segment is longer than segments are'
  return { log: files.name, segment: index, offsetBytes, bytes, reason, lost }
}

/** A lane's segment grows with its contents. */
async function shortage(
  files: SegmentFiles,
  index: number,
  end: Position,
  lost: string,
): Promise<Finding | undefined> {
  const { grid } = files
  const base = grid.at(index, 0)
  const size = await files.with(index, ({ file }) => file.size())
  const neededBytes = Math.min(grid.segmentBytes, end - base)
  if (size >= neededBytes) return undefined
  return damageAt(files, position(base + size), neededBytes - size, 'the segment is cut short', lost)
}

/** @param end of the log's contents */
export async function segmentTrouble(
  files: SegmentFiles,
  index: number,
  end: Position,
  lost: string,
): Promise<Finding | undefined> {
  try {
    return files.name === 'journal'
      ? await sizeTrouble(files, index, lost)
      : await shortage(files, index, end, lost)
  } catch (error) {
    if (!isDamage(error)) throw error
    return findingOf(error, files.placeOf(files.grid.at(index, 0)), lost)
  } finally {
    await files.forget(index)
  }
}
