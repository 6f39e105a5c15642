/** Memory for bytes that never change again.
 * Invariant: each piece is written once, by the call that asked for it.
 * Why slabs: an ArrayBuffer for every page would cost more than the rest of a simulated write. */

const slabBytes = 1 << 18
let slab = Buffer.allocUnsafeSlow(slabBytes)
let used = 0

/** Room for `lengthBytes`; the caller fills it at once and then leaves it alone. */
export function room(lengthBytes: number): Buffer {
  if (lengthBytes > slabBytes >>> 2) return Buffer.allocUnsafeSlow(lengthBytes)
  if (used + lengthBytes > slabBytes) {
    slab = Buffer.allocUnsafeSlow(slabBytes)
    used = 0
  }
  const part = slab.subarray(used, used + lengthBytes)
  used += lengthBytes
  return part
}

/** A copy that later changes of `bytes` do not reach. */
export function ownCopy(bytes: Buffer): Buffer {
  const copy = room(bytes.length)
  bytes.copy(copy)
  return copy
}
