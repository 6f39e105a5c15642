/** Reads the journal from a position to a durable end, over segment borders. The first commit of a
 * segment names the end of the one before, so bytes that a recovery cut never come back. */
import type { Position } from '../base/position.js'
import type { PositionVisitor, SegmentFiles } from './segment-files.js'
import { firstCommit } from './segment-scan.js'

export class JournalReader {
  readonly #files: SegmentFiles
  readonly #ends = new Map<number, Position>()

  constructor(files: SegmentFiles) {
    this.#files = files
  }

  /** Visits the frames in [from, end); see SegmentFiles.read.
   * @param end durable, and the end of a batch or of a frame */
  read(from: Position, end: Position, visit: PositionVisitor, window?: Buffer): Promise<Position> {
    return this.#files.read(from, end, (index) => this.#endOf(index), visit, window)
  }

  forget(index: number): Promise<void> {
    this.#ends.delete(index)
    return this.#files.forget(index)
  }

  async #endOf(index: number): Promise<Position> {
    const known = this.#ends.get(index)
    if (known !== undefined) return known
    const { grid } = this.#files
    const first = await this.#files.with(index + 1, (segment) =>
      firstCommit(segment, grid.at(index + 1, 0), grid.segmentBytes),
    )
    if (first === undefined)
      throw this.#files.corrupt(grid.firstOf(index + 1), 'the first batch does not verify')
    this.#ends.set(index, first.previousEnd)
    return first.previousEnd
  }
}
