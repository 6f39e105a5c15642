/** Checks the data of a submission, piece by piece. */
import { WaybillError } from '../../errors.js'

/** RFC 5321 §4.5.3.1.6: 1000 octets with CRLF. */
const lineBytesMax = 998
const lineFeed = 10
const carriageReturn = 13

/** Refuses what SMTP cannot carry, piece by piece.
 * @throws WaybillError MESSAGE_TOO_LARGE, NUL_IN_DATA, LINE_TOO_LONG */
export class DataCheck {
  readonly #bytesMax: number
  readonly #longLines: boolean
  #bytes = 0
  /** Of the line that is not ended yet, its CR included. */
  #lineBytes = 0
  #lastByte = 0

  /** @param longLines lines may have any length */
  constructor(bytesMax: number, longLines: boolean) {
    this.#bytesMax = bytesMax
    this.#longLines = longLines
  }

  get bytes(): number {
    return this.#bytes
  }

  add(piece: Buffer): void {
    const before = this.#bytes
    this.#bytes += piece.length
    if (this.#bytes > this.#bytesMax)
      throw new WaybillError('MESSAGE_TOO_LARGE', `the message is larger than ${this.#bytesMax} bytes`)
    const nul = piece.indexOf(0)
    if (nul >= 0)
      throw new WaybillError('NUL_IN_DATA', 'the message has a NUL', { offsetBytes: before + nul })
    if (piece.length === 0 || this.#longLines) return
    this.#checkLines(piece, before)
    this.#lastByte = piece[piece.length - 1]!
  }

  /** The data ends here. @throws WaybillError LINE_TOO_LONG */
  end(): void {
    const isCut = this.#lastByte === carriageReturn
    if (this.#lineBytes - (isCut ? 1 : 0) > lineBytesMax)
      throw new WaybillError('LINE_TOO_LONG', `the last line is longer than ${lineBytesMax} octets`, {
        offsetBytes: this.#bytes - this.#lineBytes,
      })
  }

  /** Jumps to the last line end within what one line may have, so that a thousand bytes
   * cost one search. */
  #checkLines(piece: Buffer, before: number): void {
    let at = 0
    // A line end may stand one byte behind the bound, if a CR stands on it.
    while (this.#lineBytes + piece.length - at > lineBytesMax + 1) {
      const reach = at + lineBytesMax + 1 - this.#lineBytes
      const end = reach < at ? -1 : piece.lastIndexOf(lineFeed, reach)
      if (end < at || (end === reach && this.#isLong(piece, at, end)))
        throw new WaybillError('LINE_TOO_LONG', `a line is longer than ${lineBytesMax} octets`, {
          offsetBytes: before + at - this.#lineBytes,
        })
      this.#lineBytes = 0
      at = end + 1
    }
    const last = piece.lastIndexOf(lineFeed)
    this.#lineBytes = last < at ? this.#lineBytes + piece.length - at : piece.length - last - 1
  }

  /** The line end at `end` stands just behind the bound: is what it ends one line, without a CR? */
  #isLong(piece: Buffer, at: number, end: number): boolean {
    if (end > at && piece.lastIndexOf(lineFeed, end - 1) >= at) return false
    return (end > 0 ? piece[end - 1] : this.#lastByte) !== carriageReturn
  }
}
