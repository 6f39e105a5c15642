/** Room in the journal for groups that are on their way and cannot wait: the outcomes of attempts.
 * Invariant: each reserved group has room, even as a whole batch, with the checkpoint that may
 * follow. Reservations beyond a segment have one more segment, not two: the limit is 2000 attempts
 * under way with segments of 16 MiB.
 *    1. the disk is nearly full; an attempt begins, and its outcome has room
 *    2. finishes, marks and checkpoints take that room
 *    3. the message is delivered; its record enters a segment that is never made
 *    4. crash: the message is delivered again
 * Pure: journal-writer.ts asks for it. */
import { commitBytesMin } from './commit-frame.js'
import { roundUpToBlock } from './segment.js'

/** Bytes of a group that is a whole batch. */
export const aloneBytes = (groupBytes: number): number => roundUpToBlock(groupBytes + commitBytesMin)

export class ReservedRoom {
  #bytes = 0
  #count = 0

  /** @param groupBytes the most that the group will be */
  keep(groupBytes: number): void {
    this.#bytes += aloneBytes(groupBytes)
    this.#count++
  }

  /** The group is there, or will not come. @param groupBytes as it was kept */
  giveUp(groupBytes: number): void {
    this.#bytes -= aloneBytes(groupBytes)
    this.#count--
  }

  /** Bytes of all reservations, each with its checkpoint. */
  bytes(checkpointBytes: number): number {
    return this.#bytes + this.#count * aloneBytes(checkpointBytes)
  }
}
