/** Writes as extents, and extents as what is read.
 * Invariant: what is read back is what was written, byte for byte, zeroes included.
 * Why: a batch of the journal is padded to a block, and a store would write each zero into its
 * log and both its copies. So zeroes at an end are not stored, nor a long run of them inside. */
import type { Extent } from './store.js'

/** A run of zeroes that is worth an extent less than it. */
const zeroRunBytesMin = 1024

/** Between two extents lie the zeroes. None: the bytes are all zeroes. */
export function extentsOf(bytes: Buffer, position: number): Extent[] {
  const used = usedBytes(bytes)
  if (used === 0) return []
  const upto = position + bytes.length
  const gap = longestGap(bytes, used)
  if (gap === undefined) return [{ at: position, upto, bytes: bytes.subarray(0, used) }]
  const after = position + gap.upto
  return [
    { at: position, upto: after, bytes: bytes.subarray(0, gap.from) },
    { at: after, upto, bytes: bytes.subarray(gap.upto, used) },
  ]
}

/** Without the zeroes at the end. */
function usedBytes(bytes: Buffer): number {
  let used = bytes.length
  while (used >= 8 && bytes.readInt32LE(used - 4) === 0 && bytes.readInt32LE(used - 8) === 0) used -= 8
  while (used > 0 && bytes[used - 1] === 0) used--
  return used
}

const zeroes = Buffer.alloc(zeroRunBytesMin)

/** The last run of zeroes that is long enough: a batch has its padding before the frame that
 * ends it. */
function longestGap(bytes: Buffer, used: number): { from: number; upto: number } | undefined {
  const at = bytes.subarray(0, used).lastIndexOf(zeroes)
  if (at <= 0) return undefined
  let from = at
  while (from > 0 && bytes[from - 1] === 0) from--
  let upto = at + zeroRunBytesMin
  while (bytes[upto] === 0) upto++
  return from === 0 ? undefined : { from, upto }
}

/** Fills `into`, which begins at `position`, from extents. Bytes that none covers become zeroes. */
export function fill(into: Buffer, position: number, extents: readonly Extent[]): void {
  into.fill(0)
  for (const { at, bytes } of extents) {
    const from = Math.max(at, position)
    const upto = Math.min(at + bytes.length, position + into.length)
    if (from < upto) bytes.copy(into, from - position, from - at, upto - at)
  }
}
