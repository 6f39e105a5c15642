/** A piece of a log, read at once for frames that are asked for one after the other.
 * Why: deferred mail becomes due in the order of the log, and a trip through the thread pool for
 * each message would cost more than the rest of a retry.
 * Invariant: the piece may be older than the file, so a frame that does not verify in
 * it is no damage. */
import { nowhere, position, type Position } from '../base/position.js'

const pieceBytes = 128 * 1024

export interface Piece {
  readonly from: Position
  /** The bytes that the file had. */
  readonly bytes: Buffer
}

export class ReadAhead {
  #from: Position = nowhere
  #end: Position = nowhere
  #piece: Promise<Piece | undefined> | undefined
  /** Where the last requested frame ends. */
  #askedEnd: Position = nowhere

  /** A frame of about so many bytes is asked for.
   * @param segmentEnd what is read stays before it, @param read fills a buffer from the file, and
   * resolves with the bytes read
   * @returns a piece that may hold it; undefined: read the frame alone */
  ask(
    at: Position,
    bytes: number,
    segmentEnd: Position,
    read: (into: Buffer) => Promise<number>,
  ): Promise<Piece | undefined> | undefined {
    const isInOrder = at >= this.#askedEnd && at - this.#askedEnd < pieceBytes
    this.#askedEnd = position(at + bytes)
    if (at >= this.#from && at + bytes <= this.#end) return this.#piece
    return isInOrder && bytes <= pieceBytes / 2 ? this.#begin(at, segmentEnd, read) : undefined
  }

  forget(): void {
    this.#piece = undefined
    this.#end = nowhere
  }

  #begin(
    at: Position,
    segmentEnd: Position,
    read: (into: Buffer) => Promise<number>,
  ): Promise<Piece | undefined> {
    const into = Buffer.allocUnsafeSlow(Math.min(pieceBytes, segmentEnd - at))
    const piece = read(into).then(
      (length) => ({ from: at, bytes: into.subarray(0, length) }),
      () => {
        if (this.#piece === piece) this.forget()
        // The disk may refuse a block of the piece and still have the frame: the caller reads that
        // alone.
        return undefined
      },
    )
    this.#from = at
    this.#end = position(at + into.length)
    this.#piece = piece
    return piece
  }
}
