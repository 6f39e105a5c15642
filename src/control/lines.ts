/** Splits the chunks of a socket into lines. Pure.
 * Invariant: an unfinished line has at most `lineBytesMax` bytes. */
import { WaybillError } from '../errors.js'

const lineFeed = 10

export class LineSplitter {
  readonly #lineBytesMax: number
  #rest: Buffer[] = []
  #restBytes = 0

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax
  }

  /** The lines that the piece completes, without their ends.
   * @throws WaybillError OPTION_INVALID when one is too long */
  *take(piece: Buffer): Generator<string> {
    let from = 0
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, from)) {
      this.#keep(piece.subarray(from, end))
      yield Buffer.concat(this.#rest).toString()
      this.#rest = []
      this.#restBytes = 0
      from = end + 1
    }
    if (from < piece.length) this.#keep(piece.subarray(from))
  }

  #keep(bytes: Buffer): void {
    this.#rest.push(bytes)
    this.#restBytes += bytes.length
    if (this.#restBytes > this.#lineBytesMax)
      throw new WaybillError('OPTION_INVALID', `a line has at most ${this.#lineBytesMax} bytes`, {
        option: 'request',
      })
  }
}
