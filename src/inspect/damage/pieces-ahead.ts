/** Reads segments front to back: the next piece is read while this one is looked at.
 * Invariant: it fills what the file itself would fill, and reads nothing before the first offset
 * that is asked for, nor behind `end`. A piece may be older than the file: `forget` comes before a
 * second look. A piece that the disk refuses is read again by its reader.
 * Why: a walk stops wherever its output is full. Without pieces it read most bytes twice, and
 * waited for each read. */
import type { DiskFile } from '../../disk/disk.js'

/** Of a walk's window, too. */
export const pieceBytes: number = 256 * 1024
/** A window begins in one piece and ends in the next; the third one is being read. */
const piecesMax = 3

interface Piece {
  readonly segment: number
  /** Its offset in the segment. */
  readonly from: number
  /** Behind it: `from` of the next one. */
  readonly to: number
  readonly buffer: Buffer
  /** The bytes that the file had; undefined: the disk refused. */
  readonly length: Promise<number | undefined>
}

/** A segment as far as it is read. */
interface ReadSegment {
  readonly index: number
  readonly file: Pick<DiskFile, 'read'>
  /** Offset in it. */
  readonly end: number
}

export class PiecesAhead {
  /** In order of use: the first was used longest ago. */
  #pieces: Piece[] = []

  /** The segment as a file. */
  of(segment: ReadSegment): Pick<DiskFile, 'read'> {
    return { read: (into, offset) => this.#read(segment, into, offset) }
  }

  /** What is read from now on is as it is now. */
  forget(): void {
    this.#pieces = []
  }

  async #read(segment: ReadSegment, into: Buffer, offset: number): Promise<number> {
    let filled = 0
    while (filled < into.length) {
      const at = offset + filled
      const piece = this.#pieceWith(segment, at)
      if (piece.to < segment.end) this.#pieceWith(segment, piece.to)
      const length = await piece.length
      if (length === undefined) return segment.file.read(into, offset)
      const copied = piece.buffer.copy(into, filled, at - piece.from, length)
      if (copied === 0) break
      filled += copied
    }
    return filled
  }

  /** The known one, or one that is being read from now on. */
  #pieceWith(segment: ReadSegment, at: number): Piece {
    const pieces = this.#pieces
    const known = pieces.findIndex(
      ({ segment: index, from, to }) => index === segment.index && at >= from && at < to,
    )
    const piece = known < 0 ? this.#begun(segment, at) : pieces.splice(known, 1)[0]!
    pieces.push(piece)
    return piece
  }

  #begun({ index, file, end }: ReadSegment, from: number): Piece {
    const used = this.#pieces.length < piecesMax ? undefined : this.#pieces.shift()
    const buffer = used?.buffer ?? Buffer.allocUnsafeSlow(pieceBytes)
    const to = Math.min(from + pieceBytes, end)
    const read = async (): Promise<number> => {
      // Two reads into one buffer would mix.
      await used?.length
      return file.read(buffer.subarray(0, to - from), from)
    }
    return { segment: index, from, to, buffer, length: read().catch(() => undefined) }
  }
}
