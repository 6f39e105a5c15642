/** Octets are compared as octets, in whatever is compared: member by member, some megabytes take
 * half a minute.
 * Invariant: of two Buffers, and of nothing else, this says whether they are equal. */
import { expect } from 'vitest'

expect.addEqualityTesters([
  (a: unknown, b: unknown): boolean | undefined =>
    Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.equals(b) : undefined,
])
