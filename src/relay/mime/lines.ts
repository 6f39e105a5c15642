/** Splits data into lines, piece by piece.
 * Invariant: CR, LF and CR LF each end a line, because each leaves as CR LF. A line is handed out
 * in chunks of at most `chunkBytesMax`, so a line of any length needs no more memory. */

const LF = 0x0a
const CR = 0x0d

/** Longer than any boundary and any line of RFC 5322. */
const chunkBytesMax = 2048

export interface LineChunk {
  /** Without what ends the line. */
  readonly octets: Buffer
  readonly isStart: boolean
  readonly isEnd: boolean
}

const nothing: Buffer = Buffer.alloc(0)

export class Lines {
  #held: Buffer = nothing
  #isStart = true
  #isBehindCr = false

  push(piece: Buffer): LineChunk[] {
    const chunks: LineChunk[] = []
    let from = 0
    for (let at = 0; at < piece.length; at++) {
      const octet = piece[at]!
      const isSecondHalf = octet === LF && this.#isBehindCr
      this.#isBehindCr = octet === CR
      if (isSecondHalf) from = at + 1
      else if (octet === LF || octet === CR) {
        chunks.push(this.#chunk(piece.subarray(from, at), true))
        from = at + 1
      } else if (this.#held.length + at - from >= chunkBytesMax) {
        chunks.push(this.#chunk(piece.subarray(from, at), false))
        from = at
      }
    }
    this.#held = Buffer.concat([this.#held, piece.subarray(from)])
    return chunks
  }

  /** What stands behind the last end of a line. */
  end(): LineChunk[] {
    return this.#held.length > 0 || !this.#isStart ? [this.#chunk(nothing, true)] : []
  }

  #chunk(rest: Buffer, isEnd: boolean): LineChunk {
    const octets = this.#held.length === 0 ? rest : Buffer.concat([this.#held, rest])
    const isStart = this.#isStart
    this.#held = nothing
    this.#isStart = isEnd
    return { octets, isStart, isEnd }
  }
}
