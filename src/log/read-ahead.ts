/** A piece of a log, read at once for frames that are asked for one after the other: deferred mail becomes due in the order in which it was
 * appended, and a trip through the thread pool for each message costs more than all else that a retry does.
 * Invariant: the piece may be older than what has been written there since, so what does not verify in it is no damage. */
import { nowhere, position, type Position } from '../base/position.js'

const pieceBytes = 128 * 1024

export interface Piece {
  readonly from: Position
  /** All of it that the file had. */
  readonly bytes: Buffer
}

export class ReadAhead {
  #from: Position = nowhere
  #end: Position = nowhere
  #piece: Promise<Piece | undefined> | undefined
  /** Where the frame ends that was asked for last. */
  #askedEnd: Position = nowhere

  /** A frame of about so many bytes is asked for.
   * @param segmentEnd what is read stays before it, @param read fills a buffer as far as the file goes, and says how far
   * @returns a piece that may hold it; undefined, at once or in the end: it is to be read alone */
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
        // A disk that refuses a block of it may have the frame: read alone, that comes, or tells what is wrong.
        return undefined
      },
    )
    this.#from = at
    this.#end = position(at + into.length)
    this.#piece = piece
    return piece
  }
}
