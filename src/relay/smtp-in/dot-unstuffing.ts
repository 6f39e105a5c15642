/** Removes the dots that a client doubled at the beginning of lines, and the one that ends the data
 * (RFC 5321 §4.5.2). Of several CRs before an LF one stays.
 * Invariant: where commands end with CR LF, the octets `CR LF . CR LF` alone end the data, whatever
 * pieces it comes in; a bare LF ends nothing (smuggling). A piece is gone through once and becomes
 * one piece: a line that begins with a dot costs what another one costs. */

const dot = 0x2e
const cr = 0x0d
const lf = 0x0a

/** Octets whose fate the next piece decides. */
const heldBytesMax = 4
const lineWithDot = Buffer.from('\n.')
/** Behind such a line the next one is looked for octet by octet: a call costs as much as a line's
 * octets, and lines that are a dot each would cost a dozen times as much. */
const nearBytes = 256
/** Shorter runs are copied octet by octet, which is faster than a call. */
const shortRunBytes = 48

export interface Unstuffed {
  /** What is data for certain, without the doubled dots. */
  readonly content: Buffer
  /** Where the line with the final dot ends, behind its CR LF; undefined: it is not here. */
  readonly end: number | undefined
  /** What stands before the next piece when it is looked at. */
  readonly held: Buffer
}

/** Nothing is held of a piece that ends within a line, as most do: the next one then needs no copy.
 * @param piece with what was held of the one before in front of it. Where nothing was held, its
 * first octet stands within a line, or begins the data and has been looked at */
export function unstuffed(piece: Buffer): Unstuffed {
  const { length } = piece
  let kept: Buffer | undefined
  let keptBytes = 0
  let from = 0
  const keepUpTo = (end: number): void => {
    kept ??= Buffer.allocUnsafe(length)
    if (end - from > shortRunBytes) keptBytes += piece.copy(kept, keptBytes, from, end)
    else for (let i = from; i < end; i++) kept[keptBytes++] = piece[i]!
  }
  const contentUpTo = (end: number): Buffer => {
    if (kept === undefined) return piece.subarray(0, end)
    keepUpTo(end)
    return kept.subarray(0, keptBytes)
  }
  let nearUntil = 0
  for (let i = 1; i < length - 2; i++) {
    if (i >= nearUntil) {
      const at = piece.indexOf(lineWithDot, i - 1)
      if (at < 0 || at >= length - 3) break
      i = at + 1
    } else if (piece[i] !== dot || piece[i - 1] !== lf) continue
    nearUntil = i + nearBytes
    if (piece[i + 1] === dot) {
      keepUpTo(i)
      from = ++i
    } else if (piece[i - 2] === cr && piece[i + 1] === cr && piece[i + 2] === lf)
      return { content: contentUpTo(i), end: i + 3, held: Buffer.alloc(0) }
  }
  const last = piece[length - 1]
  const isCut = last === cr || last === lf || last === dot
  const heldFrom = isCut ? Math.max(from, length - heldBytesMax) : length
  return { content: contentUpTo(heldFrom), end: undefined, held: piece.subarray(heldFrom) }
}

/** The same for a client that never sent a CR: `nc`, and scripts that write to `sendmail -bs`. A
 * line that is a dot ends its data, and all its lines get their CR. Nothing can be smuggled through
 * it: a server that passes mail of others on ends its commands with CR LF.
 * @returns what takes the pieces of one message, in their order; it holds nothing of them */
export function lineUnstuffing(): (piece: Buffer) => Unstuffed {
  /** What was read of a line that may still be the last one. */
  let begun: '' | '.' | '.\r' | undefined = ''
  let last = 0
  return (piece) => {
    const kept = Buffer.allocUnsafe(2 * piece.length + heldBytesMax)
    let keptBytes = 0
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i]!
      if (begun === '' && byte === dot) begun = '.'
      else if (begun === '.' && byte === cr) begun = '.\r'
      else if (begun && byte === lf)
        return { content: kept.subarray(0, keptBytes), end: i + 1, held: Buffer.alloc(0) }
      else {
        // Of two dots one is kept.
        const isDoubled = begun === '.' && byte === dot
        if (begun && !isDoubled) keptBytes += kept.write(begun, keptBytes, 'latin1')
        if (byte === lf && last !== cr) kept[keptBytes++] = cr
        kept[keptBytes++] = byte
        begun = byte === lf ? '' : undefined
      }
      last = byte
    }
    return { content: kept.subarray(0, keptBytes), end: undefined, held: Buffer.alloc(0) }
  }
}

/** A run of CRs whose end has not come is held so far. */
const crCountMax = 256
const twoCrs = Buffer.from('\r\r')

/** Makes one line end of an LF and all CRs before it, once the end of the data has been found:
 *    1. a program writes CR LF, and a library below it makes CR LF of each LF
 *    2. each line ends with CR CR LF, and each CR leaves as a line end
 *    3. the header ends behind its first field
 * @see Postfix smtp_get, which does the same */
export class LineEnds {
  /** At the end of the pieces so far. None are left at the end of the data, which is an LF. */
  #crCount = 0

  /** @param piece of one message, in its order; it is handed back if nothing changes */
  of(piece: Buffer): Buffer {
    if (this.#crCount === 0 && piece.at(-1) !== cr && !piece.includes(twoCrs)) return piece
    const kept = Buffer.allocUnsafe(this.#crCount + piece.length)
    let length = 0
    for (const octet of piece) {
      if (octet === cr && this.#crCount < crCountMax) {
        this.#crCount++
        continue
      }
      const crCount = octet === lf ? Math.min(1, this.#crCount) : this.#crCount
      // A call of fill() for each octet takes four times as long.
      for (let i = 0; i < crCount; i++) kept[length++] = cr
      this.#crCount = octet === cr ? 1 : 0
      if (octet !== cr) kept[length++] = octet
    }
    return kept.subarray(0, length)
  }
}
