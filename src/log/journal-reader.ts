/** Reads the journal from a position to a durable end, over segment borders. Where a segment's content ends is said by the first
 * commit of the next one, which names it; so what a recovery cut can never come back. */
import { type Position } from '../base/position.js'
import type { SegmentFiles } from './segment-files.js'
import { scanBatches, type FrameVisitor } from './segment-scan.js'

export class JournalReader {
  readonly #files: SegmentFiles
  readonly #ends = new Map<number, Position>()

  constructor(files: SegmentFiles) {
    this.#files = files
  }

  /** Visits the frames in [from, end) until the visitor returns true. Resolves with the position behind the last frame that it
   * saw, at the border of a segment with the first position of the next.
   * @param end durable, and the end of a batch or of a frame
   * @throws WaybillError LOG_CORRUPT when a frame before `end` does not verify */
  async read(from: Position, end: Position, visit: FrameVisitor): Promise<Position> {
    const { grid } = this.#files
    let at = from
    let stopped = false
    const watch: FrameVisitor = (window, offset, offsetBytes, bytes) => {
      stopped = visit(window, offset, offsetBytes, bytes) === true
      return stopped
    }
    while (at < end && !stopped) {
      const index = grid.indexOf(at)
      const segmentEnd = index === grid.indexOf(end) ? end : await this.#endOf(index)
      if (at < segmentEnd) {
        const reached = await this.#files.scan(at, segmentEnd, watch)
        if (reached < segmentEnd && !stopped) throw this.#files.corrupt(reached, 'a frame does not verify')
        at = reached
      }
      if (at >= segmentEnd && index < grid.indexOf(end)) at = grid.firstOf(index + 1)
    }
    return at
  }

  forget(index: number): Promise<void> {
    this.#ends.delete(index)
    return this.#files.forget(index)
  }

  async #endOf(index: number): Promise<Position> {
    const known = this.#ends.get(index)
    if (known !== undefined) return known
    const { grid } = this.#files
    const { first } = await this.#files.with(index + 1, ({ file, seed }) =>
      scanBatches(file, seed, grid.segmentBytes, () => undefined, 1),
    )
    if (first === undefined)
      throw this.#files.corrupt(grid.firstOf(index + 1), 'the first batch does not verify')
    this.#ends.set(index, first.previousEnd)
    return first.previousEnd
  }
}
