/** Lines of a stream of bytes.
 * Invariant: at most `lineBytesMax` bytes of a line are held. The others of a longer one are read,
 * and dropped.
 * Why not readline: it holds a line of any length, replaces what is no UTF-8, and ends a line at
 * U+2028, which a string in JSON may have. */

const lineFeed = 10

/** Without the line feeds. @returns undefined for a longer line, as soon as that is known */
export async function* byteLines(
  pieces: AsyncIterable<Buffer>,
  lineBytesMax: number,
): AsyncGenerator<Buffer | undefined> {
  let held: Buffer[] = []
  let heldBytes = 0
  let isLong = false
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length;) {
      const end = piece.indexOf(lineFeed, from)
      const part = piece.subarray(from, end < 0 ? piece.length : end)
      from += part.length + 1
      heldBytes += part.length
      if (!isLong && heldBytes > lineBytesMax) {
        isLong = true
        held = []
        yield undefined
      }
      if (!isLong) held.push(part)
      if (end < 0) continue
      if (!isLong) yield Buffer.concat(held)
      held = []
      heldBytes = 0
      isLong = false
    }
  }
  if (!isLong && heldBytes > 0) yield Buffer.concat(held)
}
